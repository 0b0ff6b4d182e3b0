"""A server returns from an idle notice: freely by what an agent sees, else once, then at a cost."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from hub_ext.lease import Activity, LeaseId, LeaseState, OpenLease
from hub_ext.service.books.keepbook import KEPT
from hub_ext.service.workers.steps import KeepOn, Stop, Withdraw
from tests.support.culling import Passes
from tests.support.small_core import SmallCore

RULE = {"applies": ["gpu", "mig"], "limit": "10m", "notice": "2m", "start_grace": "1m"}
KEEP = {"each": "30m", "server": "40m", "week": "40m"}


@pytest.fixture
def core(tmp_path: Path) -> Iterator[SmallCore]:
    with SmallCore.running(tmp_path / "state", idle={"gpus": {**RULE, "keep": KEEP}}) as core:
        yield core


@pytest.fixture
def passes(core: SmallCore) -> Passes:
    return Passes(core)


def told(core: SmallCore, lease: OpenLease) -> bool:
    return core.lease(lease.id).state is LeaseState.noticed


def types(core: SmallCore, lease: OpenLease) -> None:
    """Somebody presses a key, says the server."""
    activity = Activity(at=core.now, kernels=1, kernels_busy=0, input_at=core.now)
    core.governor.take_activity(lease.key, activity, now=core.now)


def words(core: SmallCore) -> list[str]:
    found = []
    for event in core.events("notice.withdrawn"):
        reason = event.body["reason"]
        assert isinstance(reason, dict)
        found.append(f"{reason['code']}: {reason['message']}")
    return found


def look(core: SmallCore, passes: Passes, lease_id: LeaseId) -> object:
    passes.culler.live(core.governor, core.now)
    return passes.culler.look(core.governor, lease_id, core.now)


def test_input_returns_a_server_once_then_it_costs_the_keep_then_nothing_does(
    core: SmallCore, passes: Passes
) -> None:
    lease = core.run("ada")
    passes.until(lambda: told(core, lease))
    types(core, lease)
    first = look(core, passes, lease.id)
    assert isinstance(first, Withdraw)
    assert first.by_owner
    assert (core.lease(lease.id).kept_s, core.events(KEPT)) == (0, [])

    passes.until(lambda: told(core, lease))
    types(core, lease)
    assert isinstance(look(core, passes, lease.id), KeepOn)
    kept = core.lease(lease.id)
    assert (kept.kept_s, kept.kept_until) == (1800, core.now + timedelta(minutes=30))
    (event,) = core.events(KEPT)
    assert (event.body["of"], event.actor.kind) == ("use", "governor")
    assert words(core)[-1].startswith("kept-by-use: The server is not stopped.")

    # What is left of the budget is less, and then there is none.
    passes.until(lambda: told(core, lease))
    types(core, lease)
    assert isinstance(look(core, passes, lease.id), KeepOn)
    assert core.lease(lease.id).kept_s == 2400
    passes.until(lambda: told(core, lease))
    types(core, lease)
    assert look(core, passes, lease.id) is None
    core.later(120)
    types(core, lease)
    assert isinstance(look(core, passes, lease.id), Stop)


def test_what_the_agent_sees_returns_it_for_nothing_and_says_what_it_was(
    core: SmallCore, passes: Passes
) -> None:
    lease = core.run("ada")
    for _n in range(3):
        passes.until(lambda: told(core, lease))
        core.busy[lease.id] = 80
        core.later(20)
        passes.turn()
        assert not told(core, lease)
        core.busy[lease.id] = 0
    assert "Seen: gpu" in words(core)[-1]
    assert "80 %" in words(core)[-1]
    assert (core.lease(lease.id).kept_s, core.lease(lease.id).returned_at) == (0, None)


def test_use_that_the_agent_sees_begins_another_episode(core: SmallCore, passes: Passes) -> None:
    lease = core.run("ada")
    for _n in range(2):
        passes.until(lambda: told(core, lease))
        types(core, lease)
        assert isinstance(look(core, passes, lease.id), Withdraw)
        core.busy[lease.id] = 80
        core.later(20)
        passes.turn()
        core.busy[lease.id] = 0
    assert core.lease(lease.id).kept_s == 0


def test_a_kernel_that_says_it_is_busy_holds_off_by_name(core: SmallCore, passes: Passes) -> None:
    lease = core.run("ada")
    passes.until(lambda: told(core, lease))
    activity = Activity(at=core.now, kernels=1, kernels_busy=1, busy_since=core.now)
    core.governor.take_activity(lease.key, activity, now=core.now)
    act = look(core, passes, lease.id)
    assert isinstance(act, Withdraw)
    assert act.by_owner
    assert "A kernel says that it is busy" in act.reason.message
