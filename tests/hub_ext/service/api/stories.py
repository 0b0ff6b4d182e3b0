"""How a story is told at the governor's door."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from tests.hub_ext.service.api.people import introduce
from tests.support.governing import POLICY, site_in
from tests.support.identities import Door, door_to


def at_the_door(
    tmp_path: Path,
    story: Callable[[Door], Awaitable[None]],
    *,
    policy: str = POLICY,
    **settings: object,
) -> None:
    """Open a site, serve it, introduce everybody, and tell the story."""

    async def told() -> None:
        with site_in(tmp_path, policy=policy, **settings) as site:
            async with door_to(site) as door:
                introduce(door.hub)
                await story(door)

    asyncio.run(told())
