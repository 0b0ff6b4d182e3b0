"""Opens one of the governor's pages in a real browser as somebody, and hears its console."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, Page


@contextmanager
def tab(browser: Browser, url: str, token: str, **more: Any) -> Iterator[tuple[Page, list[str]]]:
    """Give the page once it is loaded, and what its console says; `more` is of the context."""
    context = browser.new_context(extra_http_headers={"Authorization": f"token {token}"}, **more)
    context.set_default_timeout(20_000)
    page, said = context.new_page(), list[str]()
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    try:
        page.goto(url, wait_until="load")
        yield page, said
    finally:
        context.close()
