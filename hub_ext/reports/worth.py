"""Spend held against what came of it, and who answers for which pool in which month. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import get_args

from ..lease import Amount
from ..lease.reserving import ASIDE
from ..lease.spend import SpendDimension, SpendRow
from ..lease.value import Outcome
from ..lease.worth import OwnerCell, OwnerRow, ValueRow
from .spend import OwnersOf, Piece, name, rows

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)


def by_value(
    pieces: Sequence[Piece], word: SpendDimension, owners_of: OwnersOf
) -> tuple[ValueRow, ...]:
    """Sum up what has the same name in one dimension, with what came of it."""
    heaps: dict[str | None, list[Piece]] = {}
    for one in pieces:
        heaps.setdefault(name(one, word), []).append(one)
    made, _total = rows(pieces, (word,), owners_of)
    return tuple(value_row(heaps[row.names[word]], row) for row in made)


def value_row(pieces: Iterable[Piece], row: SpendRow) -> ValueRow:
    """Say what came of the leases of a row; what is charged beside a lease is none of its own."""
    said: dict[str, Outcome | None] = {
        one.line.lease_id: one.facts.outcome for one in pieces if one.line.flavor not in ASIDE
    }
    counts: Mapping[Outcome, int] = {
        outcome: sum(1 for one in said.values() if one == outcome) for outcome in OUTCOMES
    }
    useful = counts["useful"]
    return ValueRow(
        row=row,
        outcomes=dict(counts),
        silent=sum(1 for one in said.values() if one is None),
        per_useful=tuple(
            Amount(currency=one.currency, micro=one.micro // useful) for one in row.amounts
        )
        if useful
        else (),
    )


def without_purpose(pieces: Iterable[Piece], owners_of: OwnersOf) -> SpendRow:
    """Sum up what nobody said a purpose of."""
    silent = [one for one in pieces if not one.facts.has_purpose]
    return rows(silent, (), owners_of)[1]


def unlabelled_percent(pieces: Iterable[Piece]) -> int | None:
    """Share of the GPU time that has no task type; None where nothing was held."""
    held = [(one.line.seconds * one.line.units, one.facts.task_type) for one in pieces]
    total = sum(unit_s for unit_s, _task in held)
    return 100 * sum(unit_s for unit_s, task in held if task is None) // total if total else None


def owner_rows(pieces: Iterable[Piece], owners_of: OwnersOf) -> tuple[OwnerRow, ...]:
    """Lay out pool x team x month, in the order of their names."""
    made, _total = rows(pieces, ("pool", "team", "month"), owners_of)
    return tuple(
        OwnerRow(
            pool=pool,
            team=team,
            owners=(known := list(group))[0].owners,
            cells=tuple(OwnerCell(month=str(one.names["month"]), row=one) for one in known),
        )
        for (pool, team), group in groupby(
            made, key=lambda one: (one.names["pool"], one.names["team"])
        )
    )
