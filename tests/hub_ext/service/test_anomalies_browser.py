"""The page of anomalies in a real browser: axe, console, a phone, the form without scripts."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from tests.hub_ext.service.api.people import introduce
from tests.support.aside import aside
from tests.support.governing import site_in
from tests.support.identities import PREFIX, Door, door_to
from tests.support.odd_site import GIB, LONG, pass_time
from tests.support.tabs import tab

pytestmark = pytest.mark.browser

PHONE = 360


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    @asynccontextmanager
    async def serve() -> AsyncIterator[Door]:
        with site_in(tmp_path / "state", policy=LONG) as site:
            site.run("vera")
            pass_time(site, 1.2)
            pass_time(site, 0.4, gpu=60, memory=20 * GIB)
            site.run("sam")
            pass_time(site, 1.2)
            async with door_to(site) as door:
                introduce(door.hub)
                yield door

    with aside(serve) as standing:
        yield standing


@contextmanager
def opened(
    browser: Browser, door: Door, token: str = "admin", path: str = "anomalies", **more: Any
) -> Iterator[tuple[Page, list[str]]]:
    with tab(browser, f"{door.url}{PREFIX}{path}", token, **more) as standing:
        yield standing


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_and_the_console_stays_silent(
    browser: Browser, door: Door, scheme: str
) -> None:
    with opened(browser, door, color_scheme=scheme) as (page, said):
        page.get_by_role("heading", name="Over within the last 7 days").wait_for()
        faults = Axe().run(page).response["violations"]
        assert [(fault["id"], fault["nodes"][0]["html"][:200]) for fault in faults] == []
        assert said == []


def test_it_fits_on_a_phone(browser: Browser, door: Door) -> None:
    with opened(browser, door, viewport={"width": PHONE, "height": 800}) as (page, _said):
        too_wide = "document.documentElement.scrollWidth - window.innerWidth"
        assert page.evaluate(too_wide) <= 0


def test_without_scripts_a_lead_asks_and_the_owner_reads_it(browser: Browser, door: Door) -> None:
    with opened(browser, door, "other-lead", java_script_enabled=False) as (page, _said):
        page.get_by_label("Do", exact=True).first.select_option("ask")
        page.get_by_label("Why, read by its owner").first.fill("Do you need it?")
        page.get_by_role("button", name="Do it").first.click()
        page.get_by_role("heading", name="Anomalies").wait_for()
    with opened(browser, door, "other-lead", "team/speech") as (page, _said):
        page.get_by_text("lars asks you: Do you need it?").first.wait_for()


def test_the_page_of_a_server_with_what_its_gpu_waits_for_has_no_fault(
    browser: Browser, door: Door
) -> None:
    with opened(browser, door, path="leases/l-0001") as (page, said):
        page.get_by_role("heading", name="What its GPU waits for").wait_for()
        faults = Axe().run(page).response["violations"]
        assert [(fault["id"], fault["nodes"][0]["html"][:200]) for fault in faults] == []
        assert said == []
