"""Many servers fall silent together, or agents do: nobody is stopped for idleness meanwhile."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from hub_ext.errors import RefusedError
from hub_ext.lease import Actor, Cause, LeaseState, Spot
from hub_ext.service.books.config import GovernorConfig
from hub_ext.service.core.governor import Governor
from hub_ext.service.http import metrics
from hub_ext.service.reclaim.idleholds import of_ledger
from tests.support.culling import Passes
from tests.support.small_core import SmallCore

IDLE = {"gpus": {"applies": ["gpu", "mig"], "limit": "10m", "notice": "2m", "start_grace": "1m"}}
ROOT = Actor(kind="user", name="root", admin=True)
USERS = ("ada", "ben", "cid", "dee", "eve", "fay", "gil")


@pytest.fixture
def core(tmp_path: Path) -> Iterator[SmallCore]:
    with SmallCore.running(tmp_path / "state", idle=IDLE) as core:
        yield core


def by(core: SmallCore, reason: str = "the course is over") -> dict[str, Any]:
    return {"reason": reason, "actor": ROOT, "now": core.now}


def busy(core: SmallCore, *, percent: int = 80) -> None:
    for lease in core.governor.leases():
        core.busy[lease.id] = percent


def all_idle_together(core: SmallCore) -> Passes:
    """Seven servers compute; then every counter falls to 0 at once."""
    passes = Passes(core)
    for user in USERS:
        core.run(user)
    busy(core)
    passes.go_on(15)
    busy(core, percent=0)
    passes.until(lambda: core.governor.idle_held is not None)
    return passes


def test_servers_that_turn_idle_together_are_neither_told_nor_stopped(core: SmallCore) -> None:
    passes = all_idle_together(core)
    passes.go_on(20)
    assert passes.count(LeaseState.running) == len(USERS)
    assert core.events("notice.given", "lease.stopping") == []
    [held] = core.events("idle.held")
    assert held.body["words"] == ["7 of 7 servers with a GPU turned idle together"]
    health = core.governor.health(now=core.now)
    [told] = [one for one in health.problems if one.code == "idle-held"]
    assert told.figures == {"servers": 7, "agents": 0}
    text = metrics.text(metrics.gather(core.governor, core.now), {}).decode()
    assert 'gpu_commons_problems{code="idle-held"} 1.0' in text
    assert core.governor.problems(now=core.now)["idle"] == tuple(held.body["words"])


def test_counters_that_come_back_end_it_by_themselves(core: SmallCore) -> None:
    passes = all_idle_together(core)
    busy(core)
    passes.until(lambda: core.governor.idle_held is None, minutes=5)
    assert [one.kind for one in core.events("idle.held", "idle.released")] == [
        "idle.held",
        "idle.released",
    ]
    # And one that then is idle alone is told and stopped as ever.
    alone = core.governor.leases()[0]
    core.busy[alone.id] = 0
    passes.until(lambda: core.lease(alone.id).state is LeaseState.stopping)
    assert core.lease(alone.id).cause is Cause.culled


def test_an_admin_who_has_looked_lets_the_stops_go_on_one_a_pass(core: SmallCore) -> None:
    passes = all_idle_together(core)
    sheet = core.governor.release_idle(**by(core))
    assert sheet.held is None
    [event] = core.events("admin.idle_release")
    assert (event.actor, event.body["reason"]) == (ROOT, "the course is over")
    passes.until(lambda: passes.count(LeaseState.noticed) > 0, minutes=1)
    assert passes.count(LeaseState.noticed) == len(USERS), "each gets its whole notice"
    passes.until(lambda: passes.count(LeaseState.stopping) > 0)
    for stopped in range(1, len(USERS) + 1):
        assert passes.count(LeaseState.stopping) == stopped
        passes.turn()
    with pytest.raises(RefusedError, match="not held"):
        core.governor.release_idle(**by(core))


def test_a_notice_that_runs_is_taken_back_and_later_given_whole(core: SmallCore) -> None:
    passes = Passes(core)
    first = core.run("ada")
    passes.until(lambda: core.lease(first.id).state is LeaseState.noticed)
    # The only agent falls silent: nothing is known, and what was announced is not so any more.
    # That holds nothing for others: of their machines as much is known as before.
    core.now += timedelta(minutes=5)
    passes.turn()
    assert core.governor.idle_held is None
    assert core.lease(first.id).state is LeaseState.running
    passes.until(lambda: core.lease(first.id).notice is not None)
    notice = core.lease(first.id).notice
    assert notice is not None
    assert notice.stops_at - notice.given_at == timedelta(minutes=2)
    assert core.governor.idle_held is None


def test_a_machine_under_a_drain_may_be_silent(core: SmallCore) -> None:
    passes = Passes(core)
    core.governor.drain(
        Spot(place="node", name="n1"),
        after=timedelta(days=1),
        reason="new disk",
        actor=ROOT,
        now=core.now,
    )
    core.now += timedelta(minutes=5)
    passes.turn()
    assert core.governor.idle_held is None


def test_lifetimes_end_while_idle_stops_are_held(core: SmallCore) -> None:
    passes = all_idle_together(core)
    end = core.governor.leases()[0].ends_at
    assert end is not None
    core.now = end - timedelta(minutes=1)
    core.batch()
    passes.go_on(0.3)
    assert core.governor.idle_held is not None
    passes.until(lambda: passes.count(LeaseState.stopping) == len(USERS), minutes=20)
    assert core.now >= end
    assert {lease.cause for lease in core.governor.leases()} == {Cause.expired}


def test_a_governor_that_starts_anew_goes_on_holding_and_remembers_the_admins_word(
    core: SmallCore,
) -> None:
    all_idle_together(core)
    with core.ledger.transaction() as tx:
        held = of_ledger(tx)
    assert held.held
    assert len(held.together) == len(USERS)
    core.governor.release_idle(**by(core))
    anew = Governor(
        core.ledger, core.governor._desk.samples, GovernorConfig(state="anew").settings()
    )
    assert anew.idle_held is None
    assert anew._desk.breaker.pardoned == held.together
