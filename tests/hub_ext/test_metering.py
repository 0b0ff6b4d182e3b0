"""Charges from leases and dated prices: exact, order-free, unknown never free."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hub_ext.lease import Cause, LeaseState, OpenLease, Posting
from hub_ext.metering import SITE, SITE_USER, charge, clip, cost, footed
from hub_ext.policy.prices import PriceSpan
from hub_ext.units import accrue, settle, whole_seconds
from tests.support.ledger_parts import NOON, SECOND, a_lease

HOUR = timedelta(hours=1)
EURO = 1_000_000

instants = st.integers(0, 40 * 86_400 * 10**6).map(lambda us: NOON + timedelta(microseconds=us))
prices = st.none() | st.integers(0, 200 * EURO)


def running(**changes: Any) -> OpenLease:
    values: dict[str, Any] = {
        "state": LeaseState.running,
        "assigned_at": NOON,
        "started_at": NOON + SECOND,
    }
    return a_lease(**(values | changes))


def flat(price: int | None, start: datetime = NOON, hours: int = 1000) -> tuple[PriceSpan, ...]:
    return (PriceSpan(start, start + hours * HOUR, price),)


def stepped(cuts: Iterable[datetime], choices: list[int | None]) -> tuple[PriceSpan, ...]:
    """Prices that may change at each cut, from long before to long after."""
    edges = [NOON - 99 * HOUR, *sorted(set(cuts)), NOON + 9999 * HOUR]
    return tuple(
        PriceSpan(start, end, choices[index % len(choices)])
        for index, (start, end) in enumerate(pairwise(edges))
    )


def money(lines: Iterable[Posting]) -> int:
    return sum(line.amount_micro or 0 for line in lines)


def test_one_hour_costs_the_price_of_an_hour() -> None:
    (line,) = charge(running(), flat(4_200_000), NOON + HOUR)
    assert (line.seconds, line.amount_micro, line.currency) == (3600, 4_200_000, "EUR")
    assert (line.team, line.user, line.cause) == ("vision", "user-L1", None)


def test_what_has_no_price_is_not_free() -> None:
    spans = (PriceSpan(NOON, NOON + HOUR, None), *flat(EURO, NOON + HOUR))
    lines = charge(running(), spans, NOON + 2 * HOUR)
    assert [(line.seconds, line.amount_micro) for line in lines] == [(3600, None), (3600, EURO)]
    (uncovered,) = charge(running(), (), NOON + HOUR)
    assert uncovered.amount_micro is None


def test_a_start_that_never_ran_and_a_wait_cost_nothing() -> None:
    failed = a_lease(state=LeaseState.closed, assigned_at=NOON, cause=Cause.failed)
    (line,) = charge(failed, flat(EURO), NOON + HOUR)
    assert (line.seconds, line.amount_micro, line.cause) == (3600, 0, Cause.failed)
    assert charge(failed, flat(None), NOON + HOUR)[0].amount_micro is None
    assert charge(a_lease(state=LeaseState.queued), flat(EURO), NOON + HOUR) == ()


def test_a_server_without_a_gpu_is_not_charged() -> None:
    plain = running(pool=None, flavor="none", units=0, devices=())
    assert charge(plain, flat(EURO), NOON + HOUR) == ()
    assert cost(plain, (), NOON + HOUR).rate_text == "no GPU, no charge"


def test_a_closed_lease_is_charged_to_its_close_and_no_further() -> None:
    closed = running(state=LeaseState.closed, closed_at=NOON + HOUR)
    assert money(charge(closed, flat(EURO), NOON + 5 * HOUR)) == EURO
    # A clock that stepped back makes no money and no negative time.
    odd = running(closed_at=NOON - HOUR)
    (line,) = charge(odd, flat(EURO), NOON - HOUR)
    assert (line.start, line.end, line.seconds, line.amount_micro) == (NOON, NOON, 0, 0)


def test_a_stop_that_takes_too_long_is_the_sites_own() -> None:
    stopping = running(state=LeaseState.stopping, stop_asked_at=NOON + HOUR)
    limit = timedelta(minutes=5)
    lines = charge(stopping, flat(EURO), NOON + 2 * HOUR, stop_limit=limit)
    assert [(line.team, line.user, line.seconds) for line in lines] == [
        ("vision", "user-L1", 3900),
        (SITE, SITE_USER, 3300),
    ]
    assert money(lines) == 2 * EURO
    live = cost(stopping, flat(EURO), NOON + 2 * HOUR, stop_limit=limit)
    assert live.so_far_micro == lines[0].amount_micro


def test_the_panel_shows_what_would_be_posted_now() -> None:
    now = NOON + timedelta(minutes=45)
    live = cost(running(), flat(4_200_000), now)
    assert live.so_far_micro == 3_150_000
    assert (live.rate_text, live.so_far_text) == ("EUR 4.20 / h", "EUR 3.15")
    unpriced = cost(running(), flat(None), now)
    assert (unpriced.so_far_micro, unpriced.rate_text) == (None, "not priced")
    assert unpriced.so_far_text == "not priced"
    waiting = cost(a_lease(), flat(EURO), now)
    assert (waiting.so_far_micro, waiting.price_micro_per_hour) == (0, EURO)


@given(
    price=st.integers(0, 200 * EURO),
    end=instants,
    cuts=st.lists(instants, max_size=8),
    choices=st.lists(prices, min_size=1, max_size=4),
)
def test_splitting_anywhere_keeps_the_sum(
    price: int, end: datetime, cuts: list[datetime], choices: list[int | None]
) -> None:
    whole = charge(running(), flat(price, hours=9999), end)
    split = charge(running(), flat(price, hours=9999), end, cuts=cuts)
    assert money(split) == money(whole) == settle(accrue(price, whole_seconds(NOON, end)))
    assert sum(line.seconds for line in split) == whole[0].seconds
    for line in split:
        if line.seconds:
            assert abs(line.amount_micro * 3600 - price * line.seconds) <= 3600  # type: ignore[operator]
    spans = stepped(cuts, choices)
    lines = charge(running(), spans, end)
    assert [line.start for line in lines[1:]] == [line.end for line in lines[:-1]]
    assert (lines[0].start, lines[-1].end) == (NOON, max(end, NOON))
    assert all((line.amount_micro is None) == (line.price_micro_per_hour is None) for line in lines)


@given(
    end=instants,
    change=instants,
    old=st.integers(0, 99 * EURO),
    new=prices,
    cuts=st.lists(instants, max_size=4),
)
def test_a_price_change_leaves_the_money_before_it(
    end: datetime, change: datetime, old: int, new: int | None, cuts: list[datetime]
) -> None:
    before = charge(running(), flat(old, hours=9999), end, cuts=[change, *cuts])
    after = charge(running(), stepped([change], [old, new]), end, cuts=[change, *cuts])
    assert [line for line in before if line.start < change] == [
        line for line in after if line.start < change
    ]


@given(
    ends=st.lists(instants, min_size=1, max_size=6),
    cuts=st.lists(instants, min_size=1, max_size=5),
    choices=st.lists(prices, min_size=1, max_size=3),
    data=st.data(),
)
def test_parts_of_a_window_add_up_to_the_window_in_any_order(
    ends: list[datetime], cuts: list[datetime], choices: list[int | None], data: st.DataObject
) -> None:
    lines = [
        line
        for number, end in enumerate(ends)
        for line in charge(running(id=f"L{number}"), stepped(cuts[:1], choices), end)
    ]
    shuffled = data.draw(st.permutations(lines))
    edges = [NOON, *sorted(set(cuts)), NOON + 9999 * HOUR]
    parts = [
        part
        for start, end in pairwise(edges)
        for line in shuffled
        if (part := clip(line, start, end))
    ]
    assert money(parts) == money(lines)
    assert sum(part.seconds for part in parts) == sum(line.seconds for line in lines)
    assert all(part.seconds >= 0 and (part.amount_micro or 0) >= 0 for part in parts)


def test_a_window_beside_a_posting_takes_nothing_of_it() -> None:
    (line,) = charge(running(), flat(EURO), NOON + HOUR)
    assert clip(line, NOON - HOUR, NOON) is None
    assert clip(line, NOON + HOUR, NOON + 2 * HOUR) is None
    assert clip(line, NOON - HOUR, NOON + 2 * HOUR) == line
    (empty,) = charge(running(), flat(EURO), NOON)
    assert clip(empty, NOON, NOON + HOUR) == empty
    assert clip(empty, NOON - HOUR, NOON) is None


@given(
    amounts=st.lists(st.integers(-(10**12), 10**12), max_size=20),
    digits=st.integers(0, 6),
)
def test_shown_lines_add_up_to_the_shown_total(amounts: list[int], digits: int) -> None:
    unit = 10 ** (6 - digits)
    shown = footed(amounts, digits)
    total = sum(amounts)
    assert all(amount % unit == 0 for amount in shown)
    assert all(abs(amount - exact) < unit for amount, exact in zip(shown, amounts, strict=True))
    assert abs(sum(shown) - total) * 2 <= unit
    assert footed(amounts, 6) == tuple(amounts)


def test_the_unit_that_is_left_goes_to_the_line_that_lost_most() -> None:
    assert footed([1_004_000, 1_003_000, 1_003_000], 2) == (1_010_000, 1_000_000, 1_000_000)
    assert footed([5_000, 0], 2) == (0, 0)
    assert footed([15_000], 2) == (20_000,)
