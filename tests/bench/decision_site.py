"""A governor of a large site in a process of its own, for the bench of decisions.

It prints its address when it is ready, then the longest stall of its loop for each line that it
reads, and serves until its input ends.
"""

import asyncio
import sys
from pathlib import Path

from hub_ext.lease import Ask, Choice, ProfileName, ServerKey, UserName
from hub_ext.service.http.turns import new_loop, share_evenly
from tests.bench.stalls import Stalls, answer
from tests.support.governing import site_in
from tests.support.identities import door_to

TEAMS, PEOPLE, OPEN = 10, 1000, 200
NODES, GPUS = 40, 8


def policy() -> str:
    """Ten teams of a hundred people; 320 GPUs, of which each team has 20 and may borrow 10."""
    nodes = ", ".join(f"{{name: node-{n}, gpus: {GPUS}}}" for n in range(NODES))
    teams = "".join(
        f"  team-{n}: {{groups: [team-{n}], over_quota: borrow, "
        f'quota: {{whole: {{nominal: "20", borrowing_limit: "10"}}}}}}\n'
        for n in range(TEAMS)
    )
    return (
        "version: 1\ncurrency: EUR\nmodes: {quota: enforce}\n"
        f"pools:\n  whole: {{model: h200-141gb, nodes: [{nodes}]}}\n"
        f"teams:\n{teams}"
        'profiles:\n  one: {title: One GPU, pool: whole, flavor: {gpus: 1}, cpu: "2", '
        "memory: 2GiB, lifetime: {default: 1h, longest: 2h}}\n"
        'prices: [{pool: whole, from: 2026-01-01, per_hour: "3.60"}]\n'
    )


def asking(person: int, attempt: str) -> Ask:
    """Make the ask of one of the thousand."""
    return Ask(
        attempt_id=attempt,
        key=ServerKey(user=UserName(f"user-{person:04d}")),
        groups=(f"team-{person % TEAMS}",),
        choice=Choice(profile=ProfileName("one")),
    )


async def serve(folder: Path) -> None:
    """Fill the site and serve it."""
    with site_in(folder, policy=policy()) as site:
        for person in range(OPEN):
            site.started(site.ask(asking(person, f"first-{person:04d}")))
        async with door_to(site) as door:
            door.hub.service("spawner", "gpu-commons-spawner", "custom:gpu-commons:ask")
            share_evenly()
            print(door.url, flush=True)
            await answer(Stalls())


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(serve(Path(sys.argv[1])))
