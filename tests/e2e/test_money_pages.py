"""My usage, a team's and the admin's pages with a year of data, in a real browser.

Tables foot to the ledger, each chart has its sentence and its table, axe finds nothing in light and
dark, nothing is wider than a phone, and a keyboard reaches it all.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from hub_ext.lease import Actor
from hub_ext.service.pages import overview as pages
from tests.support.aside import aside
from tests.support.chromium import launched
from tests.support.governing import Site
from tests.support.identities import PREFIX, door_to
from tests.support.money_year import NOW, year_in
from tests.support.tabs import tab

pytestmark = pytest.mark.browser

SCREENSHOTS = Path(__file__).parent / "screenshots"
WIDE, PHONE = 1280, 360
ADMIN = Actor(kind="user", name="root", admin=True)
PAGES = {
    "mine": ("owner", "?window=365d"),
    "team": ("lead", "team/vision"),
    "team-year": ("lead", "team/vision?window=365d"),
    "team-none": ("lead", "team/vision?window=2025-06"),
    "month": ("lead", "team/vision/month/2026-10"),
    "admin": ("admin", "admin"),
    "money": ("admin", "admin/money?review=1&pool=large&flavor=gpu&per_hour=5.00"),
    "fleet": ("admin", "admin/fleet?window=2026-10"),
    "wrong": ("lead", "team/vision?project=nobody"),
}
CHARTED = ("mine", "team", "team-year", "money")

TABLES = """
() => [...document.querySelectorAll('table')].filter((table) => table.tFoot).map((table) => {
  const cells = (row) => [...row.cells].flatMap((cell) => [
    ...Array(cell.colSpan - 1).fill(''), cell.innerText.trim()]);
  return {
    name: table.closest('section') ? table.closest('section').querySelector('h2').id : '',
    rows: [...table.tBodies[0].rows].map(cells),
    foot: cells(table.tFoot.rows[0]),
    heads: cells(table.tHead.rows[0]),
  };
})
"""
CHARTS = """
() => [...document.querySelectorAll('figure.chart .plot')].map((plot) => {
  const section = plot.closest('section');
  return {
    heading: section.querySelector('h2, h3').innerText,
    sentence: plot.getAttribute('aria-label'),
    said: section.innerText,
    tables: section.querySelectorAll('table').length,
    role: plot.getAttribute('role'),
  };
})
"""
MONEY = ("Amount", "Together", "Was charged", "Would have been", "Difference", "Charged")


class Served(NamedTuple):
    """Where the year is served, and what the ledger itself adds up to."""

    url: str
    books: dict[str, int]
    """Millionths of a euro: of `mine`, `team` and the whole year."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve the year from a thread of the test."""
    state = tmp_path_factory.mktemp("year") / "state"
    books: dict[str, int] = {}

    @asynccontextmanager
    async def serve() -> AsyncIterator[str]:
        with year_in(state) as site:
            site.governor.close_month("2025-12", reason="year end", actor=ADMIN, now=site.now)
            books.update(_books(site))
            async with door_to(site) as door:
                door.hub.person("owner", "vision-ada", groups=("vision",))
                door.hub.person("lead", "lead-vision")
                door.hub.person("admin", "root", scopes=("custom:gpu-commons:admin",))
                yield door.url + PREFIX

    with aside(serve) as url:
        yield Served(url, books)


def _books(site: Site) -> dict[str, int]:
    year = site.governor.site_money((), None, review=False, now=site.now).months
    with site.ledger.transaction() as tx:
        return {
            "team": tx.sums(start=year[-1].start, end=NOW, teams=("vision",))["EUR"],
            "all": tx.sums(start=year[0].start, end=NOW)["EUR"],
        }


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as opened:
        yield opened


def shown(page: Page, name: str) -> None:
    """Wait until all charts of a page are drawn, where there are any."""
    if name in CHARTED and pages.CHARTS.is_file():
        page.wait_for_function(
            "document.querySelectorAll('[data-figure]').length > 0 && "
            "!document.querySelector('[data-figure]:not([data-drawn])')"
        )


def cents(text: str) -> int:
    """Read an amount of a table in cents; words and empty cells are none."""
    number = text.partition(" and ")[0].removeprefix("EUR ").replace(",", "")
    return round(float(number) * 100) if number.replace(".", "").lstrip("-").isdigit() else 0


def foots(page: Page) -> None:
    """Every column of money is the sum of its rows."""
    for table in page.evaluate(TABLES):
        for at, head in enumerate(table["heads"]):
            money = head in MONEY or table["name"] in {"days", "year"}
            if money and at and table["foot"][at]:
                rows = sum(cents(row[at]) for row in table["rows"])
                assert rows == cents(table["foot"][at]), (table["name"], head)


