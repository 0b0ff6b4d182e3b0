"""Reads a whole list from the API server, page by page: the one home of how pages follow."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Protocol

_PAGE = 500
"""Objects asked for at once: the API server's own advice for large lists."""

Query = Mapping[str, str | int | bool]


class Readable(Protocol):
    """What a list is read from: the API server, or what behaves like it."""

    async def get(self, path: str, query: Query | None = None) -> dict[str, Any]:
        """Read one page."""


async def listed(source: Readable, path: str, selector: str = "") -> tuple[dict[str, Any], ...]:
    """Read every object of a list.

    Parameters
    ----------
    selector
        Label selector; empty takes all.

    Raises
    ------
    UnreachableError, RefusedError
        As the source does: of a list that breaks off nothing is given.
    """
    found: list[dict[str, Any]] = []
    async for page in pages(lambda query: source.get(path, query), selector):
        found += page.get("items") or ()
    return tuple(found)


async def pages(
    ask: Callable[[Query], Awaitable[dict[str, Any]]], selector: str = ""
) -> AsyncIterator[dict[str, Any]]:
    """Give the pages of a list one after the other; `ask` reads one."""
    query: dict[str, str | int | bool] = {"limit": _PAGE}
    if selector:
        query["labelSelector"] = selector
    while True:
        page = await ask(query)
        yield page
        more = (page.get("metadata") or {}).get("continue")
        if not more:
            return
        query = {**query, "continue": more}
