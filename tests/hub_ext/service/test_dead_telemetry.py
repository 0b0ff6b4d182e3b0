"""A life ends without any reading: with no agent at all, and after the death of a governor."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from hub_ext.lease import Cause, LeaseState, OpenLease
from hub_ext.policy.model import Policy
from tests.support.culling import Passes
from tests.support.small_core import RULES, SmallCore

IDLE = {"gpus": {"applies": ["gpu", "mig"], "limit": "10m", "notice": "2m", "start_grace": "1m"}}


@pytest.fixture
def core(tmp_path: Path) -> Iterator[SmallCore]:
    with SmallCore.running(tmp_path / "state", idle=IDLE) as core:
        yield core


def end_of(lease: OpenLease) -> timedelta:
    assert lease.ends_at is not None
    assert lease.started_at is not None
    return lease.ends_at - lease.started_at


def pass_silently(core: SmallCore, passes: Passes, span: timedelta) -> None:
    """Let time pass with a look a minute, while no agent says anything."""
    end = core.now + span
    while core.now < end:
        core.now += timedelta(minutes=1)
        passes.turn()


def test_a_life_ends_with_notice_though_no_agent_ever_reported_again(core: SmallCore) -> None:
    lease, passes = core.run("ada"), Passes(core)
    warned = core.governor.policy.notice.lifetime
    pass_silently(core, passes, end_of(lease) - warned)
    told = core.lease(lease.id)
    assert told.notice is not None
    assert (told.notice.cause, told.notice.stops_at) == (Cause.expired, lease.ends_at)
    pass_silently(core, passes, warned - timedelta(minutes=1))
    assert core.lease(lease.id).state is LeaseState.noticed
    pass_silently(core, passes, timedelta(minutes=1))
    over = core.lease(lease.id)
    assert (over.state, over.cause) == (LeaseState.stopping, Cause.expired)
    # In all that time nobody took the silence for idleness.
    assert {one.cause for one in (told.notice, over)} == {Cause.expired}


def test_the_longest_life_ends_though_it_was_extended_and_nothing_is_known(
    core: SmallCore,
) -> None:
    lease, passes = core.run("ada"), Passes(core)
    pass_silently(core, passes, timedelta(hours=1))
    assert lease.longest_end_at is not None
    assert lease.ends_at is not None
    more_s = round((lease.longest_end_at - lease.ends_at).total_seconds())
    owner = core.events("lease.requested")[0].actor
    core.governor.extend(lease.id, seconds=more_s, actor=owner, now=core.now)
    pass_silently(core, passes, lease.longest_end_at - core.now)
    over = core.lease(lease.id)
    assert (over.state, over.cause) == (LeaseState.stopping, Cause.expired)


def test_a_life_that_ended_while_governor_and_agent_were_away_ends_after_a_notice(
    tmp_path: Path,
) -> None:
    state = tmp_path / "state"
    with SmallCore.running(state, idle=IDLE) as core:
        lease = core.run("ada")
    assert lease.ends_at is not None
    with SmallCore.running(state, idle=IDLE) as core:
        core.now, passes = lease.ends_at + timedelta(hours=3), Passes(core)
        passes.turn()
        told = core.lease(lease.id)
        assert told.notice is not None
        assert told.notice.reason.code == "lifetime-over-unannounced"
        pass_silently(core, passes, Policy.model_validate(RULES).notice.lifetime)
        over = core.lease(lease.id)
        assert (over.state, over.cause) == (LeaseState.stopping, Cause.expired)
