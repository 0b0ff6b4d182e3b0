"""The pages in a real browser: what axe says, what the console says, how they fit and draw."""

import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from hub_ext.lease import Cause
from hub_ext.policy.load import loads
from hub_ext.service.pages import overview as pages
from tests.hub_ext.service.api.people import introduce
from tests.hub_ext.service.test_budget_pages import BUDGETS
from tests.support.aside import aside
from tests.support.governing import POLICY, site_in
from tests.support.identities import PREFIX, door_to
from tests.support.lived_in import edit_to_nonsense, morning
from tests.support.tabs import tab

pytestmark = pytest.mark.browser

SCREENSHOTS = Path(__file__).parents[2] / "e2e/screenshots"
WIDE, PHONE = 1280, 360
PAGES = {
    "mine": ("owner", ""),
    "new": ("newcomer", ""),
    "limits": ("owner", "limits"),
    "team": ("lead", "team/vision"),
    "admin": ("admin", "admin"),
    "why": ("teammate", "why/viktor/-"),
    "refused": ("owner", "admin"),
}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The pages of a site after a morning of work, served from a thread of the test."""
    state = tmp_path_factory.mktemp("morning") / "state"

    @asynccontextmanager
    async def serve() -> AsyncIterator[str]:
        with site_in(state) as site:
            made = morning(site)
            assert site.lease(made.idle).cause is Cause.culled
            site.governor.set_policy(loads(POLICY + BUDGETS), now=site.now)
            site.governor.tend_budgets(now=site.now)
            edit_to_nonsense(site)
            async with door_to(site) as door:
                introduce(door.hub)
                door.hub.person("newcomer", "nora", groups=("elsewhere",))
                yield door.url + PREFIX

    with aside(serve) as url:
        yield url


@dataclass
class Tab:
    """One open page and what its console said."""

    page: Page
    said: list[str] = field(default_factory=list)


@contextmanager
def opened(
    browser: Browser, address: str, name: str, *, width: int = WIDE, **more: Any
) -> Iterator[Tab]:
    """Open a page as the one it is for."""
    token, path = PAGES[name]
    size = {"width": width, "height": 800}
    with tab(browser, address + path, token, viewport=size, **more) as (page, said):
        yield Tab(page, said)


@pytest.mark.parametrize(
    ("name", "scheme"), [(name, "light") for name in PAGES] + [("team", "dark"), ("admin", "dark")]
)
def test_axe_finds_nothing_and_the_console_stays_silent(
    browser: Browser, address: str, name: str, scheme: str
) -> None:
    with opened(browser, address, name, color_scheme=scheme) as tab:
        if name == "team" and pages.CHARTS.is_file():
            tab.page.wait_for_selector("[data-drawn]")
        faults = Axe().run(tab.page).response["violations"]
        assert [(fault["id"], fault["nodes"][0]["html"][:200]) for fault in faults] == []
        picture(tab, f"{name}-{scheme}")
        expected = {"Failed to load resource"} if name == "refused" else set()
        assert {words.split(":")[0] for words in tab.said} <= expected


@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_wider_than_a_phone(browser: Browser, address: str, name: str) -> None:
    with opened(browser, address, name, width=PHONE) as tab:
        too_wide = "document.documentElement.scrollWidth - window.innerWidth"
        assert tab.page.evaluate(too_wide) <= 0
        picture(tab, f"{name}-phone")


def picture(tab: Tab, name: str) -> None:
    """Leave a screenshot for people to judge."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    tab.page.screenshot(path=SCREENSHOTS / f"page-{name}.png", full_page=True)


@pytest.mark.skipif(not pages.CHARTS.is_file(), reason="the charts' script is not built")
def test_the_chart_is_drawn_under_the_strict_policy_and_sends_nothing_away(
    browser: Browser, address: str
) -> None:
    with opened(browser, address, "team") as tab:
        asked: list[str] = []
        tab.page.on("request", lambda request: asked.append(request.url))
        tab.page.reload(wait_until="networkidle")
        tab.page.wait_for_selector("[data-drawn]")
        assert tab.page.locator(".plot .barlayer .point").count() >= 2
        assert tab.page.locator(".modebar-btn").count() == 0
        assert "Share" not in tab.page.inner_text("figure")
        assert tab.said == []
        assert {url.split("/")[2] for url in asked} == {address.split("/")[2]}
        label = tab.page.get_attribute("#use ~ .beside .plot", "aria-label") or ""
        assert label.startswith("Team vision held 1.89 GPU-hours")
        box = tab.page.locator(".plot .main-svg").first.bounding_box()
        assert box is not None
        assert box["width"] > 300


@pytest.mark.skipif(not pages.CHARTS.is_file(), reason="the charts' script is not built")
def test_the_chart_follows_light_and_dark(browser: Browser, address: str) -> None:
    with opened(browser, address, "team", color_scheme="light") as tab:
        tab.page.wait_for_selector("[data-drawn]")
        ink = "getComputedStyle(document.querySelector('.plot .ytick text')).fill"
        light = tab.page.evaluate(ink)
        tab.page.emulate_media(color_scheme="dark")
        deadline = time.monotonic() + 10
        while tab.page.evaluate(ink) == light:
            assert time.monotonic() < deadline, "the chart keeps its colours"
            tab.page.wait_for_timeout(50)


def test_without_javascript_the_table_says_it_all(browser: Browser, address: str) -> None:
    with opened(browser, address, "team", java_script_enabled=False) as tab:
        text = tab.page.locator("main").inner_text()
        assert "EUR 6.98" in text
        assert "Team vision held 1.89 GPU-hours" in text


def test_a_chart_that_cannot_load_goes_away(browser: Browser, address: str) -> None:
    with opened(browser, address, "team") as tab:
        tab.page.route("**/plotly-basic.min.js", lambda route: route.abort())
        tab.page.reload(wait_until="load")
        tab.page.locator("figure").wait_for(state="detached")
        assert "EUR 6.98" in tab.page.locator("main").inner_text()


def test_by_keyboard_alone_the_stretch_of_time_changes_and_focus_is_seen(
    browser: Browser, address: str
) -> None:
    with opened(browser, address, "mine") as tab:
        page = tab.page
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to content"
        page.focus("#window")
        style = "getComputedStyle(document.activeElement).outlineStyle"
        page.keyboard.press("Tab")
        assert page.evaluate(style) == "solid"
        page.focus("#window")
        page.keyboard.type("Last month")
        while page.evaluate("document.activeElement.textContent") != "Show":
            page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.wait_for_url("**window=last-month")
        assert "you held no GPU in this time" in page.locator("main").inner_text()


def test_a_charge_leads_to_its_lease_and_back(browser: Browser, address: str) -> None:
    with opened(browser, address, "mine") as tab:
        tab.page.get_by_role("link", name="EUR 0.50").last.click()
        tab.page.wait_for_url("**/leases/**#charges")
        assert "EUR 0.72 / h" in tab.page.locator("main").inner_text()
        tab.page.get_by_role("link", name="My usage").click()
        tab.page.wait_for_url(address)
