"""Charges as plain rows: what the ledger holds, whole numbers and all, and the sums. Pure."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from decimal import Decimal

from ..lease import Posting
from ..metering import clip
from ..units import MICRO

COLUMNS = (
    "start",
    "end",
    "seconds",
    "team",
    "project",
    "person",
    "server",
    "profile",
    "pool",
    "flavor",
    "units",
    "standing",
    "price_micro_per_hour",
    "amount_micro",
    "currency",
    "amount",
    "end_cause",
    "end_bounded",
    "lease_id",
)

Row = dict[str, str | int | None]


def clipped(lines: Iterable[Posting], start: datetime, end: datetime) -> tuple[Posting, ...]:
    """Cut charges to [start, end), in the order of team, start and lease."""
    return tuple(
        sorted(inside(lines, start, end), key=lambda one: (one.team, one.start, one.lease_id))
    )


def inside(lines: Iterable[Posting], start: datetime, end: datetime) -> Iterator[Posting]:
    """Cut charges to [start, end), as they come."""
    for line in lines:
        part = clip(line, start, end)
        if part is not None:
            yield part


def row(line: Posting, person: Callable[[str], str | None]) -> Row:
    """Make the row of a charge; an amount that is None had no price."""
    amount = line.amount_micro
    return {
        "start": _instant(line.start),
        "end": _instant(line.end),
        "seconds": line.seconds,
        "team": line.team,
        "project": line.project,
        "person": person(line.user),
        "server": line.server if person(line.user) else None,
        "profile": line.profile,
        "pool": line.pool,
        "flavor": line.flavor,
        "units": line.units,
        "standing": line.standing.value,
        "price_micro_per_hour": line.price_micro_per_hour,
        "amount_micro": amount,
        "currency": line.currency,
        "amount": None if amount is None else f"{Decimal(amount) / MICRO:f}",
        "end_cause": line.cause.value if line.cause else None,
        "end_bounded": "yes" if line.bounded else "no",
        "lease_id": line.lease_id,
    }


def sums(lines: Iterable[Posting]) -> dict[str, int]:
    """Add up what was charged, in micro-units by currency; what had no price is left out."""
    found: dict[str, int] = defaultdict(int)
    for line in lines:
        if line.amount_micro is not None:
            found[line.currency] += line.amount_micro
    return dict(found)


def _instant(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")
