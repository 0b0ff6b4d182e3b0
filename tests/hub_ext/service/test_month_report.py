"""The report of a month: one set of figures as page, CSV, mail and text, and never a wrong one."""

import csv
import io
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from hub_ext.cli import main
from hub_ext.errors import RefusedError
from hub_ext.lease import Actor, LeaseId
from hub_ext.lease.monthreport import MonthReport
from hub_ext.lease.months import CorrectionWish
from hub_ext.service.money import monthreports
from hub_ext.service.pages.monthfiles import as_csv, as_html, as_text
from tests.support.governing import Site
from tests.support.money_year import policy_text, year_in

OCTOBER = 311_260_960
ADMIN = Actor(kind="user", name="root", admin=True)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with year_in(tmp_path_factory.mktemp("year") / "state") as opened:
        yield opened


@pytest.fixture(scope="module")
def october(site: Site) -> MonthReport:
    return site.governor.month_report("vision", "2026-10", now=site.now)


def own(report: MonthReport) -> int:
    return sum(one.micro for one in report.total.amounts)


def test_every_table_adds_up_to_what_the_ledger_has(site: Site, october: MonthReport) -> None:
    with site.ledger.transaction() as tx:
        books = tx.sums(start=october.start, end=october.end, teams=("vision",))
    assert own(october) == books["EUR"]
    for rows in (october.rows, october.people, october.detail):
        assert sum(amount.micro for one in rows for amount in one.amounts) == books["EUR"]
    assert sum(micro for day in october.days for micro in day.amounts.values()) == books["EUR"]
    assert len(october.days) == 31


def test_the_csv_adds_up_exactly_and_a_name_is_no_formula(october: MonthReport) -> None:
    rows = list(csv.DictReader(io.StringIO(as_csv(october))))
    assert sum(round(float(row["amount"] or 0) * 1_000_000) for row in rows) == own(october)
    assert {row["state"] for row in rows} == {"over"}
    assert sum(int(row["leases"]) for row in rows) == october.total.leases
    odd = [
        one.model_copy(update={"names": {**one.names, "user": "=cmd|x"}}) for one in october.detail
    ]
    assert "'=cmd|x" in as_csv(october.model_copy(update={"detail": tuple(odd)}))


def test_the_mail_needs_no_script_and_nothing_from_elsewhere(october: MonthReport) -> None:
    html = as_html(october)
    assert "<script" not in html
    outside = re.findall(r"(?:src|href)=|https?://[^\"<]+|@import|url\(", html)
    assert [one for one in outside if one != "http://www.w3.org/2000/svg"] == []
    assert 'role="img" aria-label="EUR 311.26 in all (2026-10);' in html
    HTMLParser().feed(html)


def test_text_mail_and_csv_say_the_same_total(october: MonthReport) -> None:
    assert "Team vision was charged EUR 311.26" in as_text(october)
    assert "Team vision was charged EUR 311.26" in unescape(as_html(october))
    assert "EUR 57.12 more" in as_text(october)


def test_names_in_a_mail_are_text(october: MonthReport) -> None:
    evil = "<img src=x>"
    days = tuple(
        day.model_copy(update={"amounts": {evil: sum(day.amounts.values())}})
        for day in october.days
    )
    html = as_html(october.model_copy(update={"days": days}))
    assert "<img" not in html
    assert evil in unescape(html)


def test_a_closed_month_says_its_hash_and_a_correction_stands_in_the_open_one(
    tmp_path: Path,
) -> None:
    with year_in(tmp_path / "state") as site:
        core, now = site.governor, site.now
        core.close_month("2025-12", reason="month end", actor=ADMIN, now=now)
        closed = core.month_report("vision", "2025-12", now=now)
        assert closed.state == "closed"
        assert closed.digest in as_text(closed)
        before = own(core.month_report("vision", "month", now=now))
        with site.ledger.transaction() as tx:
            charge = tx.postings(start=closed.start, end=closed.end, teams=("vision",))[0]
        wish = CorrectionWish(lease_id=LeaseId(charge.lease_id), start=charge.start, waive=True)
        core.correct_charge(wish, reason="a fault of ours", actor=ADMIN, now=now)
        after = core.month_report("vision", "month", now=site.later(60))
        assert own(core.month_report("vision", "2025-12", now=now)) == own(closed)
        assert own(after) == before - (charge.amount_micro or 0)
        assert after.corrections[0].micro == -(charge.amount_micro or 0)
        assert "corrects earlier charges" in as_text(after)


def test_a_report_that_does_not_add_up_is_shown_to_nobody(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = monthreports._days
    monkeypatch.setattr(monthreports, "_days", lambda policy, found: lost(policy, found)[1:])
    with pytest.raises(RefusedError, match=r"the days come to \d+, and"):
        site.governor.month_report("vision", "2026-10", now=site.now)


@pytest.mark.parametrize(
    ("team", "month", "remedy"),
    [
        ("nobody", "2026-10", "It has: vision, speech, robots"),
        ("vision", "2027-01", "no month that has begun"),
        ("vision", "30d", "Use 2026-11, month or last-month"),
    ],
)
def test_what_is_not_there_is_answered_with_what_is(
    site: Site, team: str, month: str, remedy: str
) -> None:
    with pytest.raises(RefusedError, match=remedy):
        site.governor.month_report(team, month, now=site.now)


def test_a_month_without_any_lease_is_words(site: Site) -> None:
    empty = site.governor.month_report("vision", "2025-06", now=site.now)
    assert "was charged nothing in 2025-06" in as_text(empty)
    assert "<svg" not in as_html(empty)


@pytest.mark.parametrize("form", ["text", "csv", "html"])
def test_the_command_writes_it_where_no_governor_lives(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    with year_in(tmp_path / "state") as site:
        state = site.state
    words = ("report", "month", "--state", str(state), "--team", "vision", "--month", "2026-10")
    if datetime.now(UTC) < datetime(2026, 11, 1, tzinfo=UTC):
        pytest.skip("this machine's clock is before the month's end")
    assert main([*words, "--as", form]) == 0
    assert "311.26" in capsys.readouterr().out or form == "csv"
    target = tmp_path / "october"
    assert main([*words, "--as", form, "--out", str(target)]) == 0
    assert target.stat().st_size > 500


def test_leads_are_shown_no_people_where_the_policy_says_so(tmp_path: Path) -> None:
    policy = policy_text(statement={"members": False})
    with year_in(tmp_path / "state", policy=policy) as site:
        report = site.governor.month_report("vision", "2026-10", people=False, now=site.now)
        for text in (as_csv(report), as_html(report), as_text(report)):
            assert "vision-ada" not in text
        assert own(report) == OCTOBER
