"""The page of what waits in a real browser: live, without a fault for axe, and without scripts."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
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


@dataclass
class Served:
    """A full site in a thread of its own, where viktor waits before vera."""

    door: Door
    loop: asyncio.AbstractEventLoop
    first: LeaseId

    def do(self, act: Callable[[Door], Awaitable[object]]) -> None:
        """Let something happen at the site."""

        async def done() -> None:
            await act(self.door)

        asyncio.run_coroutine_threadsafe(done(), self.loop).result(20)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    @asynccontextmanager
    async def serve() -> AsyncIterator[Served]:
        with site_in(tmp_path / "state") as site:
            site.run("viktor")
            site.run("viktor", server="second")
            first = site.waits("viktor", server="third")
            site.later(30)
            site.waits("vera")
            async with door_to(site) as door:
                introduce(door.hub)
                yield Served(door, asyncio.get_running_loop(), first.id)

    with aside(serve) as standing:
        yield standing


@contextmanager
def opened(browser: Browser, served: Served, **more: Any) -> Iterator[tuple[Page, list[str]]]:
    wide = {"width": 1280, "height": 900}
    url = f"{served.door.url}{PREFIX}queue"
    with tab(browser, url, "owner", viewport=wide, **more) as standing:
        yield standing


def test_a_place_moves_up_while_the_page_is_open(browser: Browser, served: Served) -> None:
    with opened(browser, served) as (page, said):
        page.get_by_text("Number 2 for pool whole").wait_for()
        page.get_by_text("keeps itself up to date").wait_for()
        page.evaluate("window.sameDocument = true")
        served.do(lambda door: door.call("POST", f"leases/{served.first}/cancel", "teammate"))
        page.get_by_text("Number 1 for pool whole: nobody is before you").wait_for()
        assert page.evaluate("window.sameDocument")
        assert said == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(browser: Browser, served: Served, scheme: str) -> None:
    with opened(browser, served, color_scheme=scheme) as (page, said):
        faults = Axe().run(page).response["violations"]
        assert [(fault["id"], fault["nodes"][0]["html"][:200]) for fault in faults] == []
        assert said == []


def test_it_fits_on_a_phone(browser: Browser, served: Served) -> None:
    with opened(browser, served) as (page, _said):
        page.set_viewport_size({"width": 360, "height": 700})
        assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_without_scripts_the_forms_do_the_same(browser: Browser, served: Served) -> None:
    with opened(browser, served, java_script_enabled=False) as (page, _said):
        page.get_by_label("and then").select_option("hold")
        page.get_by_role("button", name="Change").click()
        page.get_by_text("A device is held when its turn comes; you start the server.").wait_for()
        page.get_by_role("button", name="Leave the queue").click()
        page.get_by_text("Nothing of yours waits.").wait_for()
