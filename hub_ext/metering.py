"""From a lease and dated prices to charges, on whole numbers. Never from samples.

Pure: no clock, no database; prices come as plain spans. Money is rounded in one place (`_lines`):
each line is the difference of two rounded running totals of its lease. So the lines of a lease add
up to its exact total, rounded once, wherever it was split.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Annotated, NamedTuple

from pydantic import Field

from .i18n import _
from .lease import Cost, LeaseId, OpenLease, Posting, Standing, Stood, TeamName, UserName, Value
from .policy.prices import PriceSpan
from .units import accrue, money_text, settle, whole_seconds

SITE = TeamName("(site)")
"""Whom the time of a stop that takes too long is charged to. No team can have such a name."""

WAIVED = TeamName("(waived)")
"""Whom the time is charged to in which the device of a lease was at fault: nobody pays for it."""

NO_TEAMS = frozenset({SITE, WAIVED})
"""Stand for a team where none pays: the site bears it."""

SITE_USER = UserName("(site)")
"""Stands for the person in charges of the site: nobody sees them among their own."""


class Use(Value):
    """What samples say of one lease, beside its charge and never in it.

    `percent_seconds` is the sum of utilisation x time over the sampled time; time without a
    figure is in none of them and stays unknown.
    """

    lease_id: LeaseId
    sampled_s: Annotated[int, Field(ge=0)]
    percent_seconds: Annotated[int, Field(ge=0)]
    peak_percent: Annotated[int, Field(ge=0, le=100)]


QUIET_PERCENT = 5
"""Below it a GPU computes nothing, and its memory is empty: what a driver alone takes is less."""


class Quiet(NamedTuple):
    """How long the GPUs of one lease did nothing, in seconds added up over its devices.

    `sampled_s` is the time of which that is known. `idle_s` of it memory was empty or not known,
    `hoarded_s` it was held.
    """

    devices: int
    sampled_s: int
    idle_s: int
    hoarded_s: int
    peak_percent: int


class _Tile(NamedTuple):
    start: datetime
    end: datetime
    price: int | None
    payer: TeamName
    standing: Standing


def charge(
    lease: OpenLease,
    spans: Iterable[PriceSpan],
    until: datetime,
    *,
    stop_limit: timedelta | None = None,
    cuts: Iterable[datetime] = (),
    bounded: bool = False,
) -> tuple[Posting, ...]:
    """Charge a lease from the assignment of its devices to `until`, or to its close if earlier.

    What was charged before `charged_until` is left out, and still counts in the rounding.

    Parameters
    ----------
    lease
        The lease; without a GPU, or without devices assigned, nothing is charged. A start that
        never came to run is charged 0.
    spans
        Prices over that time; what none of them covers is not priced.
    until
        End of the charge.
    stop_limit
        Time after `stop_asked_at` that the team still pays; the rest is the site's own. None:
        the team pays all. What is `waived` no team pays either.
    cuts
        Further instants at which to begin a new line, such as a month's.
    bounded
        Whether `until` is when its server was last seen, and not its end; the last line says so.

    Returns
    -------
    Lines that tile the time, each of one price, payer and standing; one line of no length where the
    whole time is none. An amount is None exactly where there is no price.
    """
    if lease.pool is None or lease.assigned_at is None:
        return ()
    end = min(until, lease.closed_at) if lease.closed_at else until
    end = max(end, lease.assigned_at)
    from_site = None
    if stop_limit is not None and lease.stop_asked_at is not None:
        from_site = lease.stop_asked_at + stop_limit
    begun = lease.charged_until
    edges = (edge for stretch in lease.waived for edge in (stretch.start, stretch.end))
    points = (from_site, begun, *edges, *(one.until for one in lease.stood), *cuts)
    tiles = _tiles(lease, end, tuple(spans), points)
    lines = [
        line for line in _lines(lease, tiles) if begun is None or begun <= line.start < line.end
    ]
    if bounded and lines:
        lines[-1] = lines[-1].model_copy(update={"bounded": True})
    return tuple(lines)


def cost(
    lease: OpenLease,
    spans: Iterable[PriceSpan],
    as_of: datetime,
    *,
    stop_limit: timedelta | None = None,
) -> Cost:
    """Say what a lease has cost its team until `as_of`, for the live panel.

    It is the sum that `charge` would post now. None stands where no second of it had a price.
    """
    known = tuple(spans)
    lines = charge(lease, known, as_of, stop_limit=stop_limit)
    own = [line for line in lines if line.team not in NO_TEAMS]
    priced = [line.amount_micro for line in own if line.amount_micro is not None]
    price = _price_now(known, as_of)
    so_far = sum(priced) if priced or (not own and price is not None) else None
    return Cost(
        as_of=as_of,
        price_micro_per_hour=price,
        so_far_micro=so_far,
        currency=lease.currency,
        rate_text=_rate_text(lease, price),
        so_far_text=_amount_text(lease, so_far),
    )


def standing_at(lease: OpenLease, at: datetime) -> Standing:
    """How a lease stood at an instant after its devices were assigned."""
    return next((one.standing for one in lease.stood if at < one.until), lease.standing)


def remembering(lease: OpenLease, former: OpenLease, at: datetime) -> OpenLease:
    """Keep with a lease that changes how it stood until now; none of it is ever forgotten."""
    stood = former.stood
    begun = max([one.until for one in stood], default=former.assigned_at)
    if lease.standing is not former.standing and begun is not None and begun < at:
        stood = (*stood, Stood(standing=former.standing, until=at))
    return lease if lease.stood == stood else lease.model_copy(update={"stood": stood})


def clip(line: Posting, start: datetime, end: datetime) -> Posting | None:
    """Cut a posting to [start, end); None where nothing of it is inside.

    The parts of a posting add up to it exactly, however it is cut: seconds and amount of a part
    are differences of totals rounded down from the posting's own start.
    """
    first, last = max(line.start, start), min(line.end, end)
    if first == line.start and last == line.end and first < last:
        return line
    if line.start == line.end:
        return line if start <= line.start < end else None
    if first >= last:
        return None
    return line.model_copy(
        update={
            "start": first,
            "end": last,
            "bounded": line.bounded and last == line.end,
            "seconds": _seconds_to(line, last) - _seconds_to(line, first),
            "amount_micro": None
            if line.amount_micro is None
            else _amount_to(line, last) - _amount_to(line, first),
        }
    )


def footed(amounts: Sequence[int], digits: int) -> tuple[int, ...]:
    """Round amounts to so many decimals that they add up to their rounded sum.

    Largest remainder: all are rounded down, and the units that the sum lacks go to those that
    lost most, the earlier first. The sum is rounded half to even.

    Parameters
    ----------
    amounts
        Micro-units of one currency.
    digits
        Decimals shown, 0 to 6.

    Returns
    -------
    Micro-units, each a multiple of the last shown decimal.
    """
    unit = 10 ** (6 - digits)
    down = [amount // unit for amount in amounts]
    whole, rest = divmod(sum(amounts), unit)
    total = whole + (rest * 2 > unit or (rest * 2 == unit and whole % 2 == 1))
    lost = sorted(range(len(amounts)), key=lambda index: (-(amounts[index] % unit), index))
    for index in lost[: total - sum(down)]:
        down[index] += 1
    return tuple(count * unit for count in down)


def _tiles(
    lease: OpenLease,
    end: datetime,
    spans: tuple[PriceSpan, ...],
    cuts: tuple[datetime | None, ...],
) -> Iterator[_Tile]:
    start = lease.assigned_at or end
    edges = {edge for span in spans for edge in (span.start, span.end)} | {
        cut for cut in cuts if cut
    }
    points = sorted({start, end} | {edge for edge in edges if start < edge < end})
    from_site = cuts[0]
    for first, last in pairwise(points) if start < end else ((start, end),):
        price = next(
            (span.price_micro_per_hour for span in spans if span.start <= first < span.end), None
        )
        payer = _payer(lease, first, from_site)
        yield _Tile(first, last, price, payer, standing_at(lease, first))


def _payer(lease: OpenLease, at: datetime, from_site: datetime | None) -> TeamName:
    for stretch in lease.waived:
        if stretch.start <= at and (stretch.end is None or at < stretch.end):
            return WAIVED
    return SITE if from_site is not None and at >= from_site else lease.team


def _lines(lease: OpenLease, tiles: Iterator[_Tile]) -> Iterator[Posting]:
    ran = lease.started_at is not None
    product = settled = seconds = 0
    for tile in tiles:
        total_s = whole_seconds(lease.assigned_at or tile.start, tile.end)
        part_s, seconds = total_s - seconds, total_s
        if tile.price is not None and ran:
            product += accrue(tile.price, part_s)
        total = settle(product)
        amount, settled = total - settled, total
        yield Posting(
            lease_id=lease.id,
            user=SITE_USER if tile.payer in NO_TEAMS else lease.key.user,
            server=lease.key.server,
            team=tile.payer,
            project=None if tile.payer in NO_TEAMS else lease.project,
            profile=lease.profile,
            pool=lease.pool,
            flavor=lease.flavor,
            units=lease.units,
            standing=tile.standing,
            start=tile.start,
            end=tile.end,
            seconds=part_s,
            price_micro_per_hour=tile.price,
            amount_micro=None if tile.price is None else amount,
            currency=lease.currency,
            cause=lease.cause,
        )


def _seconds_to(line: Posting, at: datetime) -> int:
    return line.seconds if at >= line.end else min(line.seconds, whole_seconds(line.start, at))


def _amount_to(line: Posting, at: datetime) -> int:
    amount = line.amount_micro or 0
    if at >= line.end or not line.seconds:
        return amount if at >= line.end else 0
    return amount * _seconds_to(line, at) // line.seconds


def _price_now(spans: tuple[PriceSpan, ...], as_of: datetime) -> int | None:
    begun = [span for span in spans if span.start <= as_of <= span.end]
    return max(begun, key=lambda span: span.start).price_micro_per_hour if begun else None


def _rate_text(lease: OpenLease, price: int | None) -> str:
    if lease.pool is None:
        return _("no GPU, no charge")
    if price is None:
        return _("not priced")
    return _("{price} / h").format(price=money_text(price, lease.currency))


def _amount_text(lease: OpenLease, so_far: int | None) -> str:
    if lease.pool is None:
        return _("no GPU, no charge")
    return _("not priced") if so_far is None else money_text(so_far, lease.currency)