def is_told(page: Page) -> None:
    """Every chart has a heading, a sentence that stands on the page, and a table."""
    for one in page.evaluate(CHARTS):
        assert one["heading"]
        assert len(one["sentence"]) > 30
        assert one["sentence"] in one["said"]
        assert one["tables"] >= 1
        assert one["role"] == "img"


def is_clean(page: Page, name: str, scheme: str) -> None:
    """Axe finds nothing; a picture is left for people to judge."""
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    faults = Axe().run(page).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"][:200]) for one in faults] == [], scheme
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"money-{name}-{scheme}.png", full_page=True)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_foots_is_told_in_words_and_is_fit_for_everybody(
    browser: Browser, served: Served, name: str
) -> None:
    token, path = PAGES[name]
    size = {"width": WIDE, "height": 900}
    with tab(browser, served.url + path, token, viewport=size) as (page, said):
        shown(page, name)
        foots(page)
        is_told(page)
        # The rows of a table are made alike: axe would take a minute for hundreds of them.
        page.evaluate(
            "document.querySelectorAll('tbody tr:nth-child(n + 16)').forEach((row) => row.remove())"
        )
        for scheme in ("light", "dark"):
            is_clean(page, name, scheme)
        page.set_viewport_size({"width": PHONE, "height": 800})
        page.wait_for_function("document.documentElement.scrollWidth <= window.innerWidth")
        page.screenshot(path=SCREENSHOTS / f"money-{name}-phone.png", full_page=True)
        expected = {"Failed to load resource"} if name == "wrong" else set()
        assert {words.split(":")[0] for words in said} <= expected


def test_what_is_shown_is_what_the_ledger_adds_up_to(browser: Browser, served: Served) -> None:
    for name, books, heading in (("team", "team", "by-gpu"), ("money", "all", "year")):
        token, path = PAGES[name]
        with tab(browser, served.url + path, token) as (page, _said):
            found = {table["name"]: table for table in page.evaluate(TABLES)}[heading]
            column = found["heads"].index("Amount" if name == "team" else "Together")
            # Months are rounded one by one, and there are twelve of them.
            apart = abs(cents(found["foot"][column]) - served.books[books] / 10_000)
            assert apart <= (0.5 if name == "team" else 6)


@pytest.mark.skipif(not pages.CHARTS.is_file(), reason="the charts' script is not built")
def test_nothing_is_asked_of_other_sites_and_no_button_shares(
    browser: Browser, served: Served
) -> None:
    with tab(browser, served.url + "team/vision", "lead") as (page, said):
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.reload(wait_until="networkidle")
        shown(page, "team")
        assert {url.split("/")[2] for url in asked} == {served.url.split("/")[2]}
        assert page.locator(".modebar-btn, .modebar-logo").count() == 0
        assert said == []


def test_filters_are_chosen_by_keyboard_and_stand_in_the_address(
    browser: Browser, served: Served
) -> None:
    with tab(browser, served.url + "team/vision", "lead") as (page, _said):
        page.focus("#by-project")
        page.keyboard.type("vision-atlas")
        while page.evaluate("document.activeElement.textContent") != "Show":
            page.keyboard.press("Tab")
            assert page.evaluate("document.activeElement.tagName") != "BODY"
        page.keyboard.press("Enter")
        page.wait_for_url("**/team/vision?window=month&project=vision-atlas")
        assert "November 2026; vision-atlas" in page.locator("main").inner_text()
        page.get_by_role("link", name="All of this month").click()
        page.wait_for_url("**/team/vision?window=month")


def test_a_row_leads_to_the_leases_that_it_is_made_of(browser: Browser, served: Served) -> None:
    with tab(browser, served.url + "team/vision", "lead") as (page, _said):
        page.locator("#by-gpu ~ .scroll tbody a").first.click()
        page.wait_for_url("**project=**#leases-of-window")
        page.locator("#leases-of-window ~ .scroll tbody a").first.click()
        page.wait_for_url("**/leases/**")
        assert "Charges" in page.locator("main").inner_text()


def test_on_paper_there_are_tables_and_no_forms(browser: Browser, served: Served) -> None:
    with tab(browser, served.url + "team/vision/month/2026-10", "lead") as (page, _said):
        page.emulate_media(media="print")
        assert page.locator("nav").is_hidden()
        assert page.locator("#by-gpu ~ .scroll table").is_visible()
        assert page.evaluate("getComputedStyle(document.querySelector('.scroll')).maxHeight") == (
            "none"
        )
