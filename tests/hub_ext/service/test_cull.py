from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub_ext.lease import (
    GOVERNOR,
    Cause,
    LeaseId,
    LeaseState,
    Notice,
    OpenLease,
    Reason,
    Verdict,
    VerdictState,
)
from hub_ext.policy.model import Policy
from hub_ext.service.workers.cull import Culler
from hub_ext.service.workers.steps import Announce, KeepOn, Step, Stop, Withdraw, step
from tests.support.culling import Passes
from tests.support.ledger_parts import a_lease
from tests.support.small_core import NOON, PERIOD_S, RULES, SmallCore

IDLE = {"gpus": {"applies": ["gpu", "mig"], "limit": "10m", "notice": "2m", "start_grace": "1m"}}
MINUTE = 60


@pytest.fixture
def core(tmp_path: Path) -> Iterator[SmallCore]:
    with SmallCore.running(tmp_path / "state", idle=IDLE) as core:
        yield core


class Rounds:
    """Goes through cycles of the culler while a story's clock runs."""

    def __init__(self, core: SmallCore) -> None:
        self.core = core
        self.culler = Culler()

    def turn(self) -> dict[LeaseId, Step]:
        governor, now = self.core.governor, self.core.now
        return {
            lease_id: self.culler.look(governor, lease_id, now)
            for lease_id in self.culler.live(governor, now)
        }

    def until(self, done: Callable[[], bool], *, minutes: int = 60) -> float:
        """Turn once a period until something is so; return the seconds that it took."""
        began = self.core.now
        while not done():
            assert self.core.now - began < timedelta(minutes=minutes), "it never came"
            self.core.later(PERIOD_S)
            self.turn()
        return (self.core.now - began).total_seconds()


@pytest.fixture
def rounds(core: SmallCore) -> Rounds:
    return Rounds(core)


def kinds(core: SmallCore) -> list[str]:
    wanted = ("verdict.changed", "notice.given", "notice.withdrawn", "lease.stopping")
    return [event.kind for event in core.events(*wanted)]


def test_an_idle_server_is_announced_looked_at_again_and_stopped(
    core: SmallCore, rounds: Rounds
) -> None:
    lease = core.run("ada")
    quiet_s = rounds.until(lambda: core.lease(lease.id).state is LeaseState.noticed)
    assert 10 * MINUTE <= quiet_s <= 11 * MINUTE
    notice = core.lease(lease.id).notice
    assert notice is not None
    assert (notice.cause, notice.reason.code) == (Cause.culled, "idle")
    assert notice.stops_at - notice.given_at == timedelta(minutes=2)
    assert "calls the stop off" in notice.reason.message
    stop_s = rounds.until(lambda: core.lease(lease.id).state is LeaseState.stopping)
    assert 2 * MINUTE <= stop_s <= 3 * MINUTE
    stopping = core.lease(lease.id)
    assert stopping.cause is Cause.culled
    assert stopping.reason is not None
    assert "stopped to free its GPU" in stopping.reason.message
    assert [intent.lease_id for intent in core.governor.intents()] == [lease.id]
    # The evidence is on the books before the act.
    assert kinds(core)[-3:] == ["verdict.changed", "notice.given", "lease.stopping"]
    evidence = core.events("notice.given")[0].body["evidence"]
    assert isinstance(evidence, dict)
    assert evidence["state"] == "idle"


def test_a_server_in_use_is_left_alone_whichever_witness_tells(
    core: SmallCore, rounds: Rounds
) -> None:
    gpu, cpu = core.run("ada"), core.run("ben")
    core.busy[gpu.id], core.cpu[cpu.id] = 80, 900
    for _ in range(40):
        core.later(20)
        rounds.turn()
    assert core.lease(gpu.id).state is LeaseState.running
    assert core.lease(cpu.id).state is LeaseState.running


def test_unknown_is_never_idle(core: SmallCore, rounds: Rounds) -> None:
    lease = core.run("ada")
    core.busy[lease.id] = None
    for _ in range(40):
        core.later(20)
        rounds.turn()
    assert core.lease(lease.id).state is LeaseState.running
    verdicts: list[Any] = [event.body["verdict"] for event in core.events("verdict.changed")]
    assert {verdict["state"] for verdict in verdicts} == {"unknown"}


@pytest.mark.parametrize("figure", [80, None], ids=["used again", "figures are lost"])
def test_a_notice_is_withdrawn_when_idleness_is_no_longer_certain(
    core: SmallCore, rounds: Rounds, figure: int | None
) -> None:
    lease = core.run("ada")
    rounds.until(lambda: core.lease(lease.id).state is LeaseState.noticed)
    core.busy[lease.id] = figure
    core.later(20)
    assert isinstance(rounds.turn()[lease.id], Withdraw)
    assert core.lease(lease.id).state is LeaseState.running
    assert core.lease(lease.id).notice is None


