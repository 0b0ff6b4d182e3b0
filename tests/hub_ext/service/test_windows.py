"""Days and months begin at midnight where the policy says, whatever the clocks do there."""

from datetime import UTC, datetime, timedelta

import pytest

from hub_ext.errors import RefusedError
from hub_ext.service.basis.windows import window

NOW = datetime(2026, 11, 30, 22, 30, tzinfo=UTC)


def test_a_day_begins_at_local_midnight() -> None:
    assert window("today", NOW, "UTC").start == datetime(2026, 11, 30, tzinfo=UTC)
    assert window("today", NOW, "Asia/Tokyo").start == datetime(2026, 11, 30, 15, tzinfo=UTC)


def test_a_month_is_named_and_ends_where_the_next_begins() -> None:
    found = window("month", NOW, "Europe/Paris")
    assert found.title == "November 2026"
    assert found.start == datetime(2026, 10, 31, 23, tzinfo=UTC)
    assert found.end == datetime(2026, 11, 30, 23, tzinfo=UTC)
    assert window("last-month", NOW, "Europe/Paris").end == found.start
    assert window("month", NOW, "Asia/Tokyo").title == "December 2026"


def test_a_month_with_a_clock_change_has_an_hour_more() -> None:
    october = window("2026-10", NOW, "Europe/Paris")
    assert october.end - october.start == timedelta(days=31, hours=1)


def test_days_reach_back_from_now() -> None:
    found = window("7d", NOW, "UTC")
    assert (found.start, found.end) == (NOW - timedelta(days=7), NOW)


def test_weeks_begin_on_monday_and_hours_reach_back() -> None:
    # The 30th of November 2026 is a Monday.
    assert window("week", NOW, "UTC").start == datetime(2026, 11, 30, tzinfo=UTC)
    last = window("lastweek", NOW, "UTC")
    assert (last.start, last.end) == (
        datetime(2026, 11, 23, tzinfo=UTC),
        datetime(2026, 11, 30, tzinfo=UTC),
    )
    assert window("yesterday", NOW, "UTC").end == window("today", NOW, "UTC").start
    assert window("24h", NOW, "UTC").start == NOW - timedelta(days=1)
    assert window("lastmonth", NOW, "UTC") == window("last-month", NOW, "UTC").model_copy(
        update={"name": "lastmonth"}
    )


@pytest.mark.parametrize(
    "name",
    [
        "2026-11-01,2026-11-08",
        "2026-11-01T00:00:00Z,2026-11-08T01:00:00+01:00",
        "1793491200,1794096000",
    ],
)
def test_a_stretch_may_be_named_by_its_two_ends(name: str) -> None:
    found = window(name, NOW, "UTC")
    assert (found.start, found.end) == (
        datetime(2026, 11, 1, tzinfo=UTC),
        datetime(2026, 11, 8, tzinfo=UTC),
    )


@pytest.mark.parametrize(
    "name",
    [
        *("", "0d", "401d", "0h", "9999d", "2026-13", "2026-00", "x" * 500, "\u0661d", "9999"),
        *("2026-11-08,2026-11-01", "2026-11-01,", ",", "2025-01-01,2026-11-01", "1,2,3"),
        *("2026-11-01T00:00,2026-11-08T00:00", "99999999999,99999999999"),
    ],
)
def test_rubbish_is_refused_with_what_can_be_asked(name: str) -> None:
    with pytest.raises(RefusedError, match="Use today, yesterday"):
        window(name, NOW, "UTC")


def test_the_last_year_that_dates_hold_is_no_fault() -> None:
    assert window("9999-12", NOW, "UTC").start < window("9999-12", NOW, "UTC").end
