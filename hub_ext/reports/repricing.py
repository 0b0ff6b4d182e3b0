"""What another price would have made of a month that is over. Pure; nothing on the books moves."""

from collections.abc import Iterable
from typing import NamedTuple

from ..budget import Period
from ..lease import Posting
from ..metering import clip
from ..policy.prices import priced_as
from ..units import accrue, settle


class Wish(NamedTuple):
    """Another price of one flavor of a pool: micro-units for an hour of one of it."""

    pool: str
    flavor: str
    per_hour: int


class Moved(NamedTuple):
    """What one team was charged for it, and would have been."""

    team: str
    seconds: int
    was: int
    would: int


def repriced(lines: Iterable[Posting], month: Period, wish: Wish) -> tuple[Moved, ...]:
    """Reckon a month again, by team.

    Only time that was charged at the plain price moves: what was borrowed or kept unused at a price
    of its own, and corrections, stay. Time without a price would get one.

    Parameters
    ----------
    lines
        Charges of the month.
    """
    sums: dict[str, list[int]] = {}
    plain = _plain_prices(lines, wish)
    for line in lines:
        part = clip(line, month.start, month.end)
        if part is None or part.corrects is not None or not _is_of(part, wish):
            continue
        _flavor, times = priced_as(part.flavor)
        held = sums.setdefault(part.team, [0, 0, 0])
        was = part.amount_micro or 0
        price = part.price_micro_per_hour
        stays = price is not None and price not in {times * one for one in plain}
        held[0] += part.seconds
        held[1] += was
        held[2] += was if stays else settle(accrue(wish.per_hour * times, part.seconds))
    return tuple(Moved(team, *held) for team, held in sorted(sums.items()))


def _is_of(line: Posting, wish: Wish) -> bool:
    return line.pool == wish.pool and priced_as(line.flavor)[0] == wish.flavor


def _plain_prices(lines: Iterable[Posting], wish: Wish) -> set[int]:
    """Give the prices of one that guaranteed time was charged at."""
    return {
        line.price_micro_per_hour // priced_as(line.flavor)[1]
        for line in lines
        if _is_of(line, wish)
        and line.price_micro_per_hour is not None
        and line.standing.value == "guaranteed"
    }