def test_the_last_look_before_a_stop_is_a_fresh_one(core: SmallCore, rounds: Rounds) -> None:
    lease = core.run("ada")
    rounds.until(lambda: core.lease(lease.id).state is LeaseState.noticed)
    core.later(2 * MINUTE - 20)
    core.busy[lease.id] = 90
    core.later(40)
    assert isinstance(rounds.turn()[lease.id], Withdraw)
    assert core.governor.intents() == ()


def test_keeping_a_server_holds_the_rule_off(core: SmallCore, rounds: Rounds) -> None:
    lease = core.run("ada")
    rounds.until(lambda: core.lease(lease.id).state is LeaseState.noticed)
    core.governor.keep(lease.id, actor=GOVERNOR, now=core.now)
    assert core.lease(lease.id).state is LeaseState.running
    kept_s = rounds.until(lambda: core.lease(lease.id).state is LeaseState.noticed, minutes=90)
    assert kept_s >= 60 * MINUTE


@pytest.mark.parametrize("mode", ["observe", "advise"])
def test_only_enforce_stops(tmp_path: Path, mode: str) -> None:
    modes = {"quota": "enforce", "idle": mode}
    with SmallCore.running(tmp_path / mode, idle=IDLE, modes=modes) as core:
        rounds = Rounds(core)
        lease = core.run("ada")
        for _ in range(50):
            core.later(20)
            rounds.turn()
        present = core.lease(lease.id)
        assert present.state is (LeaseState.running if mode == "observe" else LeaseState.noticed)
        if present.notice is not None:
            assert present.notice.reason.code == "idle-advice"
            assert present.notice.stops_at == present.ends_at
        # What would have been done is on the books in every mode.
        verdicts: list[Any] = [event.body["verdict"] for event in core.events("verdict.changed")]
        assert verdicts[-1]["state"] == "idle"
        assert core.governor.intents() == ()


def test_a_mode_that_changes_changes_what_was_announced(core: SmallCore, rounds: Rounds) -> None:
    lease = core.run("ada")
    rounds.until(lambda: core.lease(lease.id).state is LeaseState.noticed)
    core.set_policy(idle=IDLE, modes={"quota": "enforce", "idle": "advise"})
    rounds.turn()
    core.later(PERIOD_S)
    rounds.turn()
    notice = core.lease(lease.id).notice
    assert notice is not None
    assert notice.reason.code == "idle-advice"
    core.set_policy(idle=IDLE, modes={"quota": "enforce", "idle": "observe"})
    rounds.turn()
    assert core.lease(lease.id).state is LeaseState.running


def test_a_lifetime_ends_with_notice_even_in_use(core: SmallCore, rounds: Rounds) -> None:
    lease = core.run("ada")
    core.busy[lease.id] = 90
    assert lease.ends_at is not None
    core.now = lease.ends_at - timedelta(minutes=20)
    assert rounds.turn()[lease.id] is None
    core.later(5 * MINUTE)
    act = rounds.turn()[lease.id]
    assert isinstance(act, Announce)
    assert (act.notice.cause, act.notice.stops_at) == (Cause.expired, lease.ends_at)
    assert rounds.turn()[lease.id] is None, "one notice is enough"
    core.governor.extend(lease.id, seconds=3600, actor=GOVERNOR, now=core.now)
    assert core.lease(lease.id).state is LeaseState.running
    core.later(65 * MINUTE)
    assert isinstance(rounds.turn()[lease.id], Announce)
    core.later(11 * MINUTE)
    act = rounds.turn()[lease.id]
    assert isinstance(act, Stop)
    assert act.cause is Cause.expired
    assert core.lease(lease.id).state is LeaseState.stopping


def test_a_busy_server_is_judged_each_cycle_and_a_quiet_one_less_often(
    core: SmallCore, rounds: Rounds
) -> None:
    core.set_policy(idle={"gpus": {**IDLE["gpus"], "limit": "8h"}})
    lease = core.run("ada")
    core.later(60)
    rounds.turn()
    judged_at = core.governor.view(lease.key, now=core.now).verdict
    core.later(60)
    rounds.turn()
    assert core.governor.view(lease.key, now=core.now).verdict == judged_at
    core.later(60)
    rounds.turn()
    assert core.governor.view(lease.key, now=core.now).verdict != judged_at


def test_nothing_is_looked_at_without_a_policy_or_after_the_end(core: SmallCore) -> None:
    culler = Culler()
    lease = core.run("ada")
    core.governor.close_lost(lease.id, now=core.now)
    assert culler.live(core.governor, core.now) == ()
    assert culler.look(core.governor, lease.id, core.now) is None


