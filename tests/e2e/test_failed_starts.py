"""Starts and stops that fail on a real hub: what the ledger says, and what the next start does."""

import signal

import pytest

from hub_ext.lease import LeaseState
from tests.e2e.faulty import (
    SMALL,
    agreed,
    ends,
    fault,
    lives,
    servers,
)
from tests.support.hub import RealHub

pytestmark = [pytest.mark.hub, pytest.mark.timeout(420)]


def no_unit_is_free(hub: RealHub, pid: int) -> None:
    """While `pid` lives, of three slices two are free, and ada starts nothing."""
    assert servers(hub) == [pid]
    for name in ("ben", "cora"):
        hub.start_server(name, SMALL)
    assert hub.spawn("dora", SMALL).status == 409, "its unit is not free"
    assert lives(pid)
    again = hub.spawn("ada", SMALL)
    while again.status == 500:
        # The governor looks for a pending start before it asks for the stop again; one that begins
        # between its look and its word is interrupted, and JupyterHub calls that a 500.
        hub.wait(lambda: hub.settled("ada"), "the interrupted start to be over")
        if not lives(pid):
            return
        again = hub.spawn("ada", SMALL)
    assert again.status == 409, again
    assert len(again.json["message"]) > 30


def its_end_frees_the_unit(hub: RealHub, pid: int) -> None:
    hub.wait(lambda: not lives(pid), "somebody to end it", seconds=60)
    hub.wait(lambda: "ada/" not in hub.leases(), "its lease to close")
    hub.start_server("ada", SMALL)


def ended_by_the_governor(hub: RealHub, pid: int) -> bool:
    """Whether it was sent SIGTERM, with a record before that."""
    return any(
        body["signal"] == "SIGTERM" and pid in [one["pid"] for one in body["processes"]]
        for _kind, _lease, body in hub.events("server.signalled")
    )


def begin(hub: RealHub) -> int:
    """Ask for a start that hangs, and wait for its process."""
    assert hub.spawn("ada", SMALL).status in {201, 202}
    [pid] = hub.wait(lambda: servers(hub), "the process")
    assert hub.user("ada")["servers"][""]["pending"] == "spawn"
    return pid


def test_stop_raises_no_unit_is_free_while_the_process_lives(hub: RealHub) -> None:
    hub.start_server("ada", SMALL)
    hub.wait(lambda: agreed(hub), "ada's start to be reported")
    [pid] = servers(hub)
    with fault(hub, "stop-raises"):
        hub.stop("ada")
        hub.wait(lambda: hub.settled("ada"), "the hub to give up")
        hub.wait(lambda: hub.leases()["ada/"].state is LeaseState.stopping, "stopping")
        assert not hub.ready("ada"), "the hub calls it stopped"
        no_unit_is_free(hub, pid)
        its_end_frees_the_unit(hub, pid)
        assert ended_by_the_governor(hub, pid)


def test_poll_raises_at_hub_start_no_unit_is_free_while_the_process_lives(hub: RealHub) -> None:
    hub.start_server("ada", SMALL)
    hub.wait(lambda: agreed(hub), "ada's start to be reported")
    [pid] = servers(hub)
    with fault(hub, "poll-raises"):
        hub.end(signal.SIGKILL)
        hub.start()
    assert not hub.ready("ada"), "the hub has forgotten it"
    assert lives(pid)
    hub.wait(hub.healthy, "the governor and its agent")
    hub.wait(lambda: hub.leases()["ada/"].state is LeaseState.stopping, "stopping")
    no_unit_is_free(hub, pid)
    # The hub's own clean-up after ada's refusal knows it and comes first.
    its_end_frees_the_unit(hub, pid)


def test_a_hub_killed_inside_start_leaves_a_process_that_is_found_by_its_mark(
    hub: RealHub,
) -> None:
    with fault(hub, "start-hangs"):
        pid = begin(hub)
        hub.end(signal.SIGKILL)
    assert hub.events("lease.starting")[-1][2]["lease"]["process"] is None, "nobody reported it"
    hub.start()
    hub.wait(hub.healthy, "the governor and its agent")
    assert not hub.ready("ada")
    hub.wait(lambda: hub.leases()["ada/"].state is LeaseState.stopping, "stopping")
    no_unit_is_free(hub, pid)
    its_end_frees_the_unit(hub, pid)
    assert ended_by_the_governor(hub, pid)


def test_a_start_that_takes_too_long_is_closed_and_leaves_nothing(hub: RealHub) -> None:
    with fault(hub, "start-times-out"):
        hub.spawn("ada", SMALL)
        hub.wait(lambda: hub.settled("ada"), "the hub to give up")
        hub.wait(lambda: "ada/" not in hub.leases(), "the lease to close")
    assert servers(hub) == []
    assert ends(hub, "ada")[-1][0] in {"failed", "cancelled"}
    hub.start_server("ada", SMALL)


def test_a_start_that_is_cancelled_is_closed_and_leaves_nothing(hub: RealHub) -> None:
    with fault(hub, "start-hangs"):
        begin(hub)
        assert hub.stop("ada").status in {202, 204}
        hub.wait(lambda: hub.settled("ada"), "the hub to cancel")
        hub.wait(lambda: "ada/" not in hub.leases(), "the lease to close")
    assert servers(hub) == []
    assert ends(hub, "ada")[-1][0] == "cancelled"
    hub.start_server("ada", SMALL)


def test_a_server_that_exits_at_once_is_closed_as_failed(hub: RealHub) -> None:
    with fault(hub, "exits-early"):
        hub.spawn("ada", SMALL)
        hub.wait(lambda: hub.settled("ada"), "the hub to notice", seconds=90)
        hub.wait(lambda: "ada/" not in hub.leases(), "the lease to close")
    cause, words = ends(hub, "ada")[-1]
    assert cause == "failed"
    assert "ended by itself or never came up" in words
    hub.start_server("ada", SMALL)


def test_a_server_that_never_answers_is_ended_and_its_lease_closed(hub: RealHub) -> None:
    with fault(hub, "never-answers"):
        hub.spawn("ada", SMALL)
        hub.wait(lambda: hub.settled("ada"), "the hub to give up", seconds=90)
        hub.wait(lambda: "ada/" not in hub.leases(), "the lease to close")
    assert ends(hub, "ada")[-1][0] in {"user", "failed", "cancelled"}
    hub.start_server("ada", SMALL)
