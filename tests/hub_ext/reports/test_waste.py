"""Waste from charges and quiet time: never more than was held, never twice, unknown is none."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from hub_ext.lease import Cause, LeaseId, Posting
from hub_ext.lease.reserving import UNUSED
from hub_ext.lease.waste import WasteDimension, WasteSheet
from hub_ext.metering import SITE, Quiet
from hub_ext.reports.tables import Asked
from hub_ext.reports.waste import Facts, shares, sheet
from tests.support.ledger_parts import NOON, SECOND, a_posting

HOUR = 3600
DAY = Asked("all", NOON - timedelta(hours=1), NOON + timedelta(days=1), NOON, "EUR")
NOTHING = Facts(quiet={}, noticed_s={})


def of(lines: list[Posting], facts: Facts = NOTHING, asked: Asked = DAY) -> WasteSheet:
    by: tuple[WasteDimension, ...] = ("team",)
    return sheet(shares(lines, facts, asked, by), asked, by)


def found(made: WasteSheet) -> dict[str, tuple[int, int]]:
    """By kind: GPU-seconds and micro-euros."""
    return {
        one.kind: (one.unit_s // 840, sum(amount.micro for amount in one.amounts))
        for one in made.totals
        if one.unit_s
    }


def an_hour(lease: str = "L1", **changes: object) -> Posting:
    return a_posting(lease, 0, HOUR, units=840, amount_micro=3_600_000, **changes)


def quiet(**changes: int) -> dict[LeaseId, Quiet]:
    told = {"devices": 1, "sampled_s": HOUR, "idle_s": 0, "hoarded_s": 0, "peak_percent": 90}
    return {LeaseId("L1"): Quiet(**(told | changes))}


def test_idle_time_costs_its_part_of_the_charge() -> None:
    made = of([an_hour()], Facts(quiet=quiet(idle_s=1800, hoarded_s=600), noticed_s={}))
    assert found(made) == {"idle": (1800, 1_800_000), "hoarded": (600, 600_000)}
    assert made.held_total.unit_s == HOUR * 840
    assert made.held_total.measured_unit_s == HOUR * 840


def test_what_nobody_measured_is_unknown_and_no_waste() -> None:
    made = of([an_hour()])
    assert found(made) == {}
    assert made.held_total.measured_unit_s == 0


def test_what_was_never_used_is_that_and_nothing_else() -> None:
    facts = Facts(quiet=quiet(idle_s=HOUR, peak_percent=3), noticed_s={LeaseId("L1"): 300})
    assert found(of([an_hour()], facts)) == {"never_used": (HOUR, 3_600_000)}


def test_of_one_that_began_before_the_window_nobody_can_say_so() -> None:
    late = DAY._replace(start=NOON + 1800 * SECOND)
    facts = Facts(quiet=quiet(idle_s=1800, sampled_s=1800, peak_percent=0), noticed_s={})
    assert found(of([an_hour()], facts, late)) == {"idle": (1800, 1_800_000)}


def test_the_time_of_a_notice_is_told_apart() -> None:
    facts = Facts(quiet=quiet(idle_s=1800), noticed_s={LeaseId("L1"): 300})
    assert found(of([an_hour(cause=Cause.culled)], facts)) == {
        "notice": (300, 300_000),
        "idle": (1500, 1_500_000),
    }


def test_reserved_and_unused_has_its_own_kind_and_holds_are_charged_to_nobody() -> None:
    kept = an_hour("r-1", flavor=UNUSED)
    made = of([kept], NOTHING._replace(holds=(an_hour("L9"),)))
    assert found(made) == {
        "reserved_unused": (HOUR, 3_600_000),
        "queue": (HOUR, 3_600_000),
    }
    assert made.held_total.amounts[0].micro == 3_600_000


def test_without_a_price_it_is_time_and_no_money() -> None:
    line = a_posting("L1", 0, HOUR, units=840, amount_micro=None, price_micro_per_hour=None)
    made = of([line], Facts(quiet=quiet(idle_s=1800), noticed_s={}))
    (row,) = made.rows
    assert (row.kind, row.amounts, row.unpriced_unit_s) == ("idle", (), 1800 * 840)


def test_what_the_site_pays_is_nobodys_waste() -> None:
    made = of([an_hour(team=SITE)], Facts(quiet=quiet(idle_s=HOUR), noticed_s={}))
    assert found(made) == {}


def test_what_was_saved_is_an_estimate_with_its_rule() -> None:
    made = of([], NOTHING._replace(saved=(an_hour(),)))
    assert made.saved_total.amounts[0].micro == 3_600_000
    assert "estimate" in made.saved_rule
    assert "8 hours" in made.saved_rule


seconds = st.integers(0, 2 * HOUR)


@given(
    st.lists(
        st.tuples(st.integers(1, HOUR), st.integers(0, 10**7) | st.none(), st.integers(1, 4)),
        min_size=1,
        max_size=4,
    ),
    st.tuples(seconds, seconds, seconds, seconds, st.integers(0, 100)),
    st.integers(0, 2 * HOUR),
)
def test_kinds_are_never_more_than_what_was_held(
    parts: list[tuple[int, int | None, int]],
    told: tuple[int, int, int, int, int],
    cut_s: int,
) -> None:
    lines, at = [], 0
    for number, (length, micro, _gpus) in enumerate(parts):
        team = ("vision", "speech")[number % 2]
        price = None if micro is None else 1
        lines.append(
            a_posting(
                "L1",
                at,
                at + length,
                team=team,
                units=840 * parts[0][2],
                seconds=length,
                amount_micro=micro,
                price_micro_per_hour=price,
            )
        )
        at += length
    sampled, idle, hoarded, noticed, peak = told
    quiets = {LeaseId("L1"): Quiet(parts[0][2], sampled, idle, hoarded, peak)}
    facts = Facts(quiet=quiets, noticed_s={LeaseId("L1"): noticed})
    made = of(lines, facts, DAY._replace(end=NOON + (cut_s + 1) * SECOND))
    for held in made.held:
        mine = [row for row in made.rows if row.names == held.names]
        assert sum(row.unit_s for row in mine) <= held.unit_s
        assert held.measured_unit_s <= held.unit_s
        wasted = sum(amount.micro for row in mine for amount in row.amounts)
        assert wasted <= sum(amount.micro for amount in held.amounts)
    assert all(amount.micro >= 0 for row in made.rows for amount in row.amounts)
