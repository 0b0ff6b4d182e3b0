"""The site's page of money: for admins alone, a year that adds up, months that close, prices."""

import itertools
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlencode

import pytest

from hub_ext.budget import Period
from hub_ext.lease import Actor, LeaseId, TeamName
from hub_ext.lease.months import CorrectionWish
from tests.hub_ext.service.test_money_pages import Year, served
from tests.support.governing import Site
from tests.support.identities import PREFIX
from tests.support.money_year import year_in

ADMIN = Actor(kind="user", name="root", admin=True)


@pytest.fixture(scope="module")
def year(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Year]:
    with served(tmp_path_factory.mktemp("year")) as found:
        yield found


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with year_in(tmp_path / "state") as opened:
        yield opened


@pytest.mark.parametrize("path", ["admin/money", "admin/fleet"])
def test_it_is_for_admins_alone(year: Year, path: str) -> None:
    assert year.answer(path, "lead").code == 403
    assert year.answer(path, "owner").code == 403
    assert year.answer(path, "admin").code == 200


def test_months_of_the_database_are_the_ledgers_own_sums(site: Site) -> None:
    found = site.governor.site_money((), None, review=False, now=site.now)
    assert len(found.months) == 12
    with site.ledger.transaction() as tx:
        for month, sums in zip(found.months, found.sums, strict=True):
            books = tx.sums(start=month.start, end=month.end)
            assert sum(one.micro for one in sums) == books["EUR"]
            for one in sums:
                own = tx.sums(start=month.start, end=month.end, teams=(one.team,))
                assert one.micro == own["EUR"]


def test_what_crosses_a_month_is_split_there(site: Site) -> None:
    found = site.governor.site_money((), None, review=False, now=site.now)
    halves = [
        Period(one.start - timedelta(days=15), one.end - timedelta(days=15)) for one in found.months
    ]
    edges = [Period(one.start, after.start) for one, after in itertools.pairwise(halves)]
    with site.ledger.transaction() as tx:
        for month, sums in zip(edges, tx.by_month(edges), strict=True):
            books = tx.sums(start=month.start, end=month.end)
            assert sum(one.micro for one in sums) == books.get("EUR", 0)


def test_what_runs_is_in_the_month_and_told_apart_from_the_books(tmp_path: Path) -> None:
    with served(tmp_path) as year:
        site = year.door.site
        site.run("vera", "one-h200")
        site.later(3600)
        [line] = site.governor.site_money((), None, review=False, now=site.now).running
        assert line.amount_micro == 4_620_000
        text = year("admin/money", "admin")
        assert "EUR 984.53 EUR 4.62 of it runs still and is not on the books" in text
        assert "Spent, November 2026 EUR 244.69" in year("team/vision")


def test_another_price_is_tried_and_nothing_on_the_books_moves(year: Year) -> None:
    query = urlencode({"pool": "large", "flavor": "gpu", "per_hour": "5.00"})
    text = year(f"admin/money?{query}", "admin")
    assert "2026-10 would have come to EUR 54.43 more for a whole GPU of large." in text
    assert "Total EUR 661.83 EUR 716.26 EUR 54.43" in text
    same = urlencode({"pool": "large", "flavor": "gpu", "per_hour": "4.62"})
    assert "come to EUR 0.00 more" in year(f"admin/money?{same}", "admin")


@pytest.mark.parametrize(
    ("query", "remedy"),
    [
        ("pool=gone&per_hour=1", "Choose one of: large, slices, cards, trial."),
        ("pool=large&per_hour=much", "per_hour is a price such as 4.20"),
        ("kind=lease.closed", "Choose one of: policy.applied"),
    ],
)
def test_what_cannot_be_asked_is_answered_with_what_can(
    year: Year, query: str, remedy: str
) -> None:
    assert remedy in year(f"admin/money?{query}", "admin", code=400)


def test_a_month_is_gone_through_and_closed_with_a_reason(tmp_path: Path) -> None:
    with served(tmp_path) as year:
        text = year("admin/money?review=1", "admin")
        assert "2025-12 is next: EUR 1,051.27 in 121 charges" in text
        assert "sums by team, project, person, lease and ledger agree" in text
        page = year.answer("admin/money?review=1", "admin").body.decode()
        assert 'name="_xsrf" value="' in page
        assert post(year, reason="") == 400
        assert post(year, reason="year end", token="lead") == 403
        assert post(year, reason="year end") == 302
        text = year("admin/money", "admin")
        assert "Newest closed month 2025-12" in text
        assert "root year end" in text
        assert "month.closed" in text
        assert "month.closed" in year("admin/money?kind=month.closed", "admin")
        assert "Nobody did anything of this kind" in year("admin/money?kind=admin.move", "admin")


def post(year: Year, *, reason: str, token: str = "admin") -> int:
    """Send the form that closes December."""
    body = urlencode({"month": "2025-12", "reason": reason}).encode()
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    call = year.door.call("POST", f"{PREFIX}admin/money/close", token, body, headers=form)
    return year.runner.run(call).code


def test_corrections_are_listed_with_their_leases(tmp_path: Path) -> None:
    with served(tmp_path) as year:
        site = year.door.site
        core = site.governor
        month = core.site_money((), None, review=False, now=site.now).months[-2]
        with site.ledger.transaction() as tx:
            charge = tx.postings(start=month.start, end=month.end, teams=("vision",))[0]
        wish = CorrectionWish(
            lease_id=LeaseId(charge.lease_id), start=charge.start, team=TeamName("speech")
        )
        core.correct_charge(wish, reason="wrong team", actor=ADMIN, now=site.now)
        text = year("admin/money", "admin")
        assert "reversed" in text
        assert "stated anew" in text
        html = year.answer("admin/money", "admin").body.decode()
        assert f'href="{PREFIX}leases/{charge.lease_id}#charges"' in html
        site.later(60)
        assert "Corrections of earlier charges are among these" in year("team/vision")


def test_all_that_is_installed_is_accounted_for(year: Year) -> None:
    text = year("admin/fleet?window=2026-10", "admin")
    assert "Of 13,316.88 GPU-hours 3 % were held by teams" in text
    assert "97 % were held by nobody" in text
    assert "718.58 GPU-hours not priced" in text