# --- the rule itself, for every state of affairs ------------------------------------------------

minutes = st.integers(-600, 600).map(lambda n: NOON + timedelta(minutes=n))


@st.composite
def affairs(draw: st.DrawFn) -> tuple[OpenLease, Verdict | None, Policy]:
    notice = None
    if draw(st.booleans()):
        cause = draw(st.sampled_from([Cause.culled, Cause.expired]))
        code = draw(st.sampled_from(["idle", "idle-advice"]))
        notice = Notice(
            cause=cause, given_at=NOON, stops_at=draw(minutes), reason=Reason(code=code, message="")
        )
    lease = a_lease(
        state=LeaseState.noticed if notice else LeaseState.running,
        notice=notice,
        started_at=NOON,
        ends_at=draw(st.none() | minutes),
    )
    verdict = None
    if draw(st.booleans()):
        verdict = Verdict(
            state=draw(st.sampled_from(VerdictState)),
            rule="gpus",
            at=NOON,
            quiet_since=draw(st.none() | minutes),
            limit_s=600,
        )
    mode = draw(st.sampled_from(["observe", "advise", "enforce"]))
    return lease, verdict, Policy.model_validate({**RULES, "idle": IDLE, "modes": {"idle": mode}})


@given(affairs())
def test_nobody_is_stopped_for_idleness_without_rule_notice_and_fresh_evidence(
    story: tuple[OpenLease, Verdict | None, Policy],
) -> None:
    lease, verdict, rules = story
    match step(lease, verdict, rules, NOON):
        case Stop(cause=Cause.culled):
            assert rules.modes.idle == "enforce"
            assert verdict is not None
            assert verdict.state is VerdictState.idle
            assert lease.notice is not None
            assert lease.notice.cause is Cause.culled
            assert lease.notice.stops_at <= NOON
            assert lease.notice.reason.code == "idle"
        case Stop(cause=cause):
            assert cause is Cause.expired
            assert lease.ends_at is not None
            assert lease.ends_at <= NOON
        case Announce(notice=notice):
            assert (
                lease.notice is None
                or lease.notice.is_advice
                or notice.stops_at < lease.notice.stops_at
            )
            if notice.cause is Cause.culled:
                assert rules.modes.idle != "observe"
        case Withdraw() | KeepOn():
            assert lease.notice is not None
            assert lease.notice.cause is Cause.culled
        case None:
            pass


@given(affairs())
def test_the_end_of_a_life_is_never_passed_over(
    story: tuple[OpenLease, Verdict | None, Policy],
) -> None:
    lease, verdict, rules = story
    if lease.ends_at is None or lease.ends_at > NOON:
        return
    match step(lease, verdict, rules, NOON):
        case Stop():
            pass
        case Announce(notice=late):
            told = lease.notice is not None and not lease.notice.is_advice
            assert not told, "it was announced before"
            assert late.cause is Cause.expired
        case other:
            assert other is None
            assert lease.notice is not None
            assert lease.notice.cause is Cause.expired
            assert lease.notice.stops_at > NOON, "its notice is not over"


# --- a fault in judging -------------------------------------------------------------------------


def test_a_lease_that_cannot_be_judged_is_unknown_and_the_others_are_judged(
    core: SmallCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes = Passes(core)
    broken, other = core.run("ada"), core.run("ben")
    passes.until(lambda: core.lease(other.id).state is LeaseState.noticed)
    governor = core.governor
    whole = governor.readings_of

    def readings(lease: OpenLease, since: Any, *, now: Any) -> Any:
        if lease.id == broken.id:
            raise ZeroDivisionError("a figure that nobody foresaw")
        return whole(lease, since, now=now)

    monkeypatch.setattr(governor, "readings_of", readings)
    core.later(PERIOD_S)
    passes.turn()
    assert passes.culler.faults == ["a figure that nobody foresaw"]
    assert core.lease(broken.id).state is LeaseState.running
    verdict = governor.view_of(broken.id, now=core.now).verdict
    assert verdict is not None
    assert verdict.state is VerdictState.unknown
    passes.until(lambda: core.lease(other.id).state is LeaseState.stopping)
    # Its life ends all the same, told before.
    assert broken.ends_at is not None
    core.now = broken.ends_at - timedelta(minutes=10)
    passes.turn()
    notice = core.lease(broken.id).notice
    assert notice is not None
    assert notice.cause is Cause.expired
    core.now = broken.ends_at
    passes.turn()
    assert core.lease(broken.id).cause is Cause.expired
    assert passes.culler.faults == []
