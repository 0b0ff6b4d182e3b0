"""Who works again before the hub is asked is not stopped, however late its turn comes."""

import asyncio
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from hub_ext.lease import Cause, LeaseState, OpenLease, ServerKey, VerdictState
from hub_ext.service.basis.hub import HubAnswer, HubClient, HubSaid, HubServer
from hub_ext.service.workers.intents import work_intents
from tests.support.culling import Passes
from tests.support.small_core import PERIOD_S, SmallCore

IDLE = {"gpus": {"applies": ["gpu", "mig"], "limit": "10m", "notice": "2m", "start_grace": "1m"}}


class Asked(HubClient):
    """A hub that has every server, and notes which it is asked to stop."""

    def __init__(self) -> None:
        super().__init__("http://127.0.0.1:1/hub/api", "t")
        self.asked: list[ServerKey] = []

    async def server(self, key: ServerKey) -> HubServer | None:
        return HubServer(key=key, ready=True, pending=None)

    async def stop_server(self, key: ServerKey) -> HubAnswer:
        self.asked.append(key)
        return HubAnswer(HubSaid.stopping, 202, "")


@pytest.fixture
def core(tmp_path: Path) -> Iterator[SmallCore]:
    with SmallCore.running(tmp_path / "state", idle=IDLE) as core:
        yield core


def turn(core: SmallCore) -> list[ServerKey]:
    """Carry out what is intended; return what the hub was asked to stop."""

    async def told() -> list[ServerKey]:
        hub = Asked()
        try:
            with core.runner() as runner:
                await work_intents(runner, hub, core.governor._desk.settings)
        finally:
            hub.close()
        return hub.asked

    return asyncio.run(told())


def stopping(core: SmallCore) -> tuple[Passes, OpenLease]:
    lease, passes = core.run("ada"), Passes(core)
    passes.until(lambda: core.lease(lease.id).state is LeaseState.stopping)
    assert core.lease(lease.id).cause is Cause.culled
    return passes, lease


def test_who_is_idle_still_is_stopped(core: SmallCore) -> None:
    _passes, lease = stopping(core)
    assert turn(core) == [lease.key]


def works(core: SmallCore, lease: OpenLease) -> None:
    core.busy[lease.id] = 80
    core.later(PERIOD_S)


def falls_silent(core: SmallCore, _lease: OpenLease) -> None:
    core.now += timedelta(minutes=3)


def loses_a_counter(core: SmallCore, lease: OpenLease) -> None:
    core.cpu[lease.id] = None
    core.later(PERIOD_S)


@pytest.mark.parametrize("happens", [works, falls_silent, loses_a_counter])
def test_a_stop_that_waited_for_its_turn_is_taken_back_when_idleness_is_no_longer_certain(
    core: SmallCore, happens: Callable[[SmallCore, OpenLease], None]
) -> None:
    passes, lease = stopping(core)
    former = core.lease(lease.id).decision
    happens(core, lease)
    assert turn(core) == []
    present = core.lease(lease.id)
    assert (present.state, present.notice, present.cause) == (LeaseState.running, None, None)
    assert (present.decision, present.reason, present.stop_asked_at) == ("", None, None)
    assert core.governor.intents() == ()
    (told,) = core.events("notice.withdrawn")
    assert "not stopped after all" in str(told.body["reason"])
    verdict = core.governor.view(lease.key, now=core.now).verdict
    assert verdict is not None
    assert verdict.state is not VerdictState.idle
    # Who leaves again is told again, and stopped under another decision.
    core.busy[lease.id] = core.cpu[lease.id] = 0
    passes.until(lambda: core.lease(lease.id).state is LeaseState.stopping)
    assert core.lease(lease.id).decision not in {"", former}
    assert turn(core) == [lease.key]


def test_a_stop_that_the_hub_was_asked_for_is_not_taken_back(core: SmallCore) -> None:
    _passes, lease = stopping(core)
    assert turn(core) == [lease.key]
    works(core, lease)
    assert turn(core) == [lease.key]
    assert core.lease(lease.id).state is LeaseState.stopping


def test_a_stop_of_its_owner_is_not_asked_whether_it_works(core: SmallCore) -> None:
    lease = core.run("ada")
    core.busy[lease.id] = 80
    core.later(PERIOD_S)
    owner = core.events("lease.requested")[0].actor
    reason = core.lease(lease.id).reason
    assert reason is not None
    core.governor.ask_stop(lease.id, cause=Cause.user, reason=reason, actor=owner, now=core.now)
    assert turn(core) == [lease.key]


def test_a_lapsed_decision_is_looked_at_again_after_a_restart(tmp_path: Path) -> None:
    state = tmp_path / "state"
    with SmallCore.running(state, idle=IDLE) as core:
        _passes, lease = stopping(core)
        now = core.now
    with SmallCore.running(state, idle=IDLE) as core:
        core.now = now
        core.busy[lease.id] = 80
        core.later(PERIOD_S)
        assert turn(core) == []
        assert core.lease(lease.id).state is LeaseState.running
