"""What idle rules on trial would have done: an episode for each stop that none of them made.

An episode begins with the stop, and ends when the server is used again or is gone. It stops
nobody.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from ...idle.trying import left
from ...lease import Event, LeaseId, OpenLease, Verdict
from ...lease.trying import WouldStop
from ...metering import NO_TEAMS
from ..books import trialrecord
from ..books.desk import Desk
from ..books.trialbook import WOULD_END, WOULD_KEEP, WOULD_STOP
from ..leasing.closing import charges

FLUSH_EVERY = timedelta(hours=1)
"""How often it is put on record for how long rules on trial were watched."""

MOST_GAP = timedelta(minutes=5)
"""What one pass adds to that at most: a governor that was away, or a clock that jumped, saw
nothing meanwhile."""


def would_stop(desk: Desk, lease: OpenLease, rule: str, verdict: Verdict, *, now: datetime) -> None:
    """Record that a rule on trial would stop a server now; once an episode."""
    if (rule, lease.id) in desk.book.trials.open:
        return
    one = WouldStop(
        lease_id=lease.id,
        user=lease.key.user,
        server=lease.key.server,
        team=lease.team,
        at=now,
        words=verdict.words,
        gpu_alone=verdict.ground == "gpu_unused",
    )
    body = {"verdict": verdict.model_dump(mode="json")}
    _record(desk, WOULD_STOP, lease, rule, now, stop=one, **body)


def would_work(desk: Desk, lease: OpenLease, rule: str, verdict: Verdict, *, now: datetime) -> None:
    """End the episode of a server that is used again: it would have been stopped in its work."""
    present = desk.book.trials.open.get((rule, lease.id))
    if present is None or (present.gpu_alone and verdict.ground == "gpu_unused"):
        return
    one = _until(desk, present, lease, now).model_copy(update={"worked_again_at": now})
    body = {"verdict": verdict.model_dump(mode="json")}
    _record(desk, WOULD_END, lease, rule, now, stop=one, **body)


def would_keep(desk: Desk, lease: OpenLease, rule: str, *, now: datetime) -> None:
    """Record that the rule in force stops a server which the one on trial would not stop yet."""
    if (rule, lease.id) not in desk.book.trials.open:
        _record(desk, WOULD_KEEP, lease, rule, now)


def tick(desk: Desk, live: Mapping[LeaseId, OpenLease], *, now: datetime) -> None:
    """Count a pass, and end the episodes of servers that are gone."""
    _watch(desk, now)
    for (rule, lease_id), present in list(desk.book.trials.open.items()):
        if lease_id in live:
            continue
        with desk.turn(now) as turn:
            lease = turn.tx.lease(lease_id)
        if lease is None or lease.open:
            continue
        end = max(lease.closed_at or now, present.at)
        one = _until(desk, present, lease, end).model_copy(update={"ended_at": end})
        _record(desk, WOULD_END, lease, rule, now, stop=one)


def so_far(desk: Desk, rule: str, *, now: datetime) -> Iterator[WouldStop]:
    """Give all episodes of a rule on trial, oldest first; open ones until now."""
    with desk.turn(now) as turn:
        leases = {
            lease_id: turn.tx.lease(lease_id)
            for name, lease_id in desk.book.trials.open
            if name == rule
        }
    running = [
        _until(desk, one, lease, now)
        for (name, lease_id), one in desk.book.trials.open.items()
        if name == rule and (lease := leases.get(lease_id)) is not None
    ]
    yield from sorted([*desk.book.trials.over.get(rule, ()), *running], key=lambda one: one.at)


def _watch(desk: Desk, now: datetime) -> None:
    """Add to how long rules were watched, and put that on record from time to time."""
    book, trials = desk.book.trials, desk.book.switched.trials
    before, book.ticked = book.ticked, now
    if before is None or not timedelta(0) < now - before or not trials:
        return
    gap = min(now - before, MOST_GAP)
    spans = {name: desk.book.trial_of(name) for name in trials}
    ended = [
        name
        for name, one in trials.items()
        if left(one, spans[name]) > timedelta(0) >= left(one, spans[name]) - gap
    ]
    watched = {name: replace(one, watched=one.watched + gap) for name, one in trials.items()}
    desk.book.switched = replace(desk.book.switched, trials=watched)
    book.unwritten += gap
    if ended or book.unwritten >= FLUSH_EVERY:
        event = trialrecord.watched(((name, one.watched) for name, one in watched.items()), now)
        with desk.turn(now) as turn:
            turn.tx.append(event)
        book.unwritten = timedelta(0)


def _until(desk: Desk, one: WouldStop, lease: OpenLease, end: datetime) -> WouldStop:
    """Say what the stop would have given back until an instant, at the prices of that time."""
    begin = max(one.at, lease.charged_until or one.at)
    lines = charges(desk, lease.model_copy(update={"charged_until": begin}), max(begin, end))
    own = [line for line in lines if line.team not in NO_TEAMS]
    amounts = [line.amount_micro for line in own if line.amount_micro is not None]
    return one.model_copy(
        update={
            "unit_s": sum(line.units * line.seconds for line in own),
            "unpriced_unit_s": sum(
                line.units * line.seconds for line in own if line.amount_micro is None
            ),
            "amount_micro": sum(amounts) if amounts else None,
        }
    )


def _record(
    desk: Desk,
    kind: str,
    lease: OpenLease,
    rule: str,
    now: datetime,
    *,
    stop: WouldStop | None = None,
    **more: object,
) -> None:
    body: dict[str, object] = {"v": 1, "rule": rule, **more}
    if stop is not None:
        body["stop"] = stop.model_dump(mode="json")
    event = Event(kind=kind, at=now, lease_id=lease.id, body=body)
    with desk.turn(now) as turn:
        turn.tx.append(event)
    # Only what is on the record counts.
    desk.book.trials.apply(event)
