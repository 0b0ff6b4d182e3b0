"""An administrator sees in a browser that idle stops are held, and lets them go on."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from hub_ext.lease import LeaseId
from tests.hub_ext.service.api.people import introduce
from tests.support.aside import aside
from tests.support.governing import site_in
from tests.support.identities import PREFIX, Door, door_to
from tests.support.tabs import tab

pytestmark = pytest.mark.browser

PHONE = 360
TOGETHER = 6
HEAD = "Nobody is stopped as idle"


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    """Let six servers of six turn idle together, which looks like a broken counter."""

    @asynccontextmanager
    async def serve() -> AsyncIterator[Door]:
        with site_in(tmp_path / "state") as site:
            live = frozenset(LeaseId(f"l-{number}") for number in range(TOGETHER))
            idle = dict.fromkeys(live, site.now)
            site.governor.weigh_idleness(live, idle, now=site.now)
            assert site.governor.idle_held is not None
            async with door_to(site) as door:
                introduce(door.hub)
                yield door

    with aside(serve) as standing:
        yield standing


@contextmanager
def opened(
    browser: Browser, door: Door, who: str = "admin", **more: Any
) -> Iterator[tuple[Page, list[str]]]:
    with tab(browser, f"{door.url}{PREFIX}admin", who, **more) as standing:
        yield standing


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_while_idle_stops_are_held(
    browser: Browser, door: Door, scheme: str
) -> None:
    with opened(browser, door, color_scheme=scheme) as (page, said):
        page.get_by_role("heading", name=HEAD).wait_for()
        faults = Axe().run(page).response["violations"]
        assert [(fault["id"], fault["nodes"][0]["html"][:200]) for fault in faults] == []
        assert said == []


def test_by_keyboard_alone_and_without_scripts_held_stops_are_let_go_on(
    browser: Browser, door: Door
) -> None:
    with opened(browser, door, java_script_enabled=False) as (page, _said):
        part = page.get_by_role("region", name=HEAD)
        assert f"{TOGETHER} of {TOGETHER}" in part.inner_text()
        reason = part.get_by_label("Reason, if you know that they are idle")
        reason.focus()
        # Without a reason nothing is sent.
        page.keyboard.press("Enter")
        assert part.is_visible()
        page.keyboard.type("the course is over")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.get_by_role("heading", name=HEAD).wait_for(state="detached")


def test_it_fits_on_a_phone(browser: Browser, door: Door) -> None:
    with opened(browser, door, viewport={"width": PHONE, "height": 800}) as (page, _said):
        page.get_by_role("heading", name=HEAD).wait_for()
        too_wide = "document.documentElement.scrollWidth - window.innerWidth"
        assert page.evaluate(too_wide) <= 0


@pytest.mark.parametrize("who", ["lead", "owner"])
def test_nobody_else_is_shown_the_form(browser: Browser, door: Door, who: str) -> None:
    with opened(browser, door, who) as (page, _said):
        assert page.get_by_role("heading", name=HEAD).count() == 0
        assert page.get_by_role("button", name="Let idle stops go on").count() == 0
