"""The governor is killed or suspended around a record and its effect, on a real hub."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import pytest

from hub_ext.lease import LeaseState
from tests.e2e.faulty import (
    SMALL,
    agreed,
    ends,
    lives,
    servers,
)
from tests.support.hub import RealHub

pytestmark = [pytest.mark.hub, pytest.mark.timeout(420)]


def governor(hub: RealHub) -> int:
    process = hub.service("governor")
    assert process is not None
    return process.pid


@contextmanager
def suspended(*pids: int) -> Iterator[None]:
    """Let processes stand still for the length of a `with` block."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            if lives(pid):
                os.kill(pid, signal.SIGCONT)


def kill(hub: RealHub, pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    hub.wait(lambda: not lives(pid), "the governor to be gone")


def test_killed_before_it_recorded_the_ask_nothing_is_granted(hub: RealHub) -> None:
    with suspended(pid := governor(hub)):
        refused = hub.spawn("ada", SMALL)
        assert 400 <= refused.status < 500, refused
        kill(hub, pid)
    hub.wait(hub.healthy, "the next governor", seconds=90)
    assert (hub.leases(), hub.held_devices(), servers(hub)) == ({}, [], [])
    hub.start_server("ada", SMALL)


def test_killed_between_the_record_of_a_stop_and_its_effect_the_stop_is_made(
    hub: RealHub,
) -> None:
    hub.start_server("ada", SMALL)
    hub.wait(lambda: agreed(hub), "ada's start to be reported")
    lease, pid = hub.leases()["ada/"], governor(hub)
    with suspended(hub.pid):
        # The hub cannot act, so that the record stands alone.
        asked = hub.api("POST", f"/leases/{lease.id}/stop", {})
        assert asked.status == 202, asked
        assert len(servers(hub)) == 1
        kill(hub, pid)
    hub.wait(hub.healthy, "the next governor", seconds=90)
    hub.wait(lambda: "ada/" not in hub.leases(), "the lease to close")
    assert servers(hub) == []
    assert ends(hub, "ada")[-1][0] in {"user", "admin"}
    stops = [one for one in hub.events("lease.stopping") if one[1] == lease.id]
    assert len(stops) == 1


def test_killed_after_the_effect_and_before_its_record_the_end_is_still_told(
    hub: RealHub,
) -> None:
    hub.start_server("ada", SMALL)
    hub.wait(lambda: agreed(hub), "ada's start to be reported")
    lease = hub.leases()["ada/"]
    with suspended(pid := governor(hub)):
        hub.stop_server("ada")
        assert servers(hub) == []
        assert hub.held_devices() == [lease.devices[0].id], "nobody knows yet"
        kill(hub, pid)
    hub.wait(hub.healthy, "the next governor", seconds=90)
    hub.wait(lambda: "ada/" not in hub.leases(), "the lease to close")
    assert ends(hub, "ada")[-1][0] in {"user", "lost"}


def test_a_grant_whose_answer_is_lost_holds_nothing_and_starts_nothing(hub: RealHub) -> None:
    with suspended(governor(hub)):
        refused = hub.spawn("ada", SMALL)
        assert 400 <= refused.status < 500, refused
    # Now the governor reads the ask that nobody waits for, and the report that it is over.
    hub.wait(lambda: hub.settled("ada"), "the hub to be done")
    hub.wait(lambda: not hub.leases() and not hub.held_devices(), "the device to be free")
    assert servers(hub) == []
    hub.start_server("ada", SMALL)


def test_after_a_suspension_of_everything_all_goes_on(hub: RealHub) -> None:
    for name in ("ada", "ben"):
        hub.start_server(name, SMALL)
    hub.wait(lambda: agreed(hub), "both starts to be reported")
    before = {key: (lease.id, lease.devices) for key, lease in hub.leases().items()}
    everything = [one.pid for one in hub.processes() if one.status() != psutil.STATUS_ZOMBIE]
    with suspended(*everything):
        time.sleep(8)
    hub.wait(hub.healthy, "everybody to be well without a hand")
    hub.wait(lambda: agreed(hub), "everybody to agree")
    assert {key: (lease.id, lease.devices) for key, lease in hub.leases().items()} == before
    assert all(lease.state is LeaseState.running for lease in hub.leases().values())
    assert hub.events("server.signalled") == []
    hub.start_server("cora", SMALL)
