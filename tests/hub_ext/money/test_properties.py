"""What must hold of money whatever happens, each a property by its number; see the others beside.

04 is in `test_killed`, 14 in `test_told_once`, 16 in `test_subtraction`.
"""

import csv
import io
import tempfile
from collections import Counter, defaultdict
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

from focus_data_toolkit.model.validator import lint_focus_1_4_structure as lint
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hub_ext.budget import months
from hub_ext.lease import LeaseId, Posting
from hub_ext.lease.fleet import FleetSheet
from hub_ext.ledger.samples import FILE, Samples
from hub_ext.ledger.store import Ledger
from hub_ext.ledger.tally import Stretch
from hub_ext.metering import NO_TEAMS, charge, footed
from hub_ext.policy.model.budgets import Budget
from hub_ext.policy.prices import PriceSpan
from hub_ext.reports import conservation, plain
from hub_ext.reports.fleet import Installed, Out, Window, fleet
from hub_ext.reports.focus import Terms, money_of, rows
from hub_ext.reports.focuschecks import faults
from hub_ext.reports.journal import TICKS, balances, grants, journal, unbalanced
from hub_ext.reports.outlook import LEAST_ACTIVE, Now, outlook
from hub_ext.reports.tables import Asked
from hub_ext.units import accrue, settle, whole_seconds
from tests.hub_ext.money.books import (
    FIRST,
    LAST,
    SPAN_S,
    ZONES,
    Held,
    charged,
    in_utc,
    instants,
    leases,
    price_spans,
)
from tests.hub_ext.money.sampled import quiet_of, raw
from tests.support.ledger_parts import NOON, SECOND, a_posting
from tests.support.policies import policy

few = settings(max_examples=15)
"""For those that write to a disk."""


def money(lines: list[Posting] | tuple[Posting, ...]) -> dict[str, int]:
    return {code: micro for code, micro in plain.sums(lines).items() if micro}


def ledger_with(lines: list[Posting]) -> tuple[Ledger, tempfile.TemporaryDirectory[str]]:
    folder = tempfile.TemporaryDirectory()
    ledger = Ledger.open(Path(folder.name))
    with ledger.transaction() as tx:
        tx.post(lines, at=LAST)
    return ledger, folder


@few
@given(charged(), instants, instants)
def test_property_01_every_way_to_add_up_gives_the_ledgers_sum(
    lines: list[Posting], one: datetime, other: datetime
) -> None:
    start, end = sorted([one, other])
    assume(start < end)
    ledger, folder = ledger_with(lines)
    with folder, ledger.transaction() as tx:
        known = tx.postings(start=start, end=end)
        books = tx.sums(start=start, end=end)
        asked = Asked("all", start, end, end, "EUR")
        assert conservation.difference(known, books, asked) == ""
        assert conservation.disagreement(known, books, start, end) == ""
        for code in ("EUR", "GPUH"):
            kept = tx.charged(Stretch(start, end, code))
            assert sum(kept.of_team.values()) == books.get(code, 0)
            assert sum(sum(each.values()) for each in kept.in_team.values()) == books.get(code, 0)
        by_user: dict[str, int] = defaultdict(int)
        for user in {line.user for line in known}:
            for code, micro in tx.sums(start=start, end=end, user=user).items():
                by_user[code] += micro
        assert {code: micro for code, micro in by_user.items() if micro} == {
            code: micro for code, micro in books.items() if micro
        }
    ledger.close()


