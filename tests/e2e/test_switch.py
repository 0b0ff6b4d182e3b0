"""Another profile for a server that runs, on a real hub: one stop, one start, the same files."""

from pathlib import Path

import pytest

from hub_ext.lease import Cause, LeaseState, Standing
from tests.e2e.rules import GROUPS, write_rules
from tests.support.hub import RealHub, governed

pytestmark = [pytest.mark.hub, pytest.mark.timeout(300)]


def test_a_server_gets_another_profile_and_starts_by_itself(tmp_path: Path) -> None:
    policy = write_rules(tmp_path / "policy.yaml")
    extra = governed(policy, tmp_path / "hub/state")
    with RealHub.running(tmp_path / "hub", extra=extra, groups=GROUPS, tiny=True) as hub:
        hub.person("ada").get("/hub/home")
        hub.wait(hub.healthy, "the governor and its agent")
        hub.start_server("ada", {"profile": "small"})
        hub.wait(lambda: hub.leases()["ada/"].state is LeaseState.running, "the start")
        old = hub.leases()["ada/"]
        answer = hub.api("POST", f"/leases/{old.id}/switch", {"choice": {"profile": "plain"}})
        assert answer.status == 202, answer
        fresh = answer.json["lease"]["id"]
        hub.wait(lambda: "ada/" in hub.leases() and hub.leases()["ada/"].id == fresh, "its end")
        hub.wait(lambda: hub.ready("ada"), "the server to start by itself", seconds=90)
        hub.wait(lambda: hub.leases()["ada/"].state is LeaseState.running, "the start")
        came = hub.leases()["ada/"]
        assert (came.id, came.profile, came.standing) == (fresh, "plain", Standing.unmetered)
        assert came.devices == ()
        (ended,) = [one for one in hub.events("lease.closed") if one[1] == old.id]
        assert ended[2]["lease"]["cause"] == Cause.replaced
        assert hub.held_devices() == []
        verified = hub.command("ledger", "verify", "--state", str(hub.state))
        assert verified.returncode == 0, verified.stdout
        why = hub.command("why", "ada", "--state", str(hub.state))
        assert why.returncode == 0, why.stderr
        assert "ada/" in why.stdout
