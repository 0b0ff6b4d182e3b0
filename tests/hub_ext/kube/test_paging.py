"""A long list comes page by page, and one that breaks off gives nothing."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from hub_ext.errors import UnreachableError
from hub_ext.kube.paging import listed

Query = Mapping[str, str | int | bool]


class Pages:
    """Three pages; the one that is asked for with `broken` does not come."""

    def __init__(self, broken: str = "") -> None:
        self.asked: list[dict[str, str | int | bool]] = []
        self._broken = broken

    async def get(self, path: str, query: Query | None = None) -> dict[str, Any]:
        assert path == "/api/v1/pods"
        asked = dict(query or {})
        self.asked.append(asked)
        token = str(asked.get("continue", ""))
        if token and token == self._broken:
            raise UnreachableError("the API server does not answer")
        number = int(token or 0)
        follows = {"continue": str(number + 1)} if number < 2 else {}
        items = [{"n": number}] if number != 1 else None
        return {"items": items, "metadata": follows}


def test_every_page_is_read_with_the_same_selector() -> None:
    pages = Pages()
    found = asyncio.run(listed(pages, "/api/v1/pods", "a=b"))
    assert found == ({"n": 0}, {"n": 2})
    assert [one.get("continue") for one in pages.asked] == [None, "1", "2"]
    assert {one["labelSelector"] for one in pages.asked} == {"a=b"}
    asyncio.run(listed(pages, "/api/v1/pods"))
    assert "labelSelector" not in pages.asked[-1]


def test_a_list_that_breaks_off_gives_nothing() -> None:
    with pytest.raises(UnreachableError):
        asyncio.run(listed(Pages(broken="2"), "/api/v1/pods"))
