"""Why spend is another than before: price, hours or mix, in whole micro-units that add up. Pure.

A cell has one price at a time: a model, flavor and standing. Of a row, `price` is what cells that
were there before cost more over the hours of now; `hours` is the former cost, grown as all hours
have; `mix` is the rest: dearer cells in place of cheaper ones.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from ..i18n import _
from ..lease.spend import SpendDimension
from ..lease.worth import Change
from ..units import money_text
from .spend import OwnersOf, Piece, name

_CELL: tuple[SpendDimension, ...] = ("model", "flavor", "standing")


class Heap(NamedTuple):
    """Unit-seconds and micro-units."""

    unit_s: int
    micro: int

    def __add__(self, other: "Heap") -> "Heap":  # type: ignore[override]  # sums, not lists
        return Heap(self.unit_s + other.unit_s, self.micro + other.micro)


Cells = Mapping[tuple[str | None, ...], Heap]
Main = Literal["none", "price", "hours", "mix"]

NOTHING = Heap(0, 0)


class Parts(NamedTuple):
    """A change taken apart; the three add up to the change."""

    price: int
    hours: int
    mix: int

    @property
    def main(self) -> Main:
        """The largest of them; price before hours before mix where they are as large."""
        sizes: list[tuple[Main, int]] = [
            ("price", abs(self.price)),
            ("hours", abs(self.hours)),
            ("mix", abs(self.mix)),
        ]
        largest = max(sizes, key=lambda one: one[1])
        return largest[0] if largest[1] else "none"


def taken_apart(before: Cells, now: Cells) -> Parts:
    """Explain the difference between two sums of cells."""
    all_before, all_now = _sum(before.values()), _sum(now.values())
    price = sum(
        cell.micro - _share(before[key].micro, cell.unit_s, before[key].unit_s)
        for key, cell in now.items()
        if key in before and before[key].unit_s
    )
    if all_before.unit_s:
        hours = _share(all_before.micro, all_now.unit_s - all_before.unit_s, all_before.unit_s)
    else:
        hours = all_now.micro - all_before.micro - price
    return Parts(price, hours, all_now.micro - all_before.micro - price - hours)


def changes(
    before: Iterable[Piece],
    now: Iterable[Piece],
    by: Sequence[SpendDimension],
    owners_of: OwnersOf,
    currency: str,
) -> tuple[tuple[Change, ...], Change]:
    """Explain each row and all of them; what has no price or another currency is left out.

    Returns
    -------
    The largest changes first, and the total, whose parts are the sums of theirs.
    """
    former, newer = _rows(before, by, currency), _rows(now, by, currency)
    made = []
    for key in former.keys() | newer.keys():
        names: dict[str, str | None] = dict(zip(by, key, strict=True))
        cells = former.get(key, {}), newer.get(key, {})
        made.append(_change(names, owners_of(names), *cells, taken_apart(*cells), currency))
    made.sort(key=lambda one: (-abs(one.change_micro), _order(one.names)))
    whole = Parts(
        sum(one.price_micro for one in made),
        sum(one.hours_micro for one in made),
        sum(one.mix_micro for one in made),
    )
    every = [_joined(rows.values()) for rows in (former, newer)]
    return tuple(made), _change({}, owners_of({}), every[0], every[1], whole, currency)


def unpriced_s(pieces: Iterable[Piece]) -> int:
    """Add up time that had no price."""
    return sum(one.line.seconds for one in pieces if one.line.amount_micro is None)


def _rows(
    pieces: Iterable[Piece], by: Sequence[SpendDimension], currency: str
) -> dict[tuple[str | None, ...], dict[tuple[str | None, ...], Heap]]:
    rows: dict[tuple[str | None, ...], dict[tuple[str | None, ...], Heap]] = {}
    for one in pieces:
        if one.line.amount_micro is None or one.line.currency != currency:
            continue
        cells = rows.setdefault(tuple(name(one, word) for word in by), {})
        key = tuple(name(one, word) for word in _CELL)
        held = Heap(one.line.seconds * one.line.units, one.line.amount_micro)
        cells[key] = cells.get(key, NOTHING) + held
    return rows


def _change(
    names: dict[str, str | None],
    owners: tuple[str, ...],
    before: Cells,
    now: Cells,
    parts: Parts,
    currency: str,
) -> Change:
    former, newer = _sum(before.values()), _sum(now.values())
    return Change(
        names=names,
        owners=owners,
        before_micro=former.micro,
        now_micro=newer.micro,
        change_micro=newer.micro - former.micro,
        price_micro=parts.price,
        hours_micro=parts.hours,
        mix_micro=parts.mix,
        before_unit_s=former.unit_s,
        now_unit_s=newer.unit_s,
        main=parts.main,
        words=_words(newer.micro - former.micro, parts, currency),
    )


def _words(change: int, parts: Parts, currency: str) -> str:
    if parts.main == "none":
        return _("As before.")
    why = {
        "price": (parts.price, _("prices")),
        "hours": (parts.hours, _("hours held")),
        "mix": (parts.mix, _("which GPUs were held")),
    }[parts.main]
    return _("{change}, of which {part} because of {why}.").format(
        change=_signed(change, currency), part=_signed(why[0], currency), why=why[1]
    )


def _signed(micro: int, currency: str) -> str:
    text = money_text(abs(micro), currency)
    return (
        _("{amount} less").format(amount=text)
        if micro < 0
        else _("{amount} more").format(amount=text)
    )


def _share(whole: int, part: int, of: int) -> int:
    """Take a share of a whole number, rounded to the nearest; halves away from zero."""
    product = whole * part
    sign = -1 if (product < 0) != (of < 0) else 1
    return sign * ((2 * abs(product) + abs(of)) // (2 * abs(of)))


def _sum(cells: Iterable[Heap]) -> Heap:
    total = NOTHING
    for cell in cells:
        total = total + cell
    return total


def _joined(every: Iterable[Cells]) -> Cells:
    joined: dict[tuple[str | None, ...], Heap] = {}
    for cells in every:
        for key, cell in cells.items():
            joined[key] = joined.get(key, NOTHING) + cell
    return joined


def _order(names: Mapping[str, str | None]) -> tuple[tuple[bool, str], ...]:
    return tuple((one is None, one or "") for one in names.values())
