"""Follows Workloads without losing an end: lists, watches, and lists anew after every gap."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

from ..errors import RefusedError, UnreachableError
from .answers import ExpiredError
from .api import Api
from .engine import Gone, Seen
from .objects import Body
from .reading import gone, seen

Nap = Callable[[float], Awaitable[None]]
"""Sleeps for some seconds."""

Listed = Callable[[], Awaitable[tuple[tuple[Seen, ...], str]]]

FIRST_NAP_S, LONGEST_NAP_S = 0.5, 30.0
"""Between two tries: doubled each time, so that a server that comes back is not stormed."""

_FOLLOW_S = 240
"""After which the server ends a watch, and we go on from where we were."""


class Watch:
    """One follower of all Workloads.

    Parameters
    ----------
    api, path
        Where to watch.
    listed
        Lists all, and tells the version from which to follow.
    tell
        Is told why nothing can be followed just now, and an empty word when it can again.
    nap
        How to wait between two tries; None sleeps.
    """

    def __init__(
        self,
        api: Api,
        path: str,
        listed: Listed,
        tell: Callable[[str], None],
        nap: Nap | None = None,
    ) -> None:
        self._api = api
        self._path = path
        self._listed = listed
        self._tell = tell
        self._nap: Nap = nap or asyncio.sleep
        self._known: dict[str, Seen] = {}
        self._version = ""

    async def events(self) -> AsyncGenerator[Seen | Gone]:
        """Give all that there is, then every change, for as long as somebody asks."""
        wait_s = FIRST_NAP_S
        while True:
            try:
                if not self._version:
                    for event in await self._anew():
                        yield event
                self._tell("")
                wait_s = FIRST_NAP_S
                async with aclosing(self._follow()) as following:
                    async for event in following:
                        yield event
            except ExpiredError:
                self._version = ""
            except (UnreachableError, RefusedError) as error:
                # Missing rights may be given, and a missing kind installed, while we wait.
                self._tell(str(error))
                await self._nap(wait_s)
                wait_s = min(2 * wait_s, LONGEST_NAP_S)

    async def _anew(self) -> list[Seen | Gone]:
        """List all and compare: what was known and is no more is gone, whoever saw it go."""
        found, version = await self._listed()
        fresh = {one.uid: one for one in found}
        changes: list[Seen | Gone] = [
            Gone(one.lease_id, one.name, one.namespace, one.uid)
            for uid, one in self._known.items()
            if uid not in fresh
        ]
        changes += [one for uid, one in fresh.items() if self._known.get(uid) != one]
        self._known, self._version = fresh, version
        return changes

    async def _follow(self) -> AsyncGenerator[Seen | Gone]:
        query: dict[str, str | int | bool] = {
            "resourceVersion": self._version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": _FOLLOW_S,
        }
        async with aclosing(self._api.stream(self._path, query)) as stream:
            async for event in stream:
                body = event.get("object") or {}
                change: Seen | Gone | None = None
                match event.get("type"):
                    case "ADDED" | "MODIFIED":
                        self._known[_uid(body)] = change = seen(body)
                    case "DELETED":
                        change = gone(body)
                        self._known.pop(_uid(body), None)
                    case _:  # a bookmark: nothing changed, but time has passed
                        pass
                # After the change: if whoever asks breaks off here, it is given again.
                self._version = str(body["metadata"]["resourceVersion"])
                if change is not None:
                    yield change


def _uid(body: Body) -> str:
    return str(body["metadata"]["uid"])
