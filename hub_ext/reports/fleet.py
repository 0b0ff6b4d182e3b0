"""Where all that is installed went, and what the time that nobody held would have cost. Pure.

It goes through time change by change: at no instant may more be held than is there.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import NamedTuple

from ..i18n import _
from ..lease import LeaseId, PoolName, Posting
from ..lease.fleet import FleetRow, FleetSheet
from ..lease.reserving import CORRECTION
from ..lease.usage import Amount
from ..metering import NO_TEAMS, clip
from ..units import SECONDS_PER_HOUR, instant_us, whole_seconds
from .plain import sums

_SECOND_US = 1_000_000


class Installed(NamedTuple):
    """What a policy declares of one pool over [start, end).

    `price_micro` is the price an hour of all of it that has one; `unpriced_units` has none.
    `since` is when that policy came: what began before it may go on beyond it.
    """

    pool: str
    model: str
    start: datetime
    end: datetime
    units: int
    price_micro: int
    unpriced_units: int
    since: datetime


class Out(NamedTuple):
    """Units of a pool that were out of service over [start, end), and that nobody held."""

    pool: str
    units: int
    start: datetime
    end: datetime


class Window(NamedTuple):
    """What the sheet is of, as known at `as_of`."""

    start: datetime
    end: datetime
    as_of: datetime
    currency: str


class _Moment(NamedTuple):
    """What changes at an instant: units held, of those that began before the policy, and out."""

    held: int = 0
    old: int = 0
    out: int = 0


class _Swept(NamedTuple):
    """Sums of one pool over time, in unit-microseconds; `free` by the price that it has."""

    free: Mapping[Installed, int]
    beyond: int
    wrong: int


def fleet(
    installed: Sequence[Installed],
    lines: Iterable[Posting],
    outs: Sequence[Out],
    window: Window,
    begun: Mapping[LeaseId, datetime] | None = None,
) -> FleetSheet:
    """Split what is installed in a window.

    Parameters
    ----------
    installed
        Each pool over time, without overlap.
    lines
        Charges posted, and those that would be posted now; what lies outside is cut off.
    begun
        When leases began whose first charge is not among the lines.

    Returns
    -------
    Rows by pool and their sum. More held than there was is a difference, except by leases that
    began before a policy took their devices away.
    """
    at = window.end
    known = [(line, clip(line, window.start, at)) for line in lines if line.flavor != CORRECTION]
    inside = [(whole, part) for whole, part in known if part is not None]
    pools = sorted({one.pool for one in installed} | {part.pool or "" for _w, part in inside})
    rows, wrong = [], []
    for pool in pools:
        mine = [one for one in installed if one.pool == pool]
        held = [(whole, part) for whole, part in inside if part.pool == pool]
        out = [one for one in outs if one.pool == pool]
        swept = _sweep(mine, held, out, begun or {})
        row = _row(pool, mine, [part for _whole, part in held], out, swept, window)
        rows.append(row)
        if swept.wrong // _SECOND_US:
            wrong.append(_too_much(pool, swept.wrong))
    return FleetSheet(
        start=window.start,
        end=window.end,
        as_of=window.as_of,
        currency=window.currency,
        rows=tuple(rows),
        total=_total(rows),
        difference="; ".join(wrong),
    )


def _sweep(
    installed: Sequence[Installed],
    held: Sequence[tuple[Posting, Posting]],
    outs: Sequence[Out],
    begun: Mapping[LeaseId, datetime],
) -> _Swept:
    free: dict[Installed, int] = defaultdict(int)
    beyond = wrong = 0
    for there in installed:
        changes = _changes(there, held, outs, begun)
        now = _Moment()
        for first, last in pairwise(sorted(changes)):
            step = changes[first]
            now = _Moment(now.held + step.held, now.old + step.old, now.out + step.out)
            left = there.units - now.held - now.out
            if left >= 0:
                free[there] += left * (last - first)
                continue
            beyond -= left * (last - first)
            wrong += max(0, -left - now.old) * (last - first)
    return _Swept(free, beyond, wrong)


def _changes(
    there: Installed,
    held: Sequence[tuple[Posting, Posting]],
    outs: Sequence[Out],
    begun: Mapping[LeaseId, datetime],
) -> dict[int, _Moment]:
    start, end = instant_us(there.start), instant_us(there.end)
    changes: dict[int, _Moment] = defaultdict(_Moment, {start: _Moment(), end: _Moment()})

    def put(first: datetime, last: datetime, moment: _Moment) -> None:
        begin, finish = max(start, instant_us(first)), min(end, instant_us(last))
        if begin < finish:
            changes[begin] = _Moment(*(a + b for a, b in zip(changes[begin], moment, strict=True)))
            changes[finish] = _Moment(
                *(a - b for a, b in zip(changes[finish], moment, strict=True))
            )

    for whole, part in held:
        old = begun.get(part.lease_id, whole.start) < there.since
        put(part.start, part.end, _Moment(part.units, part.units if old else 0, 0))
    for one in outs:
        put(one.start, one.end, _Moment(out=one.units))
    return changes


def _row(
    pool: str,
    installed: Sequence[Installed],
    held: Sequence[Posting],
    outs: Sequence[Out],
    swept: _Swept,
    window: Window,
) -> FleetRow:
    there_s = sum(one.units * whole_seconds(one.start, one.end) for one in installed)
    own = [line for line in held if line.team not in NO_TEAMS]
    held_s = sum(line.seconds * line.units for line in own)
    site_s = sum(line.seconds * line.units for line in held if line.team in NO_TEAMS)
    clipped = ((one.units, max(one.start, window.start), min(one.end, window.end)) for one in outs)
    out_s = sum(units * whole_seconds(start, end) for units, start, end in clipped)
    # Parts of seconds are rounded down in each line; what that leaves is held by nobody.
    beyond_s = max(swept.beyond // _SECOND_US, held_s + site_s + out_s - there_s)
    return FleetRow(
        pool=PoolName(pool),
        model=installed[-1].model if installed else None,
        installed_unit_s=there_s,
        held_unit_s=held_s,
        site_unit_s=site_s,
        out_unit_s=out_s,
        beyond_unit_s=beyond_s,
        unallocated_unit_s=there_s + beyond_s - held_s - site_s - out_s,
        charged=_amounts(own),
        unallocated_amounts=tuple(_priced(swept.free, window.currency)),
        unallocated_unpriced_unit_s=sum(
            _share(free, one.unpriced_units, one.units) // _SECOND_US
            for one, free in swept.free.items()
        ),
    )


def _priced(free: Mapping[Installed, int], currency: str) -> Iterator[Amount]:
    """What free time would have cost, rounded down; none where nothing of it has a price."""
    if any(one.unpriced_units < one.units for one in free):
        micro = sum(
            one.price_micro * time // (one.units * SECONDS_PER_HOUR * _SECOND_US)
            for one, time in free.items()
            if one.units
        )
        yield Amount(currency=currency, micro=micro)


def _share(time: int, part: int, whole: int) -> int:
    return time * part // whole if whole else 0


def _amounts(lines: Iterable[Posting]) -> tuple[Amount, ...]:
    return tuple(Amount(currency=code, micro=micro) for code, micro in sorted(sums(lines).items()))


def _total(rows: Sequence[FleetRow]) -> FleetRow:
    def added(name: str) -> tuple[Amount, ...]:
        found: dict[str, int] = defaultdict(int)
        for row in rows:
            for one in getattr(row, name):
                found[one.currency] += one.micro
        return tuple(Amount(currency=code, micro=found[code]) for code in sorted(found))

    return FleetRow(
        pool=None,
        model=None,
        installed_unit_s=sum(row.installed_unit_s for row in rows),
        held_unit_s=sum(row.held_unit_s for row in rows),
        site_unit_s=sum(row.site_unit_s for row in rows),
        out_unit_s=sum(row.out_unit_s for row in rows),
        unallocated_unit_s=sum(row.unallocated_unit_s for row in rows),
        beyond_unit_s=sum(row.beyond_unit_s for row in rows),
        charged=added("charged"),
        unallocated_amounts=added("unallocated_amounts"),
        unallocated_unpriced_unit_s=sum(row.unallocated_unpriced_unit_s for row in rows),
    )


def _too_much(pool: str, wrong: int) -> str:
    return _(
        "in pool {pool} {n} unit-seconds more are held or out of service than are installed"
    ).format(pool=pool, n=wrong // _SECOND_US)
