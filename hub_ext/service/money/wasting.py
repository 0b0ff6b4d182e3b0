"""What was held and did no work: gathers what the report is made of. It decides nothing.

Charges and closed leases come from the ledger, idle time from the hourly sums of readings.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from ...budget import month_name, months
from ...lease import Cause, LeaseId, OpenLease, Posting
from ...lease.reserving import ASIDE
from ...lease.waste import WasteDimension, WasteSheet
from ...metering import charge
from ...reports import waste as report
from ...reports.tables import Asked
from ..books.desk import Desk, Turn
from ..books.restcharges import lease_of, lease_spans
from .usage import Scope, reckoned

RECLAIMED = frozenset({Cause.culled, Cause.never_used})
"""Ends by which idle GPUs were taken back."""

_LONGEST_HOLD = timedelta(hours=1)
"""Holds are looked for so long before a window: they may reach into it."""


def waste(
    desk: Desk,
    scope: Scope,
    start: datetime,
    end: datetime,
    *,
    by: Sequence[WasteDimension],
    now: datetime,
) -> WasteSheet:
    """Sort what was held in [start, end) into kinds of waste, as of now."""
    policy = desk.book.known
    zone = "UTC" if policy is None else policy.timezone
    asked = Asked(scope.name, start, end, now, "" if policy is None else policy.currency)
    windows = [(start, end)]
    if "month" in by:
        found = months(zone, start, end)
        windows = [(max(start, one.start), min(end, one.end)) for one in found]
    shares: list[report.Share] = []
    with desk.turn(now) as turn:
        for first, last in windows:
            lines = reckoned(turn, scope, first, last)
            facts = _facts(turn, scope, lines, (first, last), zone)
            part = asked._replace(start=first, end=last)
            shares += report.shares(lines, facts, part, by)
    return report.sheet(shares, asked, by)


def _facts(
    turn: Turn,
    scope: Scope,
    lines: Sequence[Posting],
    window: tuple[datetime, datetime],
    zone: str,
) -> report.Facts:
    policy = turn.desk.book.known
    ended = {
        lease_of(line.lease_id)
        for line in lines
        if line.cause in RECLAIMED and line.flavor not in ASIDE
    }
    reclaimed = turn.tx.ended(ended)
    return report.Facts(
        quiet=turn.desk.samples.quiet(*window),
        noticed_s=dict(_noticed(reclaimed)),
        holds=tuple(_holds(turn, scope, window)),
        saved=tuple(_saved(turn, reclaimed, window)),
        models={} if policy is None else {name: one.model for name, one in policy.pools.items()},
        month_of=lambda at: month_name(at, zone),
    )


def _noticed(reclaimed: Sequence[OpenLease]) -> Iterator[tuple[LeaseId, int]]:
    for lease in reclaimed:
        if lease.noticed_at is not None and lease.closed_at is not None:
            yield lease.id, max(0, int((lease.closed_at - lease.noticed_at).total_seconds()))


def _holds(turn: Turn, scope: Scope, window: tuple[datetime, datetime]) -> Iterator[Posting]:
    """Devices held for requests; what is kept for a reservation is charged, and in its own kind."""
    start, end = window
    for lease, until in turn.tx.holds(start - _LONGEST_HOLD, min(end, turn.now)):
        mine = scope.user is None or lease.key.user == scope.user
        team = scope.teams is None or lease.team in scope.teams
        if mine and team and lease.reservation is None:
            yield from _as_if(turn, lease, lease.state_since, until or turn.now)


def _saved(
    turn: Turn, reclaimed: Sequence[OpenLease], window: tuple[datetime, datetime]
) -> Iterator[Posting]:
    longest = timedelta(seconds=report.SAVED_AT_MOST_S)
    for lease in reclaimed:
        closed = lease.closed_at
        if closed is None or not window[0] <= closed < window[1] or lease.ends_at is None:
            continue
        yield from _as_if(turn, lease, closed, min(lease.ends_at, closed + longest))


def _as_if(turn: Turn, lease: OpenLease, start: datetime, end: datetime) -> tuple[Posting, ...]:
    """Price a stretch as if a lease had run in it."""
    if end <= start:
        return ()
    as_if = lease.model_copy(
        update={
            "assigned_at": start,
            "started_at": start,
            "closed_at": end,
            "charged_until": None,
            "stop_asked_at": None,
            "stood": (),
            "waived": (),
        }
    )
    return charge(as_if, lease_spans(turn.desk.book.known, as_if, start, end), end)
