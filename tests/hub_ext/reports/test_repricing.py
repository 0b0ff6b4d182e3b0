"""Another price over a month that is over: what it moves, and what it leaves alone."""

from datetime import timedelta

from hub_ext.budget import Period
from hub_ext.lease import Standing
from hub_ext.reports.repricing import Moved, Wish, repriced
from tests.support.ledger_parts import NOON, a_posting

MONTH = Period(NOON, NOON + timedelta(days=30))
DEARER = Wish("big", "gpu", 5_000_000)


def test_a_whole_gpu_moves_by_its_hours_and_two_of_them_twice() -> None:
    lines = [a_posting("L1"), a_posting("L2", flavor="gpu-2", price_micro_per_hour=8_400_000)]
    [moved] = repriced(lines, MONTH, DEARER)
    assert moved == Moved("vision", 7200, 8_400_000, 15_000_000)


def test_other_pools_flavors_and_times_stay_as_they_are() -> None:
    lines = [
        a_posting("L1", pool="cards"),
        a_posting("L2", flavor="1g.18gb"),
        a_posting("L3", -7200, -3600),
    ]
    assert repriced(lines, MONTH, DEARER) == ()


def test_what_was_borrowed_at_a_price_of_its_own_stays() -> None:
    lines = [
        a_posting("L1"),
        a_posting(
            "L2",
            standing=Standing.borrowed,
            price_micro_per_hour=1_000_000,
            amount_micro=1_000_000,
        ),
    ]
    [moved] = repriced(lines, MONTH, DEARER)
    assert moved.would == 5_000_000 + 1_000_000


def test_what_had_no_price_would_get_one() -> None:
    [moved] = repriced(
        [a_posting("L1", amount_micro=None, price_micro_per_hour=None)], MONTH, DEARER
    )
    assert (moved.was, moved.would) == (0, 5_000_000)


def test_the_price_that_was_in_force_moves_nothing() -> None:
    [moved] = repriced([a_posting("L1")], MONTH, Wish("big", "gpu", 4_200_000))
    assert moved.was == moved.would
