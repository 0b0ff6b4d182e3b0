"""One real hub whose ledger is in a PostgreSQL: a start is granted, recorded and ended there."""

from pathlib import Path

import pytest

from tests.e2e.rules import write_rules
from tests.support.hub import RealHub, governed
from tests.support.ledger_places import Place
from tests.support.postgres import PostgresServer

pytestmark = [pytest.mark.hub, pytest.mark.timeout(300)]


def kinds(where: Place) -> list[str]:
    """What happened to leases, as the server has it."""
    with where.raw() as raw:
        rows = raw.execute("SELECT kind FROM event WHERE kind LIKE 'lease.%' ORDER BY seq")
        return [kind for (kind,) in rows.fetchall()]


def test_a_start_lives_and_ends_in_the_servers_books(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    where = Place(tmp_path / "hub/state", postgres)
    extra = governed(write_rules(tmp_path / "policy.yaml"), where.state)
    given = {"GPU_COMMONS_LEDGER_URL": where.url or ""}
    groups = {"vision": ["ada"]}
    with RealHub.running(
        tmp_path / "hub", extra=extra, groups=groups, tiny=True, environment=given
    ) as hub:
        hub.wait(hub.healthy, "the governor and its agent")
        ada = hub.person("ada")
        assert ada.spawn({"profile": "small"}).status == 200
        hub.wait(lambda: kinds(where)[-1:] == ["lease.running"], "the report of the start")
        hub.wait(lambda: hub.ready("ada"), "the hub to have it ready")
        environ = ada.get("/user/ada/environ").json
        assert environ["GPU_COMMONS_LEASE_ID"]
        assert "GPU_COMMONS_LEDGER_URL" not in environ
        hub.stop("ada")
        hub.wait(lambda: kinds(where)[-1:] == ["lease.closed"], "the end of the lease")
        assert postgres.password not in hub.output()
    assert kinds(where)[:3] == ["lease.requested", "lease.starting", "lease.running"]
    assert where.verify().difference == ""
    assert not (where.state / "ledger.sqlite").exists()
    where.drop()
