"""The admin page with all its forms in a real browser: a policy waits, maintenance is announced."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from tests.hub_ext.service.api.people import introduce
from tests.hub_ext.service.test_accept_page import careful
from tests.support.aside import aside
from tests.support.governing import site_in
from tests.support.identities import PREFIX, Door, door_to
from tests.support.tabs import tab

pytestmark = pytest.mark.browser

PHONE = 360


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    @asynccontextmanager
    async def serve() -> AsyncIterator[Door]:
        with site_in(tmp_path / "state") as site:
            site.run("vera")
            careful(site)
            async with door_to(site) as door:
                introduce(door.hub)
                yield door

    with aside(serve) as standing:
        yield standing


@contextmanager
def opened(browser: Browser, door: Door, **more: Any) -> Iterator[tuple[Page, list[str]]]:
    with tab(browser, f"{door.url}{PREFIX}admin", "admin", **more) as standing:
        yield standing


def announce(page: Page) -> None:
    page.get_by_label("Announce maintenance of").select_option("node/node-2")
    page.get_by_label("From (UTC)").fill("2026-12-04T06:00")
    page.locator("#end").fill("2026-12-04T10:00")
    page.get_by_label("Reason, read by whoever is there").fill("a new disk for everybody")
    page.get_by_role("button", name="Announce").click()
    page.get_by_role("cell", name="a new disk for everybody").wait_for()


def exempt(page: Page) -> None:
    page.get_by_label("Exempt", exact=True).select_option("team")
    page.get_by_label("Name, or the id of the lease").fill("vision")
    page.locator("#until").fill("2026-12-02T08:00")
    page.get_by_label("Reason, read by whom it concerns").fill("a deadline")
    page.get_by_role("button", name="Exempt until then").click()
    page.get_by_role("cell", name="a deadline").wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_any_form_and_the_console_stays_silent(
    browser: Browser, door: Door, scheme: str
) -> None:
    with opened(browser, door, color_scheme=scheme) as (page, said):
        page.get_by_role("button", name="Accept").wait_for()
        announce(page)
        exempt(page)
        faults = Axe().run(page).response["violations"]
        assert [(fault["id"], fault["nodes"][0]["html"][:200]) for fault in faults] == []
        assert said == []


def test_it_fits_on_a_phone(browser: Browser, door: Door) -> None:
    with opened(browser, door, viewport={"width": PHONE, "height": 800}) as (page, _said):
        announce(page)
        exempt(page)
        too_wide = "document.documentElement.scrollWidth - window.innerWidth"
        assert page.evaluate(too_wide) <= 0


def test_without_scripts_maintenance_is_called_off_and_an_exemption_ended(
    browser: Browser, door: Door
) -> None:
    with opened(browser, door, java_script_enabled=False) as (page, _said):
        announce(page)
        exempt(page)
        page.get_by_label("Why machine node-2 is called off").fill("it comes later")
        page.get_by_role("button", name="Call off").click()
        page.get_by_text("None is announced.").wait_for()
        page.get_by_label("Why the exemption of team vision ends").fill("it is met")
        page.get_by_role("button", name="End", exact=True).click()
        page.get_by_text("Nobody is exempt.").wait_for()
