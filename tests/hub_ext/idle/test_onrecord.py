"""What changes of a judgement is on record under a decision; one that flaps floods nothing."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal, get_args

from hypothesis import given
from hypothesis import strategies as st

from hub_ext.idle.onrecord import MOST_AN_HOUR, OnRecord, decided, lease_of, of_records
from hub_ext.lease import LeaseId, Signal, Verdict, VerdictState
from hub_ext.lease.showing import Ground, HeldBy

LEASE = LeaseId("l-01")
NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)


def verdict(
    at: datetime = NOON,
    state: VerdictState = VerdictState.quiet,
    *,
    ground: Ground = "",
    held_by: HeldBy = "",
    known: Sequence[str] = ("gpu", "cpu"),
    unknown: Sequence[str] = (),
    value: str = "0 %",
) -> Verdict:
    told_of: list[tuple[Sequence[str], Literal["quiet", "unknown"]]] = [
        (known, "quiet"),
        (unknown, "unknown"),
    ]
    signals = [
        Signal(name=name, state=is_, value=value, window_s=9, age_s=1, source="nvml")
        for names, is_ in told_of
        for name in names
    ]
    return Verdict(
        state=state,
        rule="gpus",
        at=at,
        quiet_since=NOON,
        limit_s=600,
        ground=ground,
        held_by=held_by,
        signals=tuple(signals),
    )


def told(*verdicts: Verdict) -> list[str]:
    """Put one after the other on record; return the decisions that were recorded."""
    record: OnRecord | None = None
    found = []
    for one in verdicts:
        said = decided(LEASE, record, one)
        record = said.record
        if said.fresh:
            found.append(said.verdict.decision)
    return found


def test_figures_alone_tell_nothing_new() -> None:
    later = NOON + timedelta(minutes=20)
    assert told(verdict(), verdict(value="1 %"), verdict(at=later, value="3 %")) == ["l-01.1"]


def test_a_limit_a_hold_or_a_witness_that_changes_is_on_record_under_the_same_decision() -> None:
    changed = (
        verdict(ground="never_used"),
        verdict(held_by="input"),
        verdict(known=["gpu"], unknown=["cpu"]),
        verdict(known=["gpu", "cpu", "kernel"]),
    )
    for one in changed:
        assert told(verdict(), one) == ["l-01.1", "l-01.1"]


def test_another_state_is_another_decision_whose_name_leads_to_its_lease() -> None:
    names = told(verdict(), verdict(state=VerdictState.idle), verdict(state=VerdictState.active))
    assert names == ["l-01.1", "l-01.2", "l-01.3"]
    assert {lease_of(one) for one in names} == {LEASE}
    assert [lease_of(one) for one in ("l-01", "ada", "ada.x", "")] == ["", "", "", ""]


def test_what_was_recorded_before_decisions_had_names_gets_one() -> None:
    assert told(verdict()) == ["l-01.1"]
    old = of_records([verdict()])
    said = decided(LEASE, old, verdict())
    assert said.fresh
    assert not said.began
    assert said.verdict.decision == "l-01.1"


def test_a_clock_that_was_set_back_closes_no_record() -> None:
    flapping = [
        verdict(at=NOON + timedelta(minutes=n), held_by="input" if n % 2 else "")
        for n in range(MOST_AN_HOUR)
    ]
    back = verdict(at=NOON - timedelta(hours=9), held_by="kernel")
    assert len(told(*flapping, back)) == MOST_AN_HOUR + 1


steps = st.lists(
    st.builds(
        lambda *parts: parts,
        st.integers(1, 1200),
        st.sampled_from([VerdictState.active, VerdictState.quiet, VerdictState.unknown]),
        st.sampled_from(get_args(HeldBy)),
        st.booleans(),
    ),
    max_size=60,
)


@given(steps)
def test_who_flaps_is_recorded_six_times_an_hour_and_in_the_end_as_it_stands(
    steps: list[tuple[int, VerdictState, HeldBy, bool]],
) -> None:
    record: OnRecord | None = None
    at, made, last = NOON, [], None
    for seconds, state, held_by, known in steps:
        at += timedelta(seconds=seconds)
        last = verdict(
            at=at, state=state, held_by=held_by, known=["gpu"], unknown=[] if known else ["cpu"]
        )
        said = decided(LEASE, record, last)
        record = said.record
        made += [at] if said.fresh else []
        if said.verdict.decision:
            assert record.newest.state is state
            assert said.verdict.decision == record.newest.decision
    for one in made:
        assert sum(timedelta(0) <= one - former < timedelta(hours=1) for former in made) <= 6
    if last is not None and record is not None:
        # What was held back is on record as soon as there is room.
        again = last.model_copy(update={"at": at + timedelta(hours=1)})
        newest = decided(LEASE, record, again).record.newest
        assert (newest.state, newest.held_by) == (last.state, last.held_by)


@given(st.lists(st.sampled_from(VerdictState), min_size=1, max_size=60))
def test_what_turns_idle_or_is_idle_no_more_is_always_on_record(states: list[VerdictState]) -> None:
    record: OnRecord | None = None
    for n, state in enumerate(states):
        former = record
        said = decided(LEASE, record, verdict(at=NOON + timedelta(seconds=n), state=state))
        record = said.record
        if state is VerdictState.idle:
            assert record.newest.state is VerdictState.idle
            assert said.verdict.decision == record.newest.decision != ""
        elif former is not None and former.newest.state is VerdictState.idle:
            assert said.fresh
