"""Reads a whole list from the API server, page by page: the one home of how pages follow."""

from collections.abc import Mapping
from typing import Any, Protocol

_PAGE = 500
"""Objects asked for at once: the API server's own advice for large lists."""


class Readable(Protocol):
    """What a list is read from: the API server, or what behaves like it."""

    async def get(
        self, path: str, query: Mapping[str, str | int | bool] | None = None
    ) -> dict[str, Any]:
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
    query: dict[str, str | int | bool] = {"limit": _PAGE}
    if selector:
        query["labelSelector"] = selector
    found: list[dict[str, Any]] = []
    while True:
        page = await source.get(path, query)
        found += page.get("items") or ()
        more = (page.get("metadata") or {}).get("continue")
        if not more:
            return tuple(found)
        query["continue"] = more
