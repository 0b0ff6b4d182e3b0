"""People who are renamed or deleted on a real hub while their servers run."""

from collections.abc import Iterator

import psutil
import pytest

from hub_ext.lease import LeaseState
from tests.e2e.rules import write_rules
from tests.support.hub import RealHub, governed

pytestmark = [pytest.mark.hub, pytest.mark.timeout(300)]

SMALL = {"profile": "small"}


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealHub]:
    folder = tmp_path_factory.mktemp("renamed")
    settings = {
        "cycle_s": 0.5,
        "reconcile_s": 1,
        "intents_s": 0.2,
        "period_s": 0.5,
        "forgotten_s": 1,
    }
    extra = governed(write_rules(folder / "policy.yaml"), folder / "hub/state", settings=settings)
    groups = {"vision": ["ada", "ben"]}
    with RealHub.running(folder / "hub", extra=extra, groups=groups, tiny=True) as running:
        running.wait(running.healthy, "the governor and its agent")
        running.add_users("ada", "ben")
        yield running


def test_the_server_of_somebody_who_was_renamed_runs_on_under_the_new_name(hub: RealHub) -> None:
    hub.start_server("ada", SMALL)
    hub.wait(lambda: hub.leases()["ada/"].state is LeaseState.running, "ada's server")
    before = hub.leases()["ada/"]
    assert before.process is not None
    process = psutil.Process(before.process.pid)
    assert hub.rest("PATCH", "/users/ada", {"name": "adele"}).status == 200
    hub.wait(lambda: "adele/" in hub.leases(), "the lease to follow", seconds=20)
    after = hub.leases()["adele/"]
    assert (after.id, after.devices, after.state) == (before.id, before.devices, before.state)
    assert process.is_running()
    hub.stop("adele")
    hub.wait(lambda: not hub.leases(), "the lease to close")
    verified = hub.command("ledger", "verify", "--state", str(hub.state))
    assert verified.returncode == 0, verified.stdout


def test_the_server_of_somebody_who_was_deleted_is_stopped_and_its_lease_closed(
    hub: RealHub,
) -> None:
    hub.start_server("ben", SMALL)
    hub.wait(lambda: hub.leases()["ben/"].state is LeaseState.running, "ben's server")
    lease = hub.leases()["ben/"]
    assert hub.rest("DELETE", "/users/ben").status == 204
    hub.wait(lambda: not hub.leases(), "the lease to close")
    ended = hub.api("GET", f"/leases/{lease.id}").json["ended"]
    assert ended["cause"] == "user"
    assert hub.held_devices() == []
