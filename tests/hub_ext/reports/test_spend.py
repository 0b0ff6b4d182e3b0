"""Spend told apart by any words: rows foot, use never stands without owner and cost."""

from collections.abc import Mapping
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from hub_ext.lease import Amount, LeaseId, Posting, ProjectName, TeamName, UserName
from hub_ext.lease.spend import SpendDimension, SpendRow
from hub_ext.metering import SITE, SITE_USER, Use
from hub_ext.reports.spend import DIMENSIONS, LeaseFacts, Part, pieces, rows
from tests.support.ledger_parts import NOON, a_posting

HOUR = timedelta(hours=1)
DAY = Part(NOON, NOON + 24 * HOUR, {})


def leads(names: Mapping[str, str | None]) -> tuple[str, ...]:
    return ("lena",) if names.get("team") == "vision" else ()


def use(lease_id: str, sampled_s: int, percent: int) -> dict[LeaseId, Use]:
    known = LeaseId(lease_id)
    found = Use(
        lease_id=known,
        sampled_s=sampled_s,
        percent_seconds=sampled_s * percent,
        peak_percent=percent,
    )
    return {known: found}


def table(
    *lines: Posting,
    by: tuple[SpendDimension, ...] = ("team",),
    parts: tuple[Part, ...] = (DAY,),
    facts: Mapping[LeaseId, LeaseFacts] | None = None,
) -> tuple[tuple[SpendRow, ...], SpendRow]:
    return rows(pieces(lines, facts or {}, parts), by, leads)


def test_a_row_has_its_owner_its_cost_and_its_use_side_by_side() -> None:
    line = a_posting("L1", 0, 3600, team=TeamName("vision"), amount_micro=4_200_000)
    (row,), _total = table(line, parts=(DAY._replace(used=use("L1", 1800, 50)),))
    assert row.owners == ("lena",)
    assert row.amounts == (Amount(currency="EUR", micro=4_200_000),)
    assert (row.utilised_percent, row.unsaid) == (50, "")
    # Half of the time was measured, and half of that busy: 2.10 for a quarter of an hour.
    assert row.per_busy_hour == (Amount(currency="EUR", micro=8_400_000),)


def test_no_use_is_told_without_an_owner_or_a_cost() -> None:
    measured = DAY._replace(used=use("L1", 3600, 50))
    cases = {
        "no owner": a_posting("L1", team=TeamName("nobodys")),
        "no cost": a_posting("L1", team=TeamName("vision"), amount_micro=None),
        "not measured": a_posting("L2", team=TeamName("vision")),
    }
    for unsaid, line in cases.items():
        (row,), _total = table(line, parts=(measured,))
        assert (row.unsaid, row.utilised_percent, row.busy_unit_s) == (unsaid, None, 0)
        assert row.per_busy_hour == ()


def test_what_nobody_labelled_is_a_row_of_its_own_and_the_last() -> None:
    facts = {LeaseId("L1"): LeaseFacts(model="h200-141gb", task_type="training")}
    found, total = table(a_posting("L1"), a_posting("L2"), by=("taskType", "model"), facts=facts)
    assert [row.names for row in found] == [
        {"taskType": "training", "model": "h200-141gb"},
        {"taskType": None, "model": None},
    ]
    assert total.leases == 2


def test_months_are_told_apart_to_the_second() -> None:
    line = a_posting("L1", 0, 7200, amount_micro=7_200)
    parts = (
        Part(NOON, NOON + HOUR / 2, {}, "2026-11"),
        Part(NOON + HOUR / 2, NOON + 9 * HOUR, {}, "2026-12"),
    )
    found, total = table(line, by=("month",), parts=parts)
    assert [(row.names["month"], row.held_s) for row in found] == [
        ("2026-11", 1800),
        ("2026-12", 5400),
    ]
    assert sum(row.amounts[0].micro for row in found) == total.amounts[0].micro == 7_200


def test_what_the_site_pays_is_nobodys_use() -> None:
    mine = a_posting("L1", 0, 600, team=TeamName("vision"))
    late = a_posting("L1", 600, 900, team=SITE, user=SITE_USER, project=None)
    found, _total = table(mine, late, parts=(DAY._replace(used=use("L1", 900, 100)),))
    by_team = {row.names["team"]: row for row in found}
    assert by_team["vision"].measured_unit_s == by_team["vision"].unit_s
    assert by_team[SITE].unsaid == "not measured"


lines = st.lists(
    st.builds(
        lambda n, team, project, user, end, micro, code: a_posting(
            f"L{n}",
            0,
            end,
            team=TeamName(team),
            project=ProjectName(project),
            user=UserName(user),
            amount_micro=micro,
            currency=code,
        ),
        st.integers(0, 10**9),
        st.sampled_from(["vision", "speech"]),
        st.sampled_from(["maps", "words"]),
        st.sampled_from(["vera", "sam"]),
        st.integers(0, 90_000),
        st.none() | st.integers(0, 10**12),
        st.sampled_from(["EUR", "CHF"]),
    ),
    max_size=8,
    unique_by=lambda line: line.lease_id,
)


@given(lines, st.lists(st.sampled_from(DIMENSIONS), unique=True, max_size=4), st.integers(0, 100))
def test_rows_add_up_to_the_total_whatever_they_are_told_apart_by(
    known: list[Posting], by: list[SpendDimension], percent: int
) -> None:
    used = {one.lease_id: use(one.lease_id, 1000, percent)[one.lease_id] for one in known}
    found, total = rows(
        pieces(known, {}, (DAY._replace(used=used),)), tuple(by), lambda _names: ("ada",)
    )
    for code in ("EUR", "CHF"):
        assert _of(found, code) == _of((total,), code)
    for name in ("held_s", "unit_s", "unpriced_s", "leases", "unpriced_leases"):
        assert sum(getattr(row, name) for row in found) == getattr(total, name)
    assert len({tuple(row.names.items()) for row in found}) == len(found)


def _of(found: tuple[SpendRow, ...], code: str) -> int:
    return sum(one.micro for row in found for one in row.amounts if one.currency == code)
