"""What was held and did no work, priced. Pure: every figure follows from what it was given.

Unknown is no waste: only time that was measured is called idle. No second is in two kinds.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Literal, NamedTuple, TypeVar, get_args

from ..i18n import _
from ..lease import LeaseId, Posting
from ..lease.reserving import ASIDE, UNUSED
from ..lease.usage import Amount
from ..lease.waste import HeldRow, SavedRow, WasteDimension, WasteKind, WasteRow, WasteSheet
from ..metering import NO_TEAMS, QUIET_PERCENT, Quiet, clip
from .tables import Asked

KINDS: tuple[WasteKind, ...] = get_args(WasteKind)

SAVED_AT_MOST_S = 8 * 3600
"""Longest time that a stop is said to have saved: a working day."""

Names = tuple[str | None, ...]

_Row = TypeVar("_Row", WasteRow, HeldRow, SavedRow)
_Kind = WasteKind | Literal["held", "saved"]


class Facts(NamedTuple):
    """What is known beside charges: by lease its quiet time and its notice, holds, and stops."""

    quiet: Mapping[LeaseId, Quiet]
    noticed_s: Mapping[LeaseId, int]
    """Seconds between the announcement of a stop for idleness and the end."""
    holds: tuple[Posting, ...] = ()
    """Devices held for requests that waited, with what they would have cost."""
    saved: tuple[Posting, ...] = ()
    """What stops for idleness gave back, in the window, with what it would have cost."""
    models: Mapping[str, str] = {}
    """Model of each pool."""
    month_of: Callable[[datetime], str] = lambda at: f"{at:%Y-%m}"


class Share(NamedTuple):
    """A part of what one lease held, of one kind; `held` is all of it, `saved` what came back."""

    kind: _Kind
    names: Names
    lease_id: LeaseId
    unit_s: int
    amounts: dict[str, int]
    unpriced_unit_s: int
    measured_unit_s: int = 0


def shares(
    lines: Iterable[Posting], facts: Facts, asked: Asked, by: Sequence[WasteDimension]
) -> list[Share]:
    """Sort what was held in a window into kinds of waste.

    Parameters
    ----------
    lines
        Charges posted, and those that would be posted now; what lies outside the window is cut
        off. What the site pays itself is nobody's waste.
    by
        What shares are told apart by.

    Returns
    -------
    Idle time of a lease costs what the lease was charged a second, on the mean of the window.
    """
    cut = (clip(line, asked.start, asked.end) for line in lines)
    inside = [line for line in cut if line is not None and line.team not in NO_TEAMS]
    found = [*_of_lines(inside, facts, asked, by)]
    holds = (clip(line, asked.start, asked.end) for line in facts.holds)
    found += [_share("queue", _names(one, facts, by), [one]) for one in holds if one is not None]
    found += [_share("saved", _names(one, facts, by), [one]) for one in facts.saved]
    return found


def sheet(shares: Sequence[Share], asked: Asked, by: Sequence[WasteDimension]) -> WasteSheet:
    """Add shares up to rows; those of several windows may come together."""
    held = [one for one in shares if one.kind == "held"]
    saved = [one for one in shares if one.kind == "saved"]
    every: tuple[WasteDimension, ...] = ()
    return WasteSheet(
        scope=asked.scope,
        start=asked.start,
        end=asked.end,
        as_of=asked.as_of,
        currency=asked.currency,
        by=tuple(by),
        rows=_dearest(
            (
                _row(kind, group, by)
                for kind in KINDS
                for group in _grouped(one for one in shares if one.kind == kind)
            ),
            asked.currency,
        ),
        totals=tuple(_row(kind, _of(shares, kind), every) for kind in KINDS),
        held=_dearest((_held(group, by) for group in _grouped(held)), asked.currency),
        held_total=_held(_of(shares, "held"), every),
        saved=_dearest((_saved(group, by) for group in _grouped(saved)), asked.currency),
        saved_total=_saved(_of(shares, "saved"), every),
        saved_rule=saved_rule(),
    )


def saved_rule() -> str:
    """Say by which rule the saving is estimated."""
    return _(
        "An estimate: a server that was stopped for idleness is taken to have gone on idle until "
        "the end that was agreed at its start, and for {n} hours at most, at its own price."
    ).format(n=SAVED_AT_MOST_S // 3600)


def _of_lines(
    inside: list[Posting], facts: Facts, asked: Asked, by: Sequence[WasteDimension]
) -> Iterator[Share]:
    def place(line: Posting) -> tuple[str, ...]:
        names = (name or "" for name in _names(line, facts, by))
        return (line.lease_id, line.team, line.project or "", *names)

    total_s: dict[LeaseId, int] = defaultdict(int)
    begun: dict[LeaseId, datetime] = {}
    for line in inside:
        total_s[line.lease_id] += line.seconds
        begun[line.lease_id] = min(line.start, begun.get(line.lease_id, line.start))
    for _place, group in groupby(sorted(inside, key=place), key=place):
        parts = list(group)
        first = parts[0]
        names = _names(first, facts, by)
        if first.flavor == UNUSED:
            yield _share("reserved_unused", names, parts)
        quiet = None if first.flavor in ASIDE else facts.quiet.get(first.lease_id)
        held_s = sum(line.seconds for line in parts)
        share = (held_s, total_s[first.lease_id])
        measured = 0 if quiet is None else _fitted(quiet.sampled_s, quiet, share)
        whole = _share("held", names, parts)
        units = first.units
        per_device = units // max(1, quiet.devices) if quiet is not None else units
        yield whole._replace(measured_unit_s=measured * per_device)
        if quiet is not None and held_s:
            noticed = facts.noticed_s.get(first.lease_id, 0)
            # Of one that began before the window it is not known whether it was used there.
            never = quiet.peak_percent < QUIET_PERCENT and begun[first.lease_id] > asked.start
            for kind, device_s in _kinds(quiet, noticed, share, never=never):
                yield _part(kind, whole, device_s, held_s * quiet.devices)


def _kinds(
    quiet: Quiet, noticed_s: int, share: tuple[int, int], *, never: bool
) -> Iterator[tuple[WasteKind, int]]:
    """Split quiet time, in device-seconds: no second in two kinds."""
    idle = _fitted(quiet.idle_s, quiet, share)
    hoarded = min(_fitted(quiet.hoarded_s, quiet, share), share[0] * quiet.devices - idle)
    notice = min(idle + hoarded, _fitted(noticed_s * quiet.devices, quiet, share))
    if never:
        # Nothing was ever computed: that it was announced at last is not what it cost.
        yield "never_used", idle + hoarded
        return
    from_idle = min(idle, notice)
    yield "notice", notice
    yield "idle", idle - from_idle
    yield "hoarded", hoarded - (notice - from_idle)


def _fitted(device_s: int, quiet: Quiet, share: tuple[int, int]) -> int:
    """What of a lease's device-seconds falls to a part of it; never more than was held.

    Readings come by whole hours, and so may reach beyond a window or a change of team.
    """
    part_s, all_s = share
    return min(device_s * part_s // max(1, all_s), part_s * quiet.devices)


def _share(kind: _Kind, names: Names, lines: Sequence[Posting]) -> Share:
    amounts: dict[str, int] = defaultdict(int)
    for line in lines:
        if line.amount_micro is not None:
            amounts[line.currency] += line.amount_micro
    return Share(
        kind,
        names,
        lines[0].lease_id,
        sum(line.seconds * line.units for line in lines),
        dict(amounts),
        sum(line.seconds * line.units for line in lines if line.amount_micro is None),
    )


def _part(kind: WasteKind, whole: Share, device_s: int, of_s: int) -> Share:
    """Take so much of a share; rounded down, so that the kinds are never more than the whole."""
    return Share(
        kind,
        whole.names,
        whole.lease_id,
        whole.unit_s * device_s // of_s,
        {code: micro * device_s // of_s for code, micro in whole.amounts.items()},
        whole.unpriced_unit_s * device_s // of_s,
    )


def _names(line: Posting, facts: Facts, by: Sequence[WasteDimension]) -> Names:
    return tuple(_name(line, facts, one) for one in by)


def _name(line: Posting, facts: Facts, dimension: WasteDimension) -> str | None:
    match dimension:
        case "model":
            return facts.models.get(line.pool or "")
        case "month":
            return facts.month_of(line.start)
        case "team" | "project" | "user" | "profile" | "pool":
            named: str | None = getattr(line, dimension)
            return named


def _of(shares: Iterable[Share], kind: _Kind) -> list[Share]:
    """All of one kind, whoever's."""
    return [one._replace(names=()) for one in shares if one.kind == kind]


