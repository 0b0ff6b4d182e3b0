"""Where a team's month is going, from the ledger itself: exact so far, honest about the rest."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from hub_ext.errors import RefusedError
from hub_ext.lease.outlook import TeamOutlook
from tests.support.governing import POLICY, Site, site_in

BUDGET = POLICY + 'budgets:\n  purse: {team: vision, amount: "18"}\n'
SLICE = 720_000
"""A slice's price an hour in micro-euros."""

FIRST, UNTIL = datetime(2026, 5, 1, tzinfo=UTC), datetime(2026, 11, 20, tzinfo=UTC)
LAST_DAY = 30
DAY = timedelta(days=1)


def each_day(site: Site, first: datetime, until: datetime) -> None:
    """Let vera hold a slice for an hour every morning."""
    day = first
    while day < until:
        site.now = day + timedelta(hours=9)
        site.report_devices()
        grant = site.run("vera", "small")
        site.later(3600)
        site.stop(grant)
        day += DAY
    site.now = until
    site.report_devices()


def read_all(site: Site) -> int:
    turns = 1
    while site.governor.read_past_days(now=site.now):
        turns += 1
    return turns


def told(site: Site, team: str = "vision") -> TeamOutlook:
    return site.governor.outlook(team, now=site.now)


@pytest.fixture(scope="module")
def half_a_year(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site_in(tmp_path_factory.mktemp("year") / "state", policy=BUDGET) as site:
        each_day(site, FIRST, UNTIL)
        yield site


def test_a_steady_team_is_foretold_to_the_cent_with_a_band_of_its_own_past(
    half_a_year: Site,
) -> None:
    before = told(half_a_year)
    assert (before.point_micro, before.low_micro) == (LAST_DAY * SLICE, None)
    assert "Roughly" in before.words
    assert read_all(half_a_year) > 10
    said = told(half_a_year)
    assert said.spent_micro == 19 * SLICE
    assert said.committed_micro == 0
    assert said.point_micro == said.low_micro == LAST_DAY * SLICE
    # In its first month it was foretold from three weeks, and a little too low.
    assert said.high_micro is not None
    assert LAST_DAY * SLICE < said.high_micro < 31 * SLICE
    assert said.month == "2026-11"
    assert "four times in five" in said.words


def test_the_day_a_budget_is_spent_is_foretold_and_its_figures_are_the_budgets(
    half_a_year: Site,
) -> None:
    read_all(half_a_year)
    said = told(half_a_year)
    (row,) = half_a_year.governor.budgets(("vision",), now=half_a_year.now)
    assert row.spent_micro == said.spent_micro
    (gone,) = said.runs_out
    # EUR 18 pay for 25 days of the month.
    assert (gone.budget, gone.first, gone.last) == (
        "purse",
        date(2026, 11, 25),
        date(2026, 11, 25),
    )
    assert "Budget purse will be spent on 2026-11-25" in said.words


def test_what_runs_is_committed_and_moves_to_spent_as_time_passes(tmp_path: Path) -> None:
    with site_in(tmp_path / "state", policy=BUDGET) as site:
        each_day(site, UNTIL - 15 * DAY, UNTIL)
        site.run("vera", "small")
        at_first = told(site)
        assert at_first.committed_micro == SLICE
        site.later(1800)
        later = told(site)
        assert later.committed_micro == SLICE // 2
        assert later.spent_micro == at_first.spent_micro + SLICE // 2
        assert later.point_micro is not None
        assert later.point_micro >= later.spent_micro + later.committed_micro


def test_days_on_which_something_still_runs_are_not_read_as_past(tmp_path: Path) -> None:
    with site_in(tmp_path / "state", policy=BUDGET) as site:
        each_day(site, datetime(2026, 10, 1, tzinfo=UTC), datetime(2026, 10, 4, tzinfo=UTC))
        site.run("vera", "small")
        site.now = UNTIL
        read_all(site)
        assert sorted(site.governor._past_days._days) == [date(2026, 10, n) for n in (1, 2, 3)]


def test_a_charge_over_midnight_is_split_at_the_organisations_midnight(tmp_path: Path) -> None:
    policy = BUDGET.replace("timezone: UTC", "timezone: Asia/Kolkata")
    with site_in(tmp_path / "state", policy=policy) as site:
        # Half past eighteen is midnight there, and the month's end on the thirtieth.
        site.now = datetime(2026, 11, 30, 18, 0, tzinfo=UTC)
        site.report_devices()
        site.run("vera", "small")
        site.later(2400)
        said = told(site)
        assert (said.month, said.spent_micro) == ("2026-12", SLICE // 6)
        assert said.committed_micro == SLICE // 3


def test_a_new_team_has_no_forecast_and_is_told_when(tmp_path: Path) -> None:
    with site_in(tmp_path / "state", policy=BUDGET) as site:
        assert read_all(site) == 1
        said = told(site)
        assert (said.spent_micro, said.point_micro, said.runs_out) == (0, None, ())
        assert said.words == "EUR 0.00 so far. No forecast before 10 more days with a charge."


def test_a_team_that_the_policy_does_not_have_is_refused(tmp_path: Path) -> None:
    with site_in(tmp_path / "state") as site, pytest.raises(RefusedError) as caught:
        told(site, "nobody")
    assert caught.value.code == "no-such-team"
