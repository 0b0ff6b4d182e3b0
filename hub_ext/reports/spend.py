"""Charges told apart by any of a dozen words, with owner, cost and use side by side. Pure.

Every figure is a sum of what it was given; all rows add up to the total. No utilisation is told
where no owner and no cost stand beside it, and unknown use stays unknown.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import NamedTuple, get_args

from ..lease import Amount, LeaseId, Posting
from ..lease.reserving import ASIDE
from ..lease.spend import SpendDimension, SpendRow
from ..lease.value import Outcome
from ..metering import NO_TEAMS, Use, clip
from ..units import SECONDS_PER_HOUR, UNITS_PER_GPU
from .tables import measured

DIMENSIONS: tuple[SpendDimension, ...] = get_args(SpendDimension)
"""All of them, in the order in which they are documented."""

Names = dict[str, str | None]

OwnersOf = Callable[[Mapping[str, str | None]], tuple[str, ...]]
"""Says who answers for what has these names."""


class LeaseFacts(NamedTuple):
    """What is told of a lease beside its charges; None is unlabelled or unknown."""

    model: str | None = None
    task_type: str | None = None
    value_class: str | None = None
    has_purpose: bool = False
    outcome: Outcome | None = None


UNKNOWN = LeaseFacts()

STATED = "stated"
"""Name of what has a purpose, in the dimension `purpose`; None has none."""


class Part(NamedTuple):
    """A stretch [start, end) of the window, what is used in it, and its month where one is told."""

    start: datetime
    end: datetime
    used: Mapping[LeaseId, Use]
    month: str | None = None


class Piece(NamedTuple):
    """One line cut to one part: its names' source, and how much of it was measured and busy."""

    line: Posting
    facts: LeaseFacts
    month: str | None
    measured_s: int
    percent_seconds: int
    measured_micro: int
    """What of its amount is for time that was measured."""


def pieces(
    lines: Iterable[Posting], facts: Mapping[LeaseId, LeaseFacts], parts: Sequence[Part]
) -> Iterator[Piece]:
    """Cut charges to the parts, and share out what is known of their use.

    Parameters
    ----------
    facts
        By the id on the line; one that is absent is unlabelled.
    parts
        Stretches that do not overlap.
    """
    known = tuple(lines)
    for part in parts:
        cut = (clip(line, part.start, part.end) for line in known)
        inside = sorted((one for one in cut if one is not None), key=lambda one: one.lease_id)
        for lease_id, group in groupby(inside, key=lambda one: one.lease_id):
            mine = sorted(group, key=lambda one: (one.team in NO_TEAMS, one.start))
            yield from _pieces_of(mine, facts.get(lease_id, UNKNOWN), part)


def rows(
    pieces_: Iterable[Piece], by: Sequence[SpendDimension], owners_of: OwnersOf
) -> tuple[tuple[SpendRow, ...], SpendRow]:
    """Sum pieces up by their names.

    Returns
    -------
    One row for each set of names, in their order with the unlabelled last, and the total.
    """
    heaps: defaultdict[tuple[str | None, ...], _Heap] = defaultdict(_Heap)
    names = [_NAMES[word] for word in by]
    for piece in pieces_:
        heaps[tuple([name_of(piece) for name_of in names])].add(piece)
    total = _Heap()
    for heap in heaps.values():
        total.take(heap)
    ordered = sorted(heaps, key=lambda key: [(one is None, one or "") for one in key])
    made = tuple(heaps[key].row(dict(zip(by, key, strict=True)), owners_of) for key in ordered)
    return made, total.row({}, owners_of)


def name(piece: Piece, word: SpendDimension) -> str | None:
    """Give a piece's name in one dimension."""
    return _NAMES[word](piece)


_NAMES: dict[SpendDimension, Callable[[Piece], str | None]] = {
    "team": lambda one: one.line.team,
    "project": lambda one: one.line.project,
    "user": lambda one: one.line.user,
    "profile": lambda one: one.line.profile,
    "pool": lambda one: one.line.pool,
    "flavor": lambda one: one.line.flavor,
    "model": lambda one: one.facts.model,
    "standing": lambda one: one.line.standing.value,
    "taskType": lambda one: one.facts.task_type,
    "valueClass": lambda one: one.facts.value_class,
    "outcome": lambda one: one.facts.outcome,
    "purpose": lambda one: STATED if one.facts.has_purpose else None,
    "month": lambda one: one.month,
    "lease": lambda one: one.line.lease_id,
}


