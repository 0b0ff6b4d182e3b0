"""Charges of a window as rows and sums. Pure: every figure is a sum of what it was given.

Running leases come in as the charges that would be posted now. Unknown use stays unknown; two
currencies are never added; what has no price is counted, not taken for free.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Literal, NamedTuple

from ..lease import Amount, LeaseId, Posting, Usage, UsageRow, UsageSum
from ..lease.reserving import ASIDE
from ..metering import NO_TEAMS, Use, clip

Dimension = Literal["team", "project", "user", "profile"]
"""What sums can be told apart by."""

BY_PERSON: tuple[Dimension, ...] = ("team", "project", "user")
"""The usual table: one line a person and project."""


class _Part(NamedTuple):
    row: UsageRow
    percent_seconds: int


class Asked(NamedTuple):
    """What a report is of: the time [start, end) as known at `as_of`, and whose, in one word.

    `currency` is that of the amounts that stand alone; others appear in `UsageSum.amounts`.
    """

    scope: str
    start: datetime
    end: datetime
    as_of: datetime
    currency: str


def usage(
    lines: Iterable[Posting],
    used: Mapping[LeaseId, Use],
    asked: Asked,
    *,
    running: Collection[LeaseId] = (),
    by: Sequence[Dimension] = BY_PERSON,
) -> Usage:
    """Make the rows and sums of a asked.

    Parameters
    ----------
    lines
        Charges posted, and those that would be posted now for running leases. What lies outside
        the window is cut off.
    used
        What samples say of each lease in the window; a lease that is absent is unknown.
    asked
        What the report is of; the caller has chosen the lines accordingly.
    running
        Leases that are still open.
    by
        What the sums are told apart by.

    Returns
    -------
    One row a lease (and one more where the site pays part of it), by start; sums by name; both
    add up to the total.
    """
    cut = (clip(line, asked.start, asked.end) for line in lines)
    inside = sorted(
        (line for line in cut if line is not None), key=lambda line: (*_row(line), line.start)
    )
    parts = [
        _part(list(group), used.get(lease_id), lease_id in running)
        for (lease_id, _team, _currency), group in groupby(inside, key=_row)
    ]
    rows = (part.row for part in parts)
    return Usage(
        scope=asked.scope,
        start=asked.start,
        end=asked.end,
        as_of=asked.as_of,
        currency=asked.currency,
        rows=tuple(sorted(rows, key=lambda row: (row.start, row.lease_id, row.team))),
        sums=_sums(parts, by, asked.currency),
        total=_sum(parts, (), asked.currency),
    )


def _row(line: Posting) -> tuple[LeaseId, str, str]:
    return line.lease_id, line.team, line.currency


def _part(lines: list[Posting], use: Use | None, running: bool) -> _Part:  # noqa: FBT001 - private, named at its one call
    first, last = lines[0], lines[-1]
    priced = [line.amount_micro for line in lines if line.amount_micro is not None]
    held_s = sum(line.seconds for line in lines)
    measured_s, percent_seconds = measured(first, use, held_s)
    row = UsageRow(
        lease_id=first.lease_id,
        user=first.user,
        server=first.server,
        team=first.team,
        project=first.project,
        profile=first.profile,
        pool=first.pool,
        flavor=first.flavor,
        standing=last.standing,
        units=first.units,
        start=first.start,
        end=last.end,
        held_s=held_s,
        amount_micro=sum(priced) if priced else None,
        unpriced_s=sum(line.seconds for line in lines if line.amount_micro is None),
        utilised_percent=percent_seconds // measured_s if measured_s else None,
        measured_s=measured_s,
        cause=None if running else last.cause,
        open=running,
        currency=first.currency,
    )
    return _Part(row, percent_seconds)


def measured(line: Posting, use: Use | None, held_s: int) -> tuple[int, int]:
    """Give measured seconds and percent x seconds, no more of either than was held.

    Sums come by whole hours and so may reach beyond the asked.
    """
    if use is None or line.team in NO_TEAMS or not use.sampled_s:
        return 0, 0
    measured_s = min(use.sampled_s, held_s)
    return measured_s, use.percent_seconds * measured_s // use.sampled_s


def _sums(parts: list[_Part], by: Sequence[Dimension], currency: str) -> tuple[UsageSum, ...]:
    def place(part: _Part) -> tuple[str, ...]:
        return tuple(getattr(part.row, name) or "" for name in by)

    ordered = sorted(parts, key=place)
    return tuple(_sum(list(group), by, currency) for _place, group in groupby(ordered, key=place))


def _sum(parts: list[_Part], by: Sequence[Dimension], currency: str) -> UsageSum:
    rows = [part.row for part in parts]
    amounts: dict[str, int] = {}
    for row in rows:
        if row.amount_micro is not None:
            amounts[row.currency] = amounts.get(row.currency, 0) + row.amount_micro
    measured = sum(row.measured_s * row.units for row in rows)
    worked = sum(part.percent_seconds * part.row.units for part in parts)
    return UsageSum(
        team=rows[0].team if "team" in by else None,
        project=rows[0].project if "project" in by else None,
        user=rows[0].user if "user" in by else None,
        profile=rows[0].profile if "profile" in by else None,
        leases=len({row.lease_id for row in rows if row.flavor not in ASIDE}),
        held_s=sum(row.held_s for row in rows),
        unit_s=sum(row.held_s * row.units for row in rows),
        amount_micro=amounts.get(currency),
        unpriced_s=sum(row.unpriced_s for row in rows),
        utilised_percent=worked // measured if measured else None,
        measured_s=sum(row.measured_s for row in rows),
        amounts=tuple(Amount(currency=code, micro=amounts[code]) for code in sorted(amounts)),
        measured_unit_s=measured,
        unpriced_leases=len({row.lease_id for row in rows if row.unpriced_s}),
    )