def _grouped(shares: Iterable[Share]) -> Iterator[list[Share]]:
    def place(one: Share) -> tuple[tuple[str, ...], str]:
        return tuple(name or "" for name in one.names), one.kind

    there = (one for one in shares if one.unit_s)
    for _place, group in groupby(sorted(there, key=place), key=place):
        yield list(group)


def _dearest(rows: Iterable[_Row], currency: str) -> tuple[_Row, ...]:
    """Order by money in the main currency, then by time, then by name."""

    def place(row: _Row) -> tuple[int, int, tuple[str, ...]]:
        money = sum(one.micro for one in row.amounts if one.currency == currency)
        return -money, -row.unit_s, tuple(name or "" for name in row.names.values())

    return tuple(sorted(rows, key=place))


def _row(kind: WasteKind, shares: Sequence[Share], by: Sequence[WasteDimension]) -> WasteRow:
    return WasteRow(
        names=_named(shares, by),
        kind=kind,
        leases=_leases(shares),
        unit_s=sum(one.unit_s for one in shares),
        amounts=_amounts(shares),
        unpriced_unit_s=sum(one.unpriced_unit_s for one in shares),
    )


def _held(shares: Sequence[Share], by: Sequence[WasteDimension]) -> HeldRow:
    return HeldRow(
        names=_named(shares, by),
        leases=_leases(shares),
        unit_s=sum(one.unit_s for one in shares),
        measured_unit_s=sum(one.measured_unit_s for one in shares),
        amounts=_amounts(shares),
    )


def _saved(shares: Sequence[Share], by: Sequence[WasteDimension]) -> SavedRow:
    return SavedRow(
        names=_named(shares, by),
        leases=_leases(shares),
        unit_s=sum(one.unit_s for one in shares),
        amounts=_amounts(shares),
        unpriced_unit_s=sum(one.unpriced_unit_s for one in shares),
    )


def _named(
    shares: Sequence[Share], by: Sequence[WasteDimension]
) -> dict[WasteDimension, str | None]:
    return dict(zip(by, shares[0].names, strict=True)) if shares else {}


def _leases(shares: Sequence[Share]) -> int:
    return len({one.lease_id for one in shares if one.unit_s})


def _amounts(shares: Sequence[Share]) -> tuple[Amount, ...]:
    sums: dict[str, int] = defaultdict(int)
    for one in shares:
        for code, micro in one.amounts.items():
            sums[code] += micro
    return tuple(Amount(currency=code, micro=sums[code]) for code in sorted(sums))
