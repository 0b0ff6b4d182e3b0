"""Pages of money over a year: filters in the address, tables that foot, and who sees whom."""

import asyncio
import re
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from html import unescape
from pathlib import Path

import pytest
from tornado.httpclient import HTTPResponse

from tests.support.identities import PREFIX, Door, door_to
from tests.support.money_year import policy_text, year_in


@dataclass
class Year:
    """A year that is served; the loop runs only while a page is read."""

    door: Door
    runner: asyncio.Runner

    def answer(self, path: str, token: str = "lead") -> HTTPResponse:
        """Open a page of ours."""
        return self.runner.run(self.door.call("GET", PREFIX + path, token))

    def __call__(self, path: str, token: str = "lead", *, code: int = 200) -> str:
        """Read a page's words."""
        found = self.answer(path, token)
        assert found.code == code
        return words(found.body.decode())


def words(html: str) -> str:
    """What a person reads: the text without its markup."""
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", html)))


def money(html: str, heading: str) -> tuple[list[float], float]:
    """Amounts of the table below a heading: of its rows, and of its foot."""
    table = html[html.index(f'id="{heading}"') :]
    table = table[table.index("<table>") : table.index("</table>")]
    body, foot = table.split("<tfoot>")
    found = [re.findall(r"EUR ([\d,]+\.\d\d)", part) for part in (body, foot)]
    rows, total = ([float(one.replace(",", "")) for one in part] for part in found)
    return rows, total[-1]


@contextmanager
def served(folder: Path, policy: str = "") -> Iterator[Year]:
    with asyncio.Runner() as runner, year_in(folder / "state", policy=policy) as site:
        stack = AsyncExitStack()
        door: Door = runner.run(stack.enter_async_context(door_to(site)))
        door.hub.person("owner", "vision-ada", groups=("vision",))
        door.hub.person("lead", "lead-vision")
        door.hub.person("admin", "root", scopes=("custom:gpu-commons:admin",))
        try:
            yield Year(door, runner)
        finally:
            runner.run(stack.aclose())


@pytest.fixture(scope="module")
def year(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Year]:
    with served(tmp_path_factory.mktemp("year")) as found:
        yield found


def test_the_head_says_spent_budget_left_time_and_where_it_is_going(year: Year) -> None:
    text = year("team/vision")
    assert "Spent, November 2026 EUR 240.07 70.62 GPU-hours, 22 leases" in text
    assert "Left of budget vision-month EUR 119.93 of EUR 360.00; 66 % is spent" in text
    assert "It has to last another 11 d 9 h spent between 2026-11-24 and 2026-11-30" in text
    assert "Likely by the end of 2026-11 EUR 385.42" in text
    assert "EUR 16.90 less is left than at an even pace" in text
    assert "open: figures so far" in text


def test_what_changed_is_explained_and_adds_up(year: Year) -> None:
    html = year.answer("team/vision?window=2026-10").body.decode()
    table = html[html.index('id="changes"') :]
    table = table[: table.index("</table>")]
    for row in re.findall(r"<tr><th scope=\"row\">.*?</tr>", table, re.DOTALL):
        cells = [float(one.replace(",", "")) for one in re.findall(r"EUR (-?[\d,]+\.\d\d)<", row)]
        before, now, change, *parts = cells
        assert round(sum(parts), 2) == change
        assert abs(round(now - before - change, 2)) <= 0.01
    assert "Held against 2026-09-01 to before 2026-10-01." in html


def test_a_team_without_a_budget_is_told_no_share(year: Year) -> None:
    text = year("team/robots", "admin")
    assert "Budget no budget set" in text
    assert "No budget is set for the whole team" in text


@pytest.mark.parametrize("heading", ["by-gpu", "use", "members", "models"])
@pytest.mark.parametrize("window", ["month", "365d", "2026-07"])
def test_every_table_foots_to_one_total(year: Year, heading: str, window: str) -> None:
    html = year.answer(f"team/vision?window={window}").body.decode()
    rows, total = money(html, heading)
    shown = re.search(r"Spent, [^<]*</span>\s*<span class=\"value\">EUR ([\d,.]+)", html)
    assert shown is not None
    if heading == "models":
        rows = rows[::2]
    assert round(sum(rows), 2) == total == float(shown[1].rstrip(".").replace(",", ""))


