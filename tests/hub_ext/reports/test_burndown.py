"""A budget going down: past days add up to what is spent, the band opens from now on."""

from datetime import UTC, date, datetime, timedelta

import pytest

from hub_ext.budget import Period
from hub_ext.reports.burndown import Spent, burn_down

MARCH = Period(datetime(2026, 2, 28, 23, tzinfo=UTC), datetime(2026, 3, 31, 22, tzinfo=UTC))
"""743 hours in Paris."""

AT = datetime(2026, 3, 20, 11, tzinfo=UTC)
DAYS = {date(2026, 2, 1) + timedelta(days=n): 10_000_000 for n in range(47)}
"""Ten a day until the 19th of March."""

SPENT = Spent("team-month", 400_000_000, MARCH, 195_000_000)


def test_what_is_left_goes_down_by_what_each_day_cost() -> None:
    found = burn_down(SPENT, "EUR", "Europe/Paris", DAYS, [1000] * 9, AT)
    left = [mark.left // 1_000_000 for mark in found.past]
    assert left[:3] == [400, 390, 380]
    assert left[-2:] == [210, 205]
    assert found.left == 205_000_000
    assert found.past[0].at == MARCH.start


def test_an_even_pace_goes_by_real_hours() -> None:
    found = burn_down(SPENT, "EUR", "Europe/Paris", DAYS, None, AT)
    hours = (AT - MARCH.start) / timedelta(hours=1)
    assert found.even == pytest.approx(400_000_000 * (1 - hours / 743), abs=1)


def test_the_band_opens_from_now_to_the_end_and_never_closes() -> None:
    found = burn_down(SPENT, "EUR", "Europe/Paris", DAYS, [700, 800, 900, 1100, 1300], AT)
    assert found.ahead[0].low == found.ahead[0].high == found.left
    widths = [fan.high - fan.low for fan in found.ahead]
    assert widths == sorted(widths)
    assert found.ahead[-1].at == MARCH.end
    assert found.ahead[-1].low < found.left - 115_000_000 < found.ahead[-1].high


def test_without_a_forecast_nothing_lies_ahead() -> None:
    assert burn_down(SPENT, "EUR", "Europe/Paris", DAYS, None, AT).ahead == ()
