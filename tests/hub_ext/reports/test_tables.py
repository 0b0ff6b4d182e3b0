"""Tables foot, name what is not priced or not known, and never add two currencies."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from hub_ext.lease import LeaseId, Posting, ProfileName, ProjectName, TeamName, Usage, UserName
from hub_ext.metering import SITE, SITE_USER, Use
from hub_ext.reports.tables import Asked, Dimension, usage
from tests.support.ledger_parts import NOON, SECOND, a_posting

HOUR = timedelta(hours=1)
DAY = Asked("all", NOON, NOON + 24 * HOUR, NOON + 24 * HOUR, "EUR")
ALL: tuple[Dimension, ...] = ("team", "project", "user", "profile")


def table(*lines: Posting, asked: Asked = DAY, by: tuple[Dimension, ...] = ALL) -> Usage:
    return usage(lines, {}, asked, by=by)


def use(lease_id: str, sampled_s: int, percent: int) -> Use:
    return Use(
        lease_id=LeaseId(lease_id),
        sampled_s=sampled_s,
        percent_seconds=sampled_s * percent,
        peak_percent=percent,
    )


def test_lines_of_one_lease_are_one_row() -> None:
    found = table(a_posting(end=100), a_posting(start=100, end=3600))
    (row,) = found.rows
    assert (row.held_s, row.start, row.end) == (3600, NOON, NOON + HOUR)
    assert row.amount_micro == 4_200_000 * 100 // 3600 + 4_200_000 * 3500 // 3600
    assert found.sums[0].profile == "one-gpu"
    assert found.total.leases == 1


def test_what_lies_outside_the_window_is_cut_off() -> None:
    half = DAY._replace(start=NOON + HOUR / 2)
    (row,) = table(a_posting(), a_posting("L2", -99, 0), asked=half).rows
    assert (row.held_s, row.amount_micro) == (1800, 2_100_000)


def test_what_has_no_price_is_counted_and_not_free() -> None:
    found = table(
        a_posting("L1", 0, 100, amount_micro=None, price_micro_per_hour=None),
        a_posting("L2", 0, 50, amount_micro=None, price_micro_per_hour=None),
        a_posting("L2", 50, 3600, amount_micro=7),
    )
    assert [row.amount_micro for row in found.rows] == [None, 7]
    assert (found.total.unpriced_leases, found.total.unpriced_s) == (2, 150)
    assert (found.total.amount_micro, found.sums[0].amount_micro) == (7, None)


def test_currencies_stand_beside_each_other() -> None:
    found = table(
        a_posting("L1", amount_micro=5),
        a_posting("L2", amount_micro=7, currency="CHF"),
        a_posting("L3", amount_micro=6),
        by=("team",),
    )
    (team,) = found.sums
    assert [(one.currency, one.micro) for one in team.amounts] == [("CHF", 7), ("EUR", 11)]
    assert team.amount_micro == 11
    assert [row.currency for row in found.rows] == ["EUR", "CHF", "EUR"]


def test_use_is_a_mean_by_units_and_unknown_stays_unknown() -> None:
    lines = [a_posting("L1"), a_posting("L2", units=120), a_posting("L3")]
    used = {LeaseId("L1"): use("L1", 1800, 100), LeaseId("L2"): use("L2", 9999, 20)}
    found = usage(lines, used, DAY, running={LeaseId("L2")})
    assert [(row.utilised_percent, row.measured_s, row.open) for row in found.rows] == [
        (100, 1800, False),
        (20, 3600, True),
        (None, 0, False),
    ]
    assert found.total.measured_s == 5400
    assert found.total.utilised_percent == (1800 * 840 * 100 + 3600 * 120 * 20) // (
        1800 * 840 + 3600 * 120
    )


def test_the_sites_own_part_is_a_row_of_its_own() -> None:
    site = a_posting(start=3600, end=4000, team=SITE, user=SITE_USER)
    used = {LeaseId("L1"): use("L1", 4000, 50)}
    found = usage([a_posting(), site], used, DAY)
    assert [(row.team, row.measured_s) for row in found.rows] == [("vision", 3600), (SITE, 0)]
    assert found.total.leases == 1
    assert [one.team for one in found.sums] == [SITE, "vision"]


def test_nothing_held_is_an_empty_table() -> None:
    found = table()
    assert (found.rows, found.sums) == ((), ())
    assert (found.total.leases, found.total.amount_micro, found.total.utilised_percent) == (
        0,
        None,
        None,
    )


postings = st.builds(
    lambda number, start, length, amount, team, project, user, profile, currency: a_posting(
        f"L{number}",
        start,
        start + length,
        amount_micro=amount,
        team=TeamName(team),
        project=project and ProjectName(project),
        user=UserName(user),
        profile=ProfileName(profile),
        currency=currency,
    ),
    st.integers(1, 30),
    st.integers(-9000, 90_000),
    st.integers(0, 9000),
    st.none() | st.integers(0, 10**9),
    st.sampled_from(["vision", "speech", SITE]),
    st.none() | st.sampled_from(["p1", "p2"]),
    st.sampled_from(["ann", "bob"]),
    st.sampled_from(["small", "large"]),
    st.sampled_from(["EUR", "CHF"]),
)


@given(
    lines=st.lists(postings, max_size=15),
    by=st.lists(st.sampled_from(ALL), unique=True).map(tuple),
    cut=st.integers(1, 86_399),
    data=st.data(),
)
def test_everything_adds_up_whatever_the_order_and_the_window(
    lines: list[Posting], by: tuple[Dimension, ...], cut: int, data: st.DataObject
) -> None:
    found = table(*lines, by=by)
    for name in ("held_s", "unit_s", "unpriced_s", "measured_s"):
        assert sum(getattr(one, name) for one in found.sums) == getattr(found.total, name)
    for code in ("EUR", "CHF"):
        amounts = [
            sum(one.micro for one in part.amounts if one.currency == code)
            for part in (*found.sums, found.total)
        ]
        of_rows = sum(row.amount_micro or 0 for row in found.rows if row.currency == code)
        assert sum(amounts[:-1]) == amounts[-1] == of_rows
    assert table(*data.draw(st.permutations(lines)), by=by).sums == found.sums
    middle = NOON + cut * SECOND
    one = table(*lines, asked=DAY._replace(end=middle)).total
    two = table(*lines, asked=DAY._replace(start=middle)).total
    assert one.held_s + two.held_s == found.total.held_s
    assert (one.amount_micro or 0) + (two.amount_micro or 0) == (found.total.amount_micro or 0)
