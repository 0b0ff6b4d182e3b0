"""What a person sees of a page: pictures to judge, what axe finds serious, whether a phone fits."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.support.lab_browser import SCREENSHOTS

PHONE = {"width": 360, "height": 780}


def picture(page: Page, name: str, *, whole: bool = True) -> None:
    """Leave a screenshot for people to judge, of the whole page or of what the window shows."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=whole)


def serious_faults(page: Page, within: Iterable[str] = ()) -> list[str]:
    """What axe finds serious or critical, on the page or inside the parts named by selectors."""
    parts = [[part] for part in within if page.locator(part).count()]
    found = Axe().run(page, context={"include": parts} if parts else None, options={})
    return [
        f"{fault['id']}: {[node['html'][:160] for node in fault['nodes']]}"
        for fault in found.response["violations"]
        if fault["impact"] in {"serious", "critical"}
    ]


@contextmanager
def dark(page: Page) -> Iterator[None]:
    """Show the page to somebody who prefers it dark."""
    page.emulate_media(color_scheme="dark")
    try:
        yield
    finally:
        page.emulate_media(color_scheme="light")


@contextmanager
def phone(page: Page) -> Iterator[None]:
    """Show the page on a phone."""
    wide = page.viewport_size
    page.set_viewport_size({"width": PHONE["width"], "height": PHONE["height"]})
    try:
        yield
    finally:
        if wide is not None:
            page.set_viewport_size(wide)


def overflow(page: Page) -> int:
    """Pixels by which the page is wider than its window."""
    width: int = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    return width