def _pieces_of(lines: list[Posting], facts: LeaseFacts, part: Part) -> Iterator[Piece]:
    """Share the measured time of a lease out over its lines, to the second."""
    own = [line for line in lines if line.team not in NO_TEAMS]
    held_s = sum(line.seconds for line in own)
    use = part.used.get(lines[0].lease_id)
    measured_s, percent_seconds = measured(own[0], use, held_s) if own else (0, 0)
    done = 0
    for line in lines:
        if line.team in NO_TEAMS or not held_s:
            yield Piece(line, facts, part.month, 0, 0, 0)
            continue
        before, done = done, done + line.seconds
        seconds, percent = (
            whole * done // held_s - whole * before // held_s
            for whole in (measured_s, percent_seconds)
        )
        micro = (line.amount_micro or 0) * seconds // line.seconds if line.seconds else 0
        yield Piece(line, facts, part.month, seconds, percent, micro)


@dataclass
class _Heap:
    """Running sums of the pieces with the same names."""

    leases: set[str] = field(default_factory=set)
    unpriced: set[str] = field(default_factory=set)
    held_s: int = 0
    unit_s: int = 0
    unpriced_s: int = 0
    measured_unit_s: int = 0
    percent_unit_s: int = 0
    amounts: dict[str, int] = field(default_factory=dict)
    measured_micro: dict[str, int] = field(default_factory=dict)

    def add(self, piece: Piece) -> None:
        line = piece.line
        if line.flavor not in ASIDE:
            self.leases.add(line.lease_id)
        self.held_s += line.seconds
        self.unit_s += line.seconds * line.units
        self.measured_unit_s += piece.measured_s * line.units
        self.percent_unit_s += piece.percent_seconds * line.units
        if line.amount_micro is None:
            self.unpriced_s += line.seconds
            if line.seconds:
                self.unpriced.add(line.lease_id)
            return
        code = line.currency
        self.amounts[code] = self.amounts.get(code, 0) + line.amount_micro
        self.measured_micro[code] = self.measured_micro.get(code, 0) + piece.measured_micro

    def take(self, other: "_Heap") -> None:
        """Add what another holds."""
        self.leases |= other.leases
        self.unpriced |= other.unpriced
        self.held_s += other.held_s
        self.unit_s += other.unit_s
        self.unpriced_s += other.unpriced_s
        self.measured_unit_s += other.measured_unit_s
        self.percent_unit_s += other.percent_unit_s
        for mine, more in (
            (self.amounts, other.amounts),
            (self.measured_micro, other.measured_micro),
        ):
            for code, micro in more.items():
                mine[code] = mine.get(code, 0) + micro

    def row(self, names: Names, owners_of: OwnersOf) -> SpendRow:
        owners = owners_of(names)
        bare = SpendRow(
            names=names,
            owners=owners,
            leases=len(self.leases),
            held_s=self.held_s,
            unit_s=self.unit_s,
            amounts=_amounts(self.amounts),
            unpriced_s=self.unpriced_s,
            unpriced_leases=len(self.unpriced),
        )
        if not self.measured_unit_s:
            return bare.model_copy(update={"unsaid": "not measured"})
        if not owners:
            return bare.model_copy(update={"unsaid": "no owner"})
        if not self.amounts:
            return bare.model_copy(update={"unsaid": "no cost"})
        return bare.model_copy(
            update={
                "measured_unit_s": self.measured_unit_s,
                "busy_unit_s": self.percent_unit_s // 100,
                "utilised_percent": self.percent_unit_s // self.measured_unit_s,
                "per_busy_hour": self._per_busy_hour(),
            }
        )

    def _per_busy_hour(self) -> tuple[Amount, ...]:
        if not self.percent_unit_s:
            return ()
        hour = 100 * UNITS_PER_GPU * SECONDS_PER_HOUR
        return _amounts(
            {
                code: micro * hour // self.percent_unit_s
                for code, micro in self.measured_micro.items()
            }
        )


def _amounts(found: Mapping[str, int]) -> tuple[Amount, ...]:
    return tuple(Amount(currency=code, micro=found[code]) for code in sorted(found))
