"""Which judgements of a lease go on record, and under which decision. Pure.

A decision begins where the state changes; what changes under it (the limit that was reached, what
holds idleness off, which witnesses are known) is on record too, but never in a flood.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from ..lease import LeaseId, Verdict, VerdictState

MOST_AN_HOUR = 6
"""Records of one lease an hour. Who flaps between two states tells nothing new by the seventh."""

_HOUR = timedelta(hours=1)


class OnRecord(NamedTuple):
    """What is on record of one lease: its newest judgement, and when the newest few were made."""

    newest: Verdict
    made_at: tuple[datetime, ...]


class Decided(NamedTuple):
    """A judgement under its decision, and what is on record after it.

    `fresh` says whether it must be recorded, `began` whether its state is another than before.
    """

    verdict: Verdict
    record: OnRecord
    fresh: bool
    began: bool


def of_records(newest_first: Sequence[Verdict]) -> OnRecord | None:
    """Read what is on record; None where nothing is."""
    if not newest_first:
        return None
    made_at = tuple(one.at for one in newest_first[:MOST_AN_HOUR])
    return OnRecord(newest_first[0], made_at)


def decided(lease_id: LeaseId, former: OnRecord | None, verdict: Verdict) -> Decided:
    """Put a judgement under its decision, and say whether it goes on record.

    What turns idle, or is idle no more, always does: something may follow from it. Everything else
    does where fewer than `MOST_AN_HOUR` did within an hour; what is held back so has no decision
    until there is room, unless its state is the one on record.
    """
    began = former is None or former.newest.state is not verdict.state
    if former is not None and not began and former.newest.decision:
        under = verdict.model_copy(update={"decision": former.newest.decision})
    else:
        under = verdict.model_copy(update={"decision": following(lease_id, former)})
    if former is None or not former.newest.decision:
        return Decided(under, _with(former, under), fresh=True, began=began)
    if _shape(former.newest) == _shape(verdict):
        return Decided(under, former, fresh=False, began=False)
    weighty = began and VerdictState.idle in {former.newest.state, verdict.state}
    if weighty or _has_room(former, verdict.at):
        return Decided(under, _with(former, under), fresh=True, began=began)
    held = verdict if began else under
    return Decided(held, former, fresh=False, began=False)


def following(lease_id: LeaseId, former: OnRecord | None) -> str:
    """Name the next decision of a lease: its id and a number, so that the name leads to both."""
    last = former.newest.decision.rpartition(".")[2] if former is not None else ""
    return f"{lease_id}.{int(last) + 1 if last.isdecimal() else 1}"


def lease_of(decision: str) -> LeaseId:
    """Say of which lease a decision is; of another text, its part before the last dot."""
    lease_id, _dot, number = decision.rpartition(".")
    return LeaseId(lease_id if number.isdecimal() else "")


def _shape(verdict: Verdict) -> tuple[object, ...]:
    """What makes two judgements the same for the record: all but figures and instants."""
    witnesses = frozenset((one.name, one.state == "unknown") for one in verdict.signals)
    return verdict.state, verdict.rule, verdict.ground, verdict.held_by, witnesses


def _has_room(former: OnRecord, now: datetime) -> bool:
    # A clock that was set back must not close the record for longer than it was set.
    lately = [at for at in former.made_at if timedelta(0) <= now - at < _HOUR]
    return len(lately) < MOST_AN_HOUR


def _with(former: OnRecord | None, fresh: Verdict) -> OnRecord:
    made_at = former.made_at if former is not None else ()
    return OnRecord(fresh, (fresh.at, *made_at)[:MOST_AN_HOUR])
