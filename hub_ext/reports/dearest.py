"""The dearest leases of a window, each with what makes it dear. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import median_low
from typing import NamedTuple

from ..i18n import _
from ..lease.worth import Dear, Why
from ..units import UNITS_PER_GPU, gpus_text
from .spend import OwnersOf, Piece, rows

MUCH = 2
"""How many times as much as the usual lease is named as a reason."""

MOSTLY_PERCENT = 50
"""Share of the measured cost without work from which on that is named."""


class _Usual(NamedTuple):
    """The middle lease: how long, how large, and the price of a GPU-hour."""

    held_s: int
    units: int
    price: int


def dearest(
    pieces: Iterable[Piece],
    owners_of: OwnersOf,
    currency: str,
    *,
    most: int,
    open_ids: frozenset[str],
    members: bool = True,
) -> tuple[tuple[Dear, ...], int]:
    """List the dearest leases that have a price in `currency`, and count all.

    Parameters
    ----------
    most
        How many are listed.
    open_ids
        Leases that still run.
    members
        Whether people are named.
    """
    mine: dict[str, list[Piece]] = {}
    for one in pieces:
        if one.line.amount_micro is not None and one.line.currency == currency and one.line.units:
            mine.setdefault(one.line.lease_id, []).append(one)
    if not mine:
        return (), 0
    costs = {lease: _micro(parts) for lease, parts in mine.items()}
    usual = _usual(list(mine.values()))
    total = sum(costs.values())
    ordered = sorted(mine, key=lambda lease: (-costs[lease], lease))
    made = (
        _dear(mine[lease], owners_of, usual, total, members=members, running=lease in open_ids)
        for lease in ordered[:most]
    )
    return tuple(made), len(mine)


def _dear(
    parts: Sequence[Piece],
    owners_of: OwnersOf,
    usual: _Usual,
    total: int,
    *,
    members: bool,
    running: bool,
) -> Dear:
    first, micro = parts[0], _micro(parts)
    made, _all = rows(parts, ("team", "project", "profile", "model", "taskType"), owners_of)
    row = made[0]
    idle = _idle(parts)
    why = tuple(_reasons(parts, usual, idle))
    shown = row.utilised_percent is not None
    return Dear(
        lease_id=first.line.lease_id,
        user=first.line.user if members else None,
        row=row,
        open=running,
        outcome=first.facts.outcome,
        has_purpose=first.facts.has_purpose,
        idle_micro=idle if shown else None,
        share_percent=max(0, min(100, micro * 100 // total)) if total > 0 else 0,
        why=tuple(one for one in why if shown or one != "not busy") or ("usual",),
        words=_words(parts, why if shown else [one for one in why if one != "not busy"], usual),
    )


def _reasons(parts: Sequence[Piece], usual: _Usual, idle: int | None) -> Iterable[Why]:
    if _held(parts) >= MUCH * usual.held_s:
        yield "long"
    if _units(parts) >= MUCH * usual.units:
        yield "large"
    if usual.price and _price(parts) >= MUCH * usual.price:
        yield "dear"
    measured = sum(one.measured_micro for one in parts)
    if idle is not None and measured and idle * 100 >= MOSTLY_PERCENT * measured:
        yield "not busy"


def _words(parts: Sequence[Piece], why: Iterable[Why], usual: _Usual) -> str:
    said: Mapping[Why, str] = {
        "long": _("held {n} times as long as the usual lease").format(
            n=_held(parts) // max(1, usual.held_s)
        ),
        "large": _("{gpus} GPUs, where the usual lease has {usual}").format(
            gpus=gpus_text(_units(parts)), usual=gpus_text(usual.units)
        ),
        "dear": _("a GPU-hour costs {n} times the usual").format(
            n=_price(parts) // max(1, usual.price)
        ),
        "not busy": _("most of the measured time was not busy"),
    }
    known = [said[one] for one in why if one in said]
    if not known:
        return _("Nothing in it is out of the usual; it simply costs most.")
    text = "; ".join(known)
    return f"{text[:1].upper()}{text[1:]}."


def _usual(leases: Sequence[Sequence[Piece]]) -> _Usual:
    return _Usual(
        median_low([_held(one) for one in leases]),
        median_low([_units(one) for one in leases]),
        median_low([_price(one) for one in leases]),
    )


def _micro(parts: Iterable[Piece]) -> int:
    return sum(one.line.amount_micro or 0 for one in parts)


def _held(parts: Iterable[Piece]) -> int:
    return sum(one.line.seconds for one in parts)


def _units(parts: Iterable[Piece]) -> int:
    return max(one.line.units for one in parts)


def _price(parts: Sequence[Piece]) -> int:
    """Micro-units of a whole GPU's hour, as it was charged."""
    unit_s = sum(one.line.seconds * one.line.units for one in parts)
    return _micro(parts) * UNITS_PER_GPU * 3600 // unit_s if unit_s else 0


def _idle(parts: Sequence[Piece]) -> int | None:
    """What of the measured cost is for time that was not busy."""
    if not any(one.measured_s for one in parts):
        return None
    return sum(
        one.measured_micro - one.measured_micro * one.percent_seconds // (100 * one.measured_s)
        for one in parts
        if one.measured_s
    )
