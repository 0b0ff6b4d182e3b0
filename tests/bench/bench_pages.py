"""How long the pages of money take over a year of 50 teams and 10,000 leases a month."""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.bench.table import Row, against
from tests.support.identities import PREFIX, Door, door_to
from tests.support.money_year import year_in

TEAMS = tuple(f"team-{number:02d}" for number in range(50))
A_DAY = 8.0
ROUNDS = 5
LIMIT_S = 1.0
PAGES = {
    "a year by month and team, for admins": ("admin", "admin/money"),
    "a team's month": ("lead", "team/team-07"),
    "a team's year": ("lead", "team/team-07?window=365d"),
    "a person's year": ("owner", "?window=365d"),
    "the report of a team's month": ("lead", "team/team-07/month/2026-10"),
}


def rows() -> Iterator[Row]:
    """Time each page from request to answer, the first one and the median after it."""
    with tempfile.TemporaryDirectory() as name:
        found = asyncio.run(_measured(Path(name) / "state"))
    for what, (first, later) in found.items():
        yield against(f"{what}, the first time", first, LIMIT_S, "12 months x 50 teams in")
        yield against(f"{what}, again", later, LIMIT_S, "12 months x 50 teams in")


async def _measured(state: Path) -> dict[str, tuple[float, float]]:
    with year_in(state, teams=TEAMS, a_day=A_DAY, bare=True) as site:
        async with door_to(site) as door:
            door.hub.person("owner", "team-07-ada", groups=("team-07",))
            door.hub.person("lead", "lead-team-07")
            door.hub.person("admin", "root", scopes=("custom:gpu-commons:admin",))
            return {what: await _timed(door, *page) for what, page in PAGES.items()}


async def _timed(door: Door, token: str, path: str) -> tuple[float, float]:
    spent = []
    for _round in range(ROUNDS):
        begin = time.perf_counter()
        answer = await door.call("GET", PREFIX + path, token)
        spent.append(time.perf_counter() - begin)
        assert answer.code == 200, answer.body[:500]
    return spent[0], statistics.median(spent[1:])