@given(
    st.integers(1, 4),
    st.lists(st.tuples(st.integers(0, 3), instants, instants, st.booleans()), max_size=6),
    st.integers(0, 10**8),
)
def test_property_02_held_unallocated_and_out_of_service_are_what_is_installed(
    gpus: int, taken: list[tuple[int, datetime, datetime, bool]], price: int
) -> None:
    end = NOON + timedelta(seconds=SPAN_S)
    lines, outs = [], []
    free: dict[int, datetime] = {}
    for number, (gpu, one, other, out) in enumerate(sorted(taken, key=lambda each: each[1])):
        # One GPU is taken by one at a time.
        first = max(min(one, other), free.get(gpu % gpus, NOON))
        last = max(one, other)
        if first >= last:
            continue
        free[gpu % gpus] = last
        if out:
            outs.append(Out("big", 840, first, last))
        else:
            seconds = whole_seconds(first, last)
            lines.append(
                a_posting(f"L{number}", start=0, end=0).model_copy(
                    update={"start": first, "end": last, "seconds": seconds, "amount_micro": 1}
                )
            )
    there = Installed("big", "h200-141gb", NOON, end, 840 * gpus, price * gpus, 0, FIRST)
    made = fleet([there], lines, outs, Window(NOON, end, end, "EUR"))
    assert made.difference == ""
    _adds_up(made)
    assert made.total.installed_unit_s == 840 * gpus * SPAN_S
    assert made.total.held_unit_s == sum(line.seconds * 840 for line in lines)
    assert made.total.beyond_unit_s == 0
    worth = settle(price * made.total.unallocated_unit_s // 840)
    (unallocated,) = made.total.unallocated_amounts
    # Parts of a second are held in no line, and nobody's in time: a few micro-units.
    slack = (len(taken) + 1) * (price // 3600 + 1)
    assert abs(unallocated.micro - worth) <= slack
    # What is held twice is found, by how much.
    twice = [*lines, *(line.model_copy(update={"lease_id": LeaseId("X")}) for line in lines * gpus)]
    wrong = fleet([there], twice, outs, Window(NOON, end, end, "EUR"))
    assert wrong.difference or not any(line.seconds for line in lines)
    _adds_up(wrong)


def _adds_up(made: FleetSheet) -> None:
    for row in (*made.rows, made.total):
        parts = row.held_unit_s + row.site_unit_s + row.out_unit_s + row.unallocated_unit_s
        assert parts == row.installed_unit_s + row.beyond_unit_s


@given(leases(), st.lists(instants, max_size=3))
def test_property_03_no_second_is_lost_or_charged_twice(held: Held, cuts: list[datetime]) -> None:
    lease = held.lease
    lines = held.lines(stop_limit=300 * SECOND, cuts=cuts)
    assert (lines[0].start, lines[-1].end) == (lease.assigned_at, lease.closed_at)
    for before, after in pairwise(lines):
        assert before.end == after.start
        assert before.start < before.end
    assert lease.assigned_at is not None
    assert lease.closed_at is not None
    whole = whole_seconds(lease.assigned_at, lease.closed_at)
    assert sum(line.seconds for line in lines) == whole
    for line in lines:
        stood = [one.standing for one in lease.stood if line.start < one.until]
        assert line.standing is (stood[0] if stood else lease.standing)


@few
@given(charged(), st.data())
def test_property_05_charges_that_come_twice_and_in_any_order_make_the_same_ledger(
    lines: list[Posting], data: st.DataObject
) -> None:
    ledger, folder = ledger_with(lines)
    by_lease = defaultdict(list)
    for line in lines:
        by_lease[line.lease_id].append(line)
    told = data.draw(st.permutations([*by_lease.values(), *list(by_lease.values())[:2]]))
    with tempfile.TemporaryDirectory() as name:
        again = Ledger.open(Path(name))
        for some in told:
            with again.transaction() as tx:
                tx.post(data.draw(st.permutations(some)), at=LAST)
        with folder, ledger.transaction() as one, again.transaction() as other:
            found = [tx.postings(start=FIRST, end=LAST) for tx in (one, other)]
            sums = [tx.sums(start=FIRST, end=LAST) for tx in (one, other)]
        again.close()
    ledger.close()
    assert found[0] == found[1]
    assert sums[0] == sums[1]


@given(leases(), st.lists(instants, max_size=6))
def test_property_06_splitting_anywhere_changes_no_sum(held: Held, cuts: list[datetime]) -> None:
    whole, cut = held.lines(), held.lines(cuts=cuts)
    assert money(whole) == money(cut)
    # Posted piece by piece, as at the ends of months, it comes to the same.
    lease, end = held.lease, held.lease.closed_at
    posted: list[Posting] = []
    assert end is not None
    for at in sorted(cuts):
        if lease.assigned_at is not None and lease.assigned_at < at < end:
            posted += charge(lease, held.spans, at)
            lease = lease.model_copy(update={"charged_until": at})
    posted += charge(lease, held.spans, end)
    assert money(posted) == money(whole)
    product = sum(
        accrue(line.price_micro_per_hour or 0, line.seconds)
        for line in whole
        if lease.started_at is not None
    )
    assert sum(money(whole).values()) == settle(product)


@few
@given(
    st.lists(
        st.tuples(st.integers(0, 7000), st.none() | st.integers(0, 100), st.integers(0, 100)),
        unique_by=lambda one: one[0],
        max_size=15,
    ),
    st.data(),
)
def test_property_07_hourly_sums_are_those_of_the_readings_in_any_order(
    readings: list[tuple[int, int | None, int]], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as name:
        samples = Samples.open(Path(name))
        for one in data.draw(st.permutations(readings + readings[:3])):
            samples.add(**raw(one))
        found = samples.quiet(NOON, NOON + timedelta(hours=3))
        assert samples.problem == ""
        samples.close()
        assert (Path(name) / FILE).exists()
    assert found == quiet_of(readings)


@given(charged(), st.sampled_from(ZONES))
def test_property_08_the_months_of_any_zone_add_up_to_the_whole(
    lines: list[Posting], zone: str
) -> None:
    parts: Counter[str] = Counter()
    seconds = 0
    for month in months(zone, NOON - timedelta(days=1), NOON + timedelta(seconds=SPAN_S)):
        hours = (month.end - month.start) / timedelta(hours=1)
        assert 671 <= hours <= 745
        inside = plain.clipped(lines, month.start, month.end)
        parts.update(plain.sums(inside))
        seconds += sum(line.seconds for line in inside)
    assert {code: micro for code, micro in parts.items() if micro} == money(lines)
    assert seconds == sum(line.seconds for line in lines)


def test_property_08_months_have_the_hours_that_the_clocks_give_them() -> None:
    def hours(zone: str, year: int, month: int) -> float:
        first = next(months(zone, in_utc(year, month, 15), in_utc(year, month, 16)))
        return (first.end - first.start) / timedelta(hours=1)

    assert hours("Europe/Paris", 2026, 3) == 743
    assert hours("Europe/Paris", 2026, 10) == 745
    assert hours("America/New_York", 2026, 11) == 721
    assert hours("Australia/Sydney", 2026, 4) == 721


@given(leases(), instants, st.none() | st.integers(0, 10**9))
def test_property_09_a_new_price_leaves_the_money_before_it(
    held: Held, at: datetime, price: int | None
) -> None:
    changed = (
        *(one._replace(end=min(one.end, at)) for one in held.spans if one.start < at),
        PriceSpan(at, LAST, price),
    )
    other = held._replace(spans=changed)
    before, after = (list(plain.inside(one.lines(cuts=[at]), FIRST, at)) for one in (held, other))
    assert before == after


@given(leases(), st.integers(-(10**9), 10**9))
def test_property_10_a_correction_and_its_reversal_leave_the_original(
    held: Held, amount: int
) -> None:
    lines = held.lines()
    (original, *_rest) = lines
    fix = [
        _correction(original, -(original.amount_micro or 0)),
        _correction(original, amount),
        _correction(original, -amount),
        _correction(original, original.amount_micro or 0),
    ]
    assert money([*lines, *fix]) == money(lines)
    entries = journal([*lines, *fix])
    assert unbalanced(entries) == ""
    sums = balances(entries)
    assert all(accounts.get("platform/corrections", 0) == 0 for accounts in sums.values())


def _correction(original: Posting, amount: int) -> Posting:
    return original.model_copy(
        update={
            "seconds": 0,
            "start": LAST,
            "end": LAST,
            "price_micro_per_hour": None,
            "amount_micro": amount,
            "corrects": f"{original.lease_id} x",
        }
    )


@given(charged())
def test_property_11_debits_are_credits_and_no_balance_comes_from_nowhere(
    lines: list[Posting],
) -> None:
    entries = journal(lines)
    assert unbalanced(entries) == ""
    for code, accounts in balances(entries).items():
        assert sum(accounts.values()) == 0
        paid = {name: ticks for name, ticks in accounts.items() if ticks > 0}
        teams = sum(ticks for name, ticks in paid.items() if name.startswith("teams/"))
        mine = [one for one in lines if one.currency == code and one.team not in NO_TEAMS]
        assert teams == TICKS * sum(one.amount_micro or 0 for one in mine)
        leases_there = len({one.lease_id for one in lines})
        # Each lease is rounded once; each of its lines is the difference of two such sums.
        assert abs(accounts.get("platform/rounding", 0)) <= TICKS * leases_there


def test_property_11_credits_that_a_budget_grants_have_an_account_of_their_own() -> None:
    rules = policy().model_copy(
        update={
            "currency": "GPUH",
            "budgets": {"month": Budget.model_validate({"team": "vision", "amount": "100"})},
        }
    )
    entries = grants(rules, in_utc(2026, 11, 3), in_utc(2026, 12, 3))
    assert len(entries) == 2
    assert unbalanced(entries) == ""
    ticks = 2 * 100 * 10**6 * TICKS
    assert balances(entries) == {
        "GPUH": {"credits/vision": ticks, "platform/credits-granted": -ticks}
    }
    assert grants(rules.model_copy(update={"currency": "EUR"}), FIRST, LAST) == ()


@given(st.lists(st.integers(-(10**12), 10**12), max_size=20), st.sampled_from([0, 2, 3]))
def test_property_12_displayed_lines_foot_to_the_displayed_total(
    amounts: list[int], digits: int
) -> None:
    shown = footed(amounts, digits)
    unit = 10 ** (6 - digits)
    assert abs(sum(shown) - sum(amounts)) * 2 <= unit
    assert all(one % unit == 0 for one in shown)
    assert all(abs(one - exact) < unit for one, exact in zip(shown, amounts, strict=True))


@given(
    st.lists(st.integers(0, 10**9), min_size=30, max_size=30),
    st.lists(st.integers(0, 5000), min_size=5, max_size=20),
)
def test_property_13_at_the_months_end_the_forecast_is_what_was_spent(
    amounts: list[int], errors: list[int]
) -> None:
    first = in_utc(2026, 11).date()
    days = {first + timedelta(days=number): micro for number, micro in enumerate(amounts)}
    spent = sum(amounts)
    made = outlook(days, Now(max(days), max(days), 1000), errors, spent=spent, committed=0)
    if made.active_days < LEAST_ACTIVE:
        assert made.point is None
    else:
        assert made.point == spent
        assert made.low in {None, spent}
        assert made.high in {None, spent}


@given(charged(), st.sampled_from(ZONES))
def test_property_15_an_export_read_back_gives_the_ledgers_totals(
    lines: list[Posting], zone: str
) -> None:
    # FOCUS takes national currencies alone.
    euros = [one for one in lines if one.currency == "EUR"]
    rules = policy().model_copy(update={"timezone": zone})
    made = rows(euros, Terms(rules, "1.4", lambda user: f"p-{user}", {}, FIRST, LAST))
    books = {code: total for code, total in money_of(made).items() if total}
    assert {code: int(total * 10**6) for code, total in books.items()} == money(euros)
    if made:
        assert faults(made, money_of(made)) == ()
        report = lint("Cost and Usage", list(made))
        assert report.ok, report.messages()
    text = io.StringIO()
    table = csv.DictWriter(text, plain.COLUMNS)
    table.writeheader()
    table.writerows(plain.row(line, str) for line in lines)
    back: Counter[str] = Counter()
    for row in csv.DictReader(io.StringIO(text.getvalue())):
        if row["amount_micro"]:
            back[row["currency"]] += int(row["amount_micro"])
    assert {code: micro for code, micro in back.items() if micro} == money(lines)


@given(price_spans())
def test_prices_drawn_here_leave_no_gap(spans: tuple[PriceSpan, ...]) -> None:
    assert all(before.end == after.start for before, after in pairwise(spans))
