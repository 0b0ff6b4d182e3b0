"""An export adds up to the ledger, passes a judge of others, and planted errors are caught."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from focus_data_toolkit.model.validator import lint_focus_1_4_structure as lint
from hypothesis import given
from hypothesis import strategies as st

from hub_ext.lease import LeaseId, Posting, ProjectName, TeamName, UserName
from hub_ext.lease.reserving import CORRECTION
from hub_ext.metering import SITE, SITE_USER, Use, charge
from hub_ext.policy.model import Policy
from hub_ext.policy.model.statement import Statement
from hub_ext.policy.prices import PriceSpan
from hub_ext.reports import plain
from hub_ext.reports.focus import Row, Terms, columns, money_of, rows
from hub_ext.reports.focuschecks import faults
from hub_ext.units import MICRO, settle
from tests.support.ledger_parts import NOON, a_lease, a_posting
from tests.support.policies import policy

OCTOBER = datetime(2026, 10, 1, tzinfo=UTC)
NEW_YEAR = datetime(2027, 1, 1, tzinfo=UTC)
LATE = 43 * 3600 + 1000
"""Seconds after noon of 30 November: in December everywhere."""


def terms(policy: Policy, version: Any = "1.4", **changes: Any) -> Terms:
    given = Terms(policy, version, lambda user: f"p-{user}", {}, OCTOBER, NEW_YEAR)
    return given._replace(**changes)


def showing(zone: str = "Europe/Paris", **statement: Any) -> Policy:
    changes = {"timezone": zone, "statement": Statement(**statement)}
    return policy().model_copy(update=changes)


def books(lines: list[Posting]) -> dict[str, Decimal]:
    return {code: Decimal(micro) / MICRO for code, micro in plain.sums(lines).items()}


@st.composite
def postings(draw: st.DrawFn) -> list[Posting]:
    lines = []
    for number in range(draw(st.integers(1, 6))):
        price = draw(st.none() | st.integers(0, 10**9))
        start = draw(st.integers(-(10**6), 10**6))
        seconds = draw(st.integers(1, 400_000))
        lines.append(
            a_posting(
                f"L{number}",
                start,
                start + seconds,
                team=TeamName(draw(st.sampled_from(["vision", "speech", SITE]))),
                currency=draw(st.sampled_from(["EUR", "USD"])),
                price_micro_per_hour=price,
                amount_micro=None
                if price is None
                else settle(price * seconds) + draw(st.integers(-1, 1)),
            )
        )
    return lines


@given(postings(), st.sampled_from(["UTC", "America/New_York", "Australia/Sydney"]))
def test_rows_add_up_to_the_ledger_and_pass_the_judge_of_others(
    lines: list[Posting], zone: str
) -> None:
    for statement in ({}, {"kind": "chargeback"}):
        made = rows(lines, terms(showing(zone, **statement)))
        assert faults(made, books(lines)) == ()
        assert {code: total for code, total in money_of(made).items() if total} == {
            code: total for code, total in books(lines).items() if total
        }
        report = lint("Cost and Usage", list(made))
        assert report.ok, report.messages()


@given(postings(), st.integers(-(10**6), 10**6))
def test_two_exports_add_up_to_one(lines: list[Posting], cut: int) -> None:
    at = NOON + timedelta(seconds=cut)
    whole = plain.sums(plain.clipped(lines, OCTOBER, NEW_YEAR))
    parts = [
        plain.sums(plain.clipped(lines, first, last))
        for first, last in ((OCTOBER, at), (at, NEW_YEAR))
    ]
    assert whole == {code: sum(part.get(code, 0) for part in parts) for code in whole}


def test_a_charge_over_the_end_of_a_month_is_two_rows_in_two_periods() -> None:
    line = a_posting(start=0, end=LATE)
    made = [one for one in rows([line], terms(showing())) if one["ChargeCategory"] == "Usage"]
    assert [one["BillingPeriodStart"] for one in made] == [
        "2026-10-31T23:00:00Z",
        "2026-11-30T23:00:00Z",
    ]
    assert made[0]["ChargePeriodEnd"] == made[1]["ChargePeriodStart"] == "2026-11-30T23:00:00Z"
    assert [one["ConsumedQuantity"] for one in made] == ["39600.0", f"{LATE - 39600}.0"]


def test_shown_amounts_are_billed_to_nobody_and_charged_ones_carry_their_statement() -> None:
    lines = [a_posting(), a_posting("L2", team=SITE, user=SITE_USER)]
    for one in rows(lines, terms(showing())):
        assert (one["BilledCost"], one["EffectiveCost"], one["InvoiceId"]) == ("0.0", "4.2", "")
    site, team = rows(lines, terms(showing(kind="chargeback")))
    assert (team["BilledCost"], team["InvoiceId"]) == ("4.2", "2026-11/vision")
    assert (site["BilledCost"], site["SubAccountType"]) == ("0.0", "Platform")


def test_what_had_no_price_is_a_row_of_its_own_and_not_for_free() -> None:
    line = a_posting(price_micro_per_hour=None, amount_micro=None)
    (row,) = rows([line], terms(showing()))
    assert (row["x_Priced"], row["ListUnitPrice"], row["SkuPriceId"]) == ("false", "", "")
    assert "not priced" in row["ChargeDescription"]
    assert (row["x_HeldSeconds"], row["x_LedgerAmountMicro"]) == ("3600", "")


def test_the_difference_of_rounding_is_one_line_and_said() -> None:
    lines = [
        a_posting(f"L{n}", 0, 1, price_micro_per_hour=1_000_000, amount_micro=278) for n in range(3)
    ]
    made = rows(lines, terms(showing()))
    (rest,) = [one for one in made if one["ChargeCategory"] == "Adjustment"]
    assert Decimal(rest["EffectiveCost"]) == Decimal("0.000834") - 3 * Decimal("0.000277777778")
    assert "Rounding" in rest["ChargeDescription"]


def test_use_stands_beside_the_charge_and_unknown_use_is_empty() -> None:
    used = {
        LeaseId("L1"): Use(
            lease_id=LeaseId("L1"), sampled_s=3000, percent_seconds=90000, peak_percent=70
        )
    }
    first, second = rows([a_posting(), a_posting("L2")], terms(showing(), used=used))
    assert (first["x_LeaseUtilisationPct"], first["x_LeaseSampledSeconds"]) == ("30", "3000")
    assert (second["x_LeaseUtilisationPct"], second["x_LeaseSampledSeconds"]) == ("", "")


def test_people_go_by_what_the_export_calls_them() -> None:
    line = a_posting(user=UserName("ada"), project=ProjectName("atlas"))
    (row,) = rows([line], terms(showing()))
    assert (row["x_UserId"], row["ResourceName"]) == ("p-ada", "p-ada/-")
    assert json.loads(row["Tags"])["project"] == "atlas"
    (nobody,) = rows([line], terms(showing(), person=lambda _user: None))
    assert "ada" not in json.dumps(nobody)


def test_an_export_of_1_2_has_the_names_of_1_2() -> None:
    (row,) = rows([a_posting()], terms(showing(), "1.2"))
    assert tuple(sorted(row)) == tuple(sorted(columns("1.2")))
    assert "ProviderName" in row
    assert "ServiceProviderName" not in row
    assert faults([row], books([a_posting()])) == ()


def test_a_lease_split_anywhere_exports_the_same_money() -> None:
    lease = a_lease(assigned_at=NOON, started_at=NOON, closed_at=NOON + timedelta(seconds=9001))
    spans = (PriceSpan(NOON, NEW_YEAR, 1_234_567),)
    whole = charge(lease, spans, NEW_YEAR)
    cut = charge(lease, spans, NEW_YEAR, cuts=[NOON + timedelta(seconds=n) for n in (1, 77, 8000)])
    sums = [money_of(rows(lines, terms(showing()))) for lines in (whole, cut)]
    assert sums[0] == sums[1]


def test_a_correction_is_a_row_of_its_class_over_the_time_of_what_it_corrects() -> None:
    reference = f"L1 {NOON.isoformat()}/{(NOON + timedelta(hours=1)).isoformat()}"
    lines = [
        a_posting(
            f"L1~7-{number}",
            start=LATE,
            end=LATE,
            flavor=CORRECTION,
            price_micro_per_hour=None,
            amount_micro=amount,
            corrects=reference,
        )
        for number, amount in enumerate((-4_200_000, 2_100_000))
    ]
    made = rows(lines, terms(showing()))
    assert faults(made, books(lines)) == ()
    assert lint("Cost and Usage", list(made)).ok
    for row in made:
        assert (row["ChargeClass"], row["ResourceId"]) == ("Correction", "L1")
        assert row["ChargePeriodStart"] == "2026-11-30T12:00:00Z"
        assert row["BillingPeriodStart"] == "2026-11-30T23:00:00Z"
    assert [row["EffectiveCost"] for row in made] == ["-4.2", "2.1"]


PLANTED: dict[str, Callable[[Row], Row]] = {
    "no cost": lambda row: row | {"EffectiveCost": ""},
    "a cost in words": lambda row: row | {"BilledCost": "four"},
    "an unknown currency": lambda row: row | {"BillingCurrency": "EUX"},
    "a currency in small letters": lambda row: row | {"BillingCurrency": "eur"},
    "no unit": lambda row: row | {"PricingUnit": ""},
    "tags that are no JSON": lambda row: row | {"Tags": "{project: atlas"},
    "an unknown service": lambda row: row | {"ServiceCategory": "GPUs"},
    "an unknown class": lambda row: row | {"ChargeClass": "Amended"},
    "a time in words": lambda row: row | {"ChargePeriodStart": "noon"},
    "an unknown category": lambda row: row | {"ChargeCategory": "Fee"},
    "a list cost a little off": lambda row: row | {"ListCost": "4.21"},
    "a list cost far off": lambda row: row | {"ListCost": "104.2"},
    "a contracted cost far off": lambda row: row | {"ContractedCost": "104.2"},
    "a time without a zone": lambda row: row | {"ChargePeriodEnd": "2026-11-30T13:00:00"},
    "an unknown pricing category": lambda row: row | {"PricingCategory": "Flat"},
    "a name without a sub account": lambda row: row | {"SubAccountId": ""},
    "a type without a resource": lambda row: row | {"ResourceId": ""},
    "an effective cost far off": lambda row: row | {"EffectiveCost": "104.2"},
    "a unit that is none": lambda row: row | {"PricingUnit": "GPU moons"},
    "an end before the start": lambda row: row | {"ChargePeriodEnd": "2026-11-30T11:00:00Z"},
    "all costs wrong alike": lambda row: (
        row | dict.fromkeys(("EffectiveCost", "ListCost", "ContractedCost"), "5")
    ),
    "a billed cost in a showback": lambda row: row | {"BilledCost": "4.2"},
}


@pytest.mark.parametrize("planted", PLANTED)
def test_planted_errors_are_caught_by_ours_or_by_the_judge_of_others(planted: str) -> None:
    (row,) = rows([a_posting()], terms(showing()))
    wrong = PLANTED[planted](row)
    assert wrong != row
    ours = faults([wrong], books([a_posting()]))
    theirs = lint("Cost and Usage", [wrong]).messages()
    assert ours or theirs


@pytest.mark.parametrize(
    "planted",
    [
        "an effective cost far off",
        "a unit that is none",
        "an end before the start",
        "all costs wrong alike",
        "a billed cost in a showback",
        "a name without a sub account",
        "a type without a resource",
    ],
)
def test_our_own_checks_catch_what_validators_miss(planted: str) -> None:
    (row,) = rows([a_posting()], terms(showing()))
    assert faults([PLANTED[planted](row)], books([a_posting()]))


def test_a_lost_row_is_a_difference_from_the_ledger() -> None:
    lines = [a_posting(), a_posting("L2")]
    made = rows(lines, terms(showing()))
    (words,) = faults(made[:1], books(lines))
    assert words == "EUR: the rows add up to 4.2, the ledger to 8.4"
