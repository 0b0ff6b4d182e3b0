"""What was charged within stretches of time, summed as charges are posted and read only once.

True because nobody else writes while the ledger's epoch stands. What a transaction posted that
fails is taken back.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from ..lease import Posting
from ..metering import clip

MOST_KEPT = 64
"""Stretches that are kept summed; the one asked for longest ago is let go."""


class Stretch(NamedTuple):
    """Charges of one currency in [start, end)."""

    start: datetime
    end: datetime
    currency: str


class Line(NamedTuple):
    """Money of one team, project and person."""

    team: str
    project: str | None
    user: str
    amount_micro: int


class FlavorSum(NamedTuple):
    """What a team was charged for a flavor: money, units x seconds, and how much had no price."""

    team: str
    flavor: str
    currency: str
    micro: int
    unit_s: int
    unpriced_unit_s: int


def flavor_sum(line: Posting) -> FlavorSum:
    """Take one charge as such a sum."""
    unit_s = line.seconds * line.units
    return FlavorSum(
        line.team,
        line.flavor,
        line.currency,
        line.amount_micro or 0,
        unit_s,
        unit_s if line.amount_micro is None else 0,
    )


@dataclass
class Sums:
    """Money in micro-units: of teams and projects, and of each person in them."""

    of_team: dict[str, int] = field(default_factory=dict)
    of_project: dict[str, int] = field(default_factory=dict)
    in_team: dict[str, dict[str, int]] = field(default_factory=dict)
    in_project: dict[str, dict[str, int]] = field(default_factory=dict)

    def add(self, line: Line, sign: int = 1) -> None:
        """Add a line, or take it away."""
        amount = sign * line.amount_micro
        _add(self.of_team, line.team, amount)
        _add(self.in_team.setdefault(line.team, {}), line.user, amount)
        if line.project is not None:
            _add(self.of_project, line.project, amount)
            _add(self.in_project.setdefault(line.project, {}), line.user, amount)


class Tally:
    """Sums of the stretches that somebody asked for."""

    def __init__(self) -> None:
        self._kept: dict[Stretch, Sums] = {}
        self._posted: list[Posting] = []
        """Of the transaction that is open."""

    def of(self, stretch: Stretch, read: Callable[[], Iterable[Line]]) -> Sums:
        """Give the sums of a stretch; `read` gives its lines, and is called once."""
        sums = self._kept.pop(stretch, None)
        if sums is None:
            sums = Sums()
            for line in read():
                sums.add(line)
        self._kept[stretch] = sums
        while len(self._kept) > MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        return sums

    def add(self, posted: Iterable[Posting]) -> None:
        """Count charges that were just written."""
        lines = list(posted)
        self._posted += lines
        self._count(lines, 1)

    def keep(self) -> None:
        """Let what was posted stand: its transaction has come through."""
        self._posted = []

    def drop(self) -> None:
        """Take back what was posted: its transaction did not happen."""
        self._count(self._posted, -1)
        self._posted = []

    def clear(self) -> None:
        """Know nothing."""
        self._kept, self._posted = {}, []

    def _count(self, lines: Iterable[Posting], sign: int) -> None:
        for line in lines:
            for stretch, sums in self._kept.items():
                part = part_of(line, stretch)
                if part is not None:
                    sums.add(part, sign)


def part_of(posting: Posting, stretch: Stretch) -> Line | None:
    """What of a charge falls into a stretch; None where nothing does."""
    if posting.currency != stretch.currency or posting.amount_micro is None:
        return None
    part = clip(posting, stretch.start, stretch.end)
    if part is None or not part.amount_micro:
        return None
    return Line(part.team, part.project, part.user, part.amount_micro)


def _add(sums: dict[str, int], name: str, amount: int) -> None:
    sums[name] = sums.get(name, 0) + amount
