"""A cheaper profile is named where the past tells enough, and is rarely too small."""

from datetime import timedelta

import pytest

from hub_ext.lease import TeamName
from hub_ext.lease.smaller import Smaller
from hub_ext.reports.rightsizing import Peak, Size, confidence_of, smaller
from tests.support.sized_people import GIB, SIZES, WHOLE, judged

HOUR_S = 3600


def peak(
    memory_gib: float | None = 9, busy_units: int = 80, hours: float = 2, share: float = 1
) -> Peak:
    held_s = int(hours * HOUR_S)
    memory = None if memory_gib is None else int(memory_gib * GIB)
    return Peak(memory, busy_units, int(held_s * share), held_s)


def hint(*past: Peak, wanted: Size = WHOLE, others: tuple[Size, ...] = SIZES) -> Smaller | None:
    return smaller(wanted, others, past, "EUR")


def test_the_cheapest_that_all_of_the_past_fits_in_is_named_with_what_it_saves() -> None:
    found = hint(peak(), peak(memory_gib=12), peak())
    assert found is not None
    assert (found.profile, found.saves_micro_per_hour) == ("1g.18gb", 3_400_000)
    assert (found.confidence, found.leases, found.measured_s) == ("low", 3, 6 * HOUR_S)
    assert found.words == (
        "Your last 3 leases of this project needed at most 12.0 GiB of GPU memory and 10 % of a "
        "GPU: 1g.18gb would do, for EUR 3.40 less an hour (a first hint: 6 h were measured). "
        "Choose as you need."
    )


def test_one_large_lease_and_one_busy_hour_count() -> None:
    large = hint(peak(), peak(), peak(memory_gib=45))
    assert large is not None
    assert large.profile == "3g.71gb"
    busy = hint(peak(), peak(), peak(busy_units=170))
    assert busy is not None
    assert busy.profile == "2g.35gb"
    assert hint(peak(), peak(), peak(busy_units=800)) is None


@pytest.mark.parametrize(
    "past",
    [
        [],
        [peak(), peak()],
        [peak(hours=0.2)] * 4,
        # Half of a life in the dark, or a memory that nobody read, is not known.
        [peak(share=0.4)] * 9,
        [peak(memory_gib=None)] * 9,
    ],
)
def test_nothing_is_said_where_too_little_was_measured(past: list[Peak]) -> None:
    assert hint(*past) is None


def test_only_the_same_model_and_team_count_and_small_savings_do_not() -> None:
    past = [peak()] * 5
    other_model = SIZES[0]._replace(model="a100-80gb")
    other_team = SIZES[0]._replace(team=TeamName("speech"))
    as_dear = SIZES[0]._replace(price_micro=3_900_000)
    for odd in (other_model, other_team, as_dear):
        assert hint(*past, others=(odd, WHOLE)) is None
    assert hint(*past, wanted=SIZES[0]) is None


def test_confidence_needs_leases_and_hours() -> None:
    hour = timedelta(hours=1)
    assert [
        confidence_of([peak(hours=each / hour)] * n)
        for n, each in ((2, hour * 9), (3, hour), (5, hour), (9, hour * 9), (10, hour * 2))
    ] == [None, "low", "fair", "fair", "high"]


def test_few_hints_would_have_been_too_small_and_they_save_money() -> None:
    told = [judged(seed, people=6, starts=20) for seed in range(3)]
    assert sum(one.hints for one in told) > 500
    for one in told:
        assert one.too_small_percent <= 5
        assert one.saved_percent >= 20
