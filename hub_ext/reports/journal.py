"""Charges as double entry: what each account was debited and credited; each entry balances. Pure.

In ticks, 1/3600 of a micro-unit: price x seconds is a whole number of them, so nothing is rounded.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from ..budget import periods
from ..errors import LedgerError
from ..i18n import _
from ..lease import LeaseId, Posting
from ..metering import NO_TEAMS
from ..policy.model import Policy
from ..units import SECONDS_PER_HOUR, accrue

TICKS = SECONDS_PER_HOUR
"""Ticks of one micro-unit."""

_ROUNDED = 3 * TICKS
"""Rounding of one line at most: of two running totals, and of a cut at a window's end."""

_CODE = re.compile(r"[A-Z]{3}")

RECOVERY, UNALLOCATED = "platform/recovery", "platform/unallocated"
STARTS, ROUNDING, CORRECTIONS = "platform/starts", "platform/rounding", "platform/corrections"
GRANTED = "platform/credits-granted"


Row = dict[str, str | int]


class Leg(NamedTuple):
    """One book of an entry; ticks are positive where it is debited, negative for a credit."""

    book: str
    ticks: int


class Entry(NamedTuple):
    """One movement in one currency. Its legs add up to 0."""

    start: datetime
    end: datetime
    lease_id: LeaseId
    currency: str
    legs: tuple[Leg, ...]


def journal(lines: Iterable[Posting]) -> tuple[Entry, ...]:
    """Make the entries of charges; what had no price moves nothing.

    Raises
    ------
    LedgerError
        When a charge is neither price x time, to three micro-units, nor a correction nor a share.
    """
    return tuple(
        Entry(line.start, line.end, line.lease_id, line.currency, tuple(_legs(line)))
        for line in lines
        if line.amount_micro is not None
    )


def grants(policy: Policy, start: datetime, end: datetime) -> tuple[Entry, ...]:
    """Make the entries of credits that budgets grant in periods that [start, end) touches.

    Money is granted by nobody here: only where the currency is the organisation's own.
    """
    if is_money(policy.currency):
        return ()
    return tuple(
        Entry(
            period.start,
            period.end,
            LeaseId(""),
            policy.currency,
            (
                Leg(f"credits/{rules.team or rules.project}", rules.amount * TICKS),
                Leg(GRANTED, -rules.amount * TICKS),
            ),
        )
        for rules in policy.budgets.values()
        if rules.each is None
        for period in periods(rules, policy.timezone, start, end)
    )


def is_money(currency: str) -> bool:
    """Whether a currency has the form of a national one; others are an organisation's credits."""
    return _CODE.fullmatch(currency) is not None


def row(entry: Entry, leg: Leg) -> Row:
    """Make a row of the file: one leg, with its debit or its credit."""
    return {
        "start": entry.start.astimezone(UTC).isoformat(),
        "end": entry.end.astimezone(UTC).isoformat(),
        "lease_id": entry.lease_id,
        "account": leg.book,
        "debit_ticks": max(0, leg.ticks),
        "credit_ticks": max(0, -leg.ticks),
        "currency": entry.currency,
    }


COLUMNS = ("start", "end", "lease_id", "account", "debit_ticks", "credit_ticks", "currency")


def balances(entries: Iterable[Entry]) -> Mapping[str, Mapping[str, int]]:
    """Add up each account, in ticks by currency; the accounts of a currency add up to 0."""
    sums: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for entry in entries:
        for leg in entry.legs:
            sums[entry.currency][leg.book] += leg.ticks
    return {code: dict(sorted(books.items())) for code, books in sorted(sums.items())}


def unbalanced(entries: Sequence[Entry]) -> str:
    """Name the first entry whose debits are not its credits; empty where all balance."""
    for entry in entries:
        left = sum(leg.ticks for leg in entry.legs)
        if left:
            return _("the entry of {lease} at {start} is off by {ticks} ticks").format(
                lease=entry.lease_id, start=entry.start.isoformat(), ticks=left
            )
    return ""


def _legs(line: Posting) -> Iterator[Leg]:
    """Debit whoever pays, credit what it came from, and name what is neither."""
    paid = (line.amount_micro or 0) * TICKS
    yield Leg(_payer(line), paid)
    if line.corrects is not None:
        yield Leg(CORRECTIONS, -paid)
        return
    if line.price_micro_per_hour is None:
        yield Leg(UNALLOCATED, -paid)
        return
    worth = accrue(line.price_micro_per_hour, line.seconds)
    yield Leg(RECOVERY, -worth)
    left = worth - paid
    if abs(left) <= _ROUNDED:
        yield Leg(ROUNDING, left)
    elif not paid:
        # A start that never came to run is free.
        yield Leg(STARTS, left)
    else:
        raise LedgerError(
            _("the charge of {lease} at {start} is not its price x its time").format(
                lease=line.lease_id, start=line.start.isoformat()
            )
        )


def _payer(line: Posting) -> str:
    if line.team in NO_TEAMS:
        return f"platform/{line.team.strip('()')}"
    return f"teams/{line.team}/{line.project or '-'}"
