"""The page of reservations in a real browser: without scripts, by keyboard, no fault for axe."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from tests.hub_ext.service.api.people import introduce
from tests.hub_ext.service.test_reservations_page import reserve
from tests.hub_ext.service.test_reserving import RULES
from tests.support.aside import aside
from tests.support.governing import site_in
from tests.support.identities import PREFIX, Door, door_to
from tests.support.tabs import tab

pytestmark = pytest.mark.browser


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    @asynccontextmanager
    async def serve() -> AsyncIterator[Door]:
        with site_in(tmp_path / "state", policy=RULES) as site:
            async with door_to(site) as opened:
                introduce(opened.hub)
                await reserve(opened, weekly_until="2026-12-08")
                yield opened

    with aside(serve) as standing:
        yield standing


@contextmanager
def page_of(browser: Browser, door: Door, token: str, **more: Any) -> Iterator[Page]:
    wide = {"width": 1280, "height": 900}
    with tab(browser, f"{door.url}{PREFIX}reservations", token, viewport=wide, **more) as (page, _):
        yield page


@pytest.mark.parametrize(("token", "scheme"), [("lead", "light"), ("owner", "dark")])
def test_axe_finds_nothing(browser: Browser, door: Door, token: str, scheme: str) -> None:
    with page_of(browser, door, token, color_scheme=scheme) as page:
        faults = Axe().run(page).response["violations"]
        assert [(fault["id"], fault["nodes"][0]["html"][:200]) for fault in faults] == []


def test_it_fits_on_a_phone(browser: Browser, door: Door) -> None:
    with page_of(browser, door, "lead") as page:
        page.set_viewport_size({"width": 360, "height": 700})
        assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_without_scripts_and_by_keyboard_one_is_made_and_called_off(
    browser: Browser, door: Door
) -> None:
    with page_of(browser, door, "lead", java_script_enabled=False) as page:
        page.get_by_role("link", name="Week after").click()
        page.get_by_role("cell", name="2026-12-08 12:00 UTC").wait_for()
        page.get_by_role("link", name="This week").click()
        page.get_by_label("For whom").fill("viktor")
        page.get_by_label("From, on the clock of UTC").fill("2026-12-02T14:00")
        page.get_by_label("Until, on the same clock").fill("2026-12-02T16:00")
        page.get_by_label("For what").press("Enter")
        card = page.get_by_role("listitem").filter(has_text="viktor, default server")
        card.get_by_role("heading", name="2026-12-02 14:00 for 2h, UTC").wait_for()
        card.get_by_role("button", name="Call it off").press("Enter")
        page.get_by_text("viktor, default server").wait_for(state="detached")