def test_filters_narrow_every_table_and_stay_to_be_seen(year: Year) -> None:
    text = year("team/vision?window=365d&project=vision-atlas&model=l40s")
    assert "last 365 days; vision-atlas, L40S" in text
    assert "vision-corpus H200" not in text
    html = year.answer("team/vision?window=365d&project=vision-atlas&model=l40s").body.decode()
    assert '<option value="vision-atlas" selected>' in html
    assert "All of this month" in text


def test_what_the_policy_knows_and_nobody_used_is_an_empty_page_with_its_filters(
    year: Year,
) -> None:
    html = year.answer("team/vision?window=2025-11&project=vision-grant").body.decode()
    assert "No usage yet in this time." in html
    assert '<option value="vision-grant" selected>' in html


@pytest.mark.parametrize(
    ("query", "remedy"),
    [
        ("project=speech-atlas", "Choose one of: vision-atlas, vision-corpus, vision-grant, -."),
        ("person=speech-ada", "Choose one of: vision-ada"),
        ("profile=gone", "Choose one of: card, one-h200, slice, trial."),
        ("model=h100-80gb", "Choose one of: h200-141gb, l40s."),
        ("from=2026-11-09&to=2026-11-01", "from and to are two days"),
        ("from=yesterday", "from and to are two days"),
    ],
)
def test_a_wrong_filter_says_what_is_right(year: Year, query: str, remedy: str) -> None:
    assert remedy in year(f"team/vision?{query}", code=400)


def test_two_days_are_a_window_and_both_are_in_it(year: Year) -> None:
    text = year("team/vision?from=2026-11-06&to=2026-11-06")
    assert "EUR 50.12 in all" in text
    html = year.answer("team/vision?from=2026-11-06&to=2026-11-06").body.decode()
    assert 'value="2026-11-06"' in html


def test_names_from_addresses_are_text_and_never_markup(year: Year) -> None:
    for kind in ("project", "person", "profile", "model", "window", "from"):
        body = year.answer(f"team/vision?{kind}=%3Cscript%3Ealert(1)%3C/script%3E").body
        assert b"<script>alert" not in body


def test_my_page_has_my_charges_alone_and_foots(year: Year) -> None:
    html = year.answer("?window=365d", "owner").body.decode()
    rows, total = money(html, "by-gpu")
    assert round(sum(rows), 2) == total
    assert "vision-ben" not in html
    assert "Day by day, last 365 days" in html
    text = year("?window=365d&person=vision-ben", "owner", code=400)
    assert "Choose one of: vision-ada" in text


def test_a_policy_can_keep_single_people_from_leads(tmp_path: Path) -> None:
    policy = policy_text(statement={"members": False})
    with served(tmp_path, policy) as year:
        for window in ("month", "365d"):
            html = year.answer(f"team/vision?window={window}").body.decode()
            assert "vision-ada" not in html
            assert 'id="members"' not in html
        assert "shows leads no figures of single people" in year(
            "team/vision?person=vision-ada", code=403
        )
        assert "vision-ada" in year("team/vision", "admin")


def test_the_report_of_a_month_is_a_page_and_two_files_with_one_total(year: Year) -> None:
    page = year.answer("team/vision/month/2026-10").body.decode()
    for heading in ("by-gpu", "members"):
        rows, total = money(page, heading)
        assert round(sum(rows), 2) == total == 311.26
    mail = year.answer("team/vision/month/2026-10?as=html")
    assert b"EUR 311.26" in mail.body
    assert "attachment" in mail.headers["Content-Disposition"]
    sheet = year.answer("team/vision/month/2026-10?as=csv")
    assert sheet.headers["Content-Type"].startswith("text/csv")
    assert year.answer("team/vision/month/2026-10", "owner").code == 403
    assert "as=csv or as=html" in year("team/vision/month/2026-10?as=pdf", code=400)
    assert "no month that has begun" in year("team/vision/month/2027-10", code=400)
