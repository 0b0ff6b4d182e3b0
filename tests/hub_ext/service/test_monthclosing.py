"""Months close in order and for good; a correction stands in the open month."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hub_ext.errors import LedgerError, RefusedError
from hub_ext.lease import Actor, Grant, LeaseId, Posting, ProjectName, TeamName
from hub_ext.lease.months import ClosedMonth, CorrectionWish, MonthReview
from hub_ext.ledger.places import FILE
from hub_ext.ledger.verify import verify
from hub_ext.metering import WAIVED
from tests.support.governing import POLICY, Site, site_in
from tests.support.ledger_parts import a_posting

ADMIN = Actor(kind="user", name="root", admin=True)
DECEMBER = datetime(2026, 12, 1, tzinfo=UTC)
LONG = "lifetime: {default: 200h, longest: 300h}"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    policy = POLICY.replace("lifetime: {default: 1h, longest: 2h}", LONG)
    with site_in(tmp_path / "state", policy=policy) as opened:
        yield opened


def review(site: Site) -> MonthReview:
    found = site.governor.months(now=site.now).following
    assert found is not None
    return found


def close(site: Site, name: str = "2026-11") -> ClosedMonth:
    return site.governor.close_month(name, reason="month end", actor=ADMIN, now=site.now)


def seen(site: Site) -> None:
    with site.ledger.transaction() as tx:
        tx.seen([lease.id for lease in tx.leases()], at=site.now)


def charges(site: Site) -> tuple[Posting, ...]:
    with site.ledger.transaction() as tx:
        return tx.postings(start=DECEMBER - timedelta(days=60), end=DECEMBER + timedelta(days=60))


def an_hour_of(site: Site, user: str = "vera") -> Grant:
    grant = site.run(user)
    site.later(3600)
    site.stop(grant)
    return grant


def into_december(site: Site) -> None:
    site.now = DECEMBER + timedelta(hours=1)


def test_a_month_that_is_not_over_cannot_close(site: Site) -> None:
    an_hour_of(site)
    assert review(site).name == "2026-11"
    assert [one.code for one in review(site).checks if not one.ok] == ["over"]
    with pytest.raises(RefusedError, match="not over"):
        close(site)


def test_a_closed_month_keeps_its_sums_and_the_next_one_follows(site: Site) -> None:
    an_hour_of(site)
    an_hour_of(site, "sam")
    into_december(site)
    closed = close(site)
    assert [(one.team, one.amounts[0].micro) for one in closed.teams] == [
        ("speech", 3_600_000),
        ("vision", 3_600_000),
    ]
    assert (closed.amounts[0].micro, closed.lines, closed.unpriced_s) == (7_200_000, 2, 0)
    sheet = site.governor.months(now=site.now)
    assert [one.name for one in sheet.closed] == ["2026-11"]
    assert review(site).name == "2026-12"
    with pytest.raises(RefusedError, match="2026-12 is next"):
        close(site)


def test_what_runs_on_is_charged_to_the_end_of_the_month_and_then_from_there(site: Site) -> None:
    grant = site.run("vera")
    into_december(site)
    seen(site)
    closed = close(site)
    assert closed.amounts[0].micro == 15 * 3_600_000
    site.later(3600)
    site.stop(grant)
    first, second = charges(site)
    assert (first.end, second.start) == (DECEMBER, DECEMBER)
    assert second.amount_micro == 2 * 3_600_000
    assert site.governor.lease(grant.lease_id) is not None
    assert verify(site.state / FILE).difference == ""


def test_a_server_that_nobody_saw_since_stands_in_the_way(site: Site) -> None:
    grant = site.run("vera")
    into_december(site)
    (lost,) = [one for one in review(site).checks if not one.ok]
    assert lost.code == "seen"
    assert grant.lease_id in lost.words
    with pytest.raises(RefusedError) as refusal:
        close(site)
    assert refusal.value.code == "month-not-ready"


def test_a_closed_month_refuses_a_charge(site: Site) -> None:
    an_hour_of(site)
    into_december(site)
    close(site)
    late = a_posting("late", 0, 60)
    with pytest.raises(LedgerError, match="closed until"), site.ledger.transaction() as tx:
        tx.post([late], at=site.now)
    site.restart()
    with pytest.raises(LedgerError, match="closed until"), site.ledger.transaction() as tx:
        tx.post([late], at=site.now)


def test_a_lease_found_late_is_charged_from_the_end_of_the_closed_month(site: Site) -> None:
    an_hour_of(site)
    grant = site.run("sam")
    into_december(site)
    seen(site)
    close(site)
    lease = site.lease(grant)
    with site.ledger.transaction() as tx:
        # As if a backup from before the close had brought it back.
        tx.record(lease.model_copy(update={"charged_until": None}), actor=ADMIN, at=site.now)
    site.stop(grant)
    assert charges(site)[-1].start == DECEMBER
    assert charges(site)[-1].amount_micro == 3_600_000


def test_a_charge_changed_behind_our_back_is_found_by_the_hash_of_its_month(site: Site) -> None:
    an_hour_of(site)
    into_december(site)
    close(site)
    site.governor.close()
    path = site.state / FILE
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("DROP TRIGGER posting_refuses_update")
        file.execute("UPDATE posting SET amount_micro = 1")
    assert verify(path).difference
    site.governor = site._open()


def test_a_correction_in_a_closed_month_stands_in_the_open_one(site: Site) -> None:
    grant = an_hour_of(site)
    into_december(site)
    november = close(site)
    (line,) = charges(site)
    wanted = CorrectionWish(
        lease_id=grant.lease_id, start=line.start, price_micro_per_hour=1_800_000
    )
    made = site.governor.correct_charge(wanted, reason="half price", actor=ADMIN, now=site.now)
    assert (made.month, made.closed) == ("2026-11", True)
    assert [one.amount_micro for one in made.lines] == [-3_600_000, 1_800_000]
    original, reversal, restated = charges(site)
    assert original == line
    assert reversal.start == restated.start == site.now
    assert reversal.corrects == restated.corrects
    assert review(site).amounts[0].micro == -1_800_000
    assert site.governor.months(now=site.now).closed == (november,)
    assert verify(site.state / FILE).difference == ""


def test_a_correction_that_is_taken_back_leaves_the_original(site: Site) -> None:
    grant = an_hour_of(site)
    (line,) = charges(site)
    there = CorrectionWish(lease_id=grant.lease_id, start=line.start, project=ProjectName("maps"))
    speech = there.model_copy(update={"project": None, "team": TeamName("speech")})
    back = there.model_copy(update={"project": None, "team": TeamName("vision")})
    for wanted in (speech, back):
        site.later(1)
        site.governor.correct_charge(wanted, reason="whose?", actor=ADMIN, now=site.now)
    sums: dict[str, int] = {}
    for one in charges(site):
        sums[one.team] = sums.get(one.team, 0) + (one.amount_micro or 0)
    assert sums == {"vision": 3_600_000, "speech": 0}
    with pytest.raises(RefusedError, match="already"):
        site.governor.correct_charge(back, reason="again", actor=ADMIN, now=site.now)


def test_what_is_waived_is_paid_by_nobody_and_stays_in_the_sum(site: Site) -> None:
    grant = an_hour_of(site)
    (line,) = charges(site)
    wanted = CorrectionWish(lease_id=grant.lease_id, start=line.start, waive=True)
    made = site.governor.correct_charge(wanted, reason="broken GPU", actor=ADMIN, now=site.now)
    assert [(one.team, one.amount_micro) for one in made.lines] == [
        ("vision", -3_600_000),
        (WAIVED, 3_600_000),
    ]
    assert sum(one.amount_micro or 0 for one in charges(site)) == 3_600_000


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"lease_id": LeaseId("l-none")}, "no-such-charge"),
        ({"start": DECEMBER}, "no-such-charge"),
        ({"team": TeamName("nobodies")}, "no-such-team"),
        ({"project": ProjectName("nothing")}, "no-such-project"),
        ({"team": TeamName("speech"), "project": ProjectName("maps")}, "other-team"),
        ({"price_micro_per_hour": 3_600_000}, "nothing-changes"),
    ],
)
def test_a_correction_of_nothing_is_refused(
    site: Site, changes: dict[str, object], code: str
) -> None:
    grant = an_hour_of(site)
    (line,) = charges(site)
    wanted = CorrectionWish(lease_id=grant.lease_id, start=line.start).model_copy(update=changes)
    with pytest.raises(RefusedError) as refusal:
        site.governor.correct_charge(wanted, reason="why", actor=ADMIN, now=site.now)
    assert refusal.value.code == code
    assert charges(site) == (line,)
