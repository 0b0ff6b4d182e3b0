"""The queue on a real hub: who waits is served by itself, whatever is killed meanwhile."""

import signal
import time
from collections.abc import Iterator

import pytest

from hub_ext.lease import LeaseState
from tests.e2e.rules import RULES, write_rules
from tests.support.hub import RealHub, governed

pytestmark = [pytest.mark.hub, pytest.mark.timeout(420)]

SMALL = {"profile": "small"}
WAITING = {"profile": "small", "wait": "start"}
PEOPLE = ["ada", "ben", "cora"]
ONE = {
    "slices": {
        "model": "h200-141gb",
        "nodes": [{"name": "localhost", "gpus": 1, "geometry": [["1g.18gb"]]}],
    }
}
TEAM = {
    "vision": {**RULES["teams"]["vision"], "quota": {"slices": {"nominal": "0.125"}}},
}


@pytest.fixture(scope="module")
def shared_hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealHub]:
    folder = tmp_path_factory.mktemp("queue")
    policy = write_rules(folder / "policy.yaml", pools=ONE, teams=TEAM)
    extra = governed(policy, folder / "hub/state") + "c.JupyterHub.cleanup_servers = False\n"
    groups = {"vision": PEOPLE}
    with RealHub.running(folder / "hub", extra=extra, groups=groups, tiny=True) as hub:
        for name in PEOPLE:
            hub.person(name).get("/hub/home")
        hub.wait(hub.healthy, "the governor and its agent")
        yield hub


@pytest.fixture
def hub(shared_hub: RealHub) -> Iterator[RealHub]:
    yield shared_hub
    for name in PEOPLE:
        shared_hub.stop(name)
        lease = shared_hub.leases().get(f"{name}/")
        if lease is not None and lease.state in {LeaseState.queued, LeaseState.held}:
            shared_hub.api("POST", f"/leases/{lease.id}/stop", {})
    shared_hub.wait(lambda: not shared_hub.leases(), "all leases to close")
    assert shared_hub.held_devices() == []
    verified = shared_hub.command("ledger", "verify", "--state", str(shared_hub.state))
    assert verified.returncode == 0, verified.stdout


def state_of(hub: RealHub, user: str) -> LeaseState | None:
    lease = hub.leases().get(f"{user}/")
    return None if lease is None else lease.state


def waits(hub: RealHub, user: str) -> None:
    refused = hub.spawn(user, WAITING)
    assert refused.status == 409
    assert "number" in refused.json["message"]
    assert "/services/gpu-commons/queue" in refused.json["message"]
    assert state_of(hub, user) is LeaseState.queued


def test_two_people_one_device_the_second_starts_by_itself(hub: RealHub) -> None:
    hub.start_server("ada", SMALL)
    waits(hub, "ben")
    began = time.monotonic()
    hub.stop("ada")
    ended = time.monotonic()
    hub.wait(lambda: hub.ready("ben"), "ben's server to start by itself", every_s=0.1)
    after_s = time.monotonic() - ended
    print(
        f"\nben's server was ready {after_s:.1f} s after ada's had ended "
        f"({time.monotonic() - began:.1f} s after the stop was asked)"
    )
    assert after_s <= 10
    hub.wait(lambda: state_of(hub, "ben") is LeaseState.running, "the start to be reported")
    assert hub.leases()["ben/"].autostarted


def test_a_named_server_starts_by_itself_and_a_deleted_one_leaves_the_queue(hub: RealHub) -> None:
    hub.start_server("ada", SMALL)
    for user in ("ben", "cora"):
        assert hub.spawn(user, WAITING, "second").status == 409
    gone = hub.leases()["ben/second"]
    removed = hub.rest("DELETE", "/users/ben/servers/second", {"remove": True})
    assert removed.status in {202, 204}, removed
    hub.stop("ada")
    hub.wait(lambda: hub.ready("cora", "second"), "cora's named server to start by itself")
    assert "ben/second" not in hub.leases()
    assert "second" not in hub.user("ben")["servers"]
    ended = hub.api("GET", f"/leases/{gone.id}").json["ended"]
    assert ended["cause"] == "cancelled"
    assert "renamed or deleted" in ended["reason"]["message"]
    hub.stop_server("cora", "second")


def test_a_governor_killed_while_somebody_waits_serves_them_afterwards(hub: RealHub) -> None:
    hub.start_server("ada", SMALL)
    waits(hub, "ben")
    before = hub.leases()["ben/"]
    governor = hub.service("governor")
    assert governor is not None
    governor.kill()
    hub.wait(lambda: not hub.healthy(), "the governor to be gone")
    hub.wait(hub.healthy, "the hub to start the governor again", seconds=90)
    assert hub.leases()["ben/"] == before
    hub.stop("ada")
    hub.wait(lambda: hub.ready("ben"), "ben's server to start by itself")


def test_a_hold_outlives_the_hub_and_is_claimed_after_its_restart(hub: RealHub) -> None:
    hub.start_server("ada", SMALL)
    assert hub.spawn("ben", {"profile": "small", "wait": "hold"}).status == 409
    hub.stop("ada")
    hub.wait(lambda: state_of(hub, "ben") is LeaseState.held, "a device to be held for ben")
    held = hub.leases()["ben/"]
    hub.end(signal.SIGKILL)
    hub.start()
    hub.wait(hub.healthy, "the governor after the restart", seconds=90)
    assert hub.leases()["ben/"] == held
    refused = hub.spawn("cora", SMALL)
    assert refused.status == 409
    hub.start_server("ben", SMALL)
    claimed = hub.leases()["ben/"]
    assert (claimed.id, claimed.devices) == (held.id, held.devices)
    assert not claimed.autostarted
