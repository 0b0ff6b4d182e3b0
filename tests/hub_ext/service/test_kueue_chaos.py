"""Any order of people's acts and of faults between governor and Kueue: nothing lost or doubled."""

import asyncio
from pathlib import Path
from random import Random

import pytest

from tests.support.governed_kueue import Cluster, cluster_in
from tests.support.kueue_chaos import Fault, Life

STEPS = 60


def faults(cluster: Cluster) -> tuple[dict[str, Fault], dict[str, Fault]]:
    """What may go wrong with a small Kueue and its governor, and how it ends."""
    kueue = cluster.kueue

    async def kueue_away() -> None:
        kueue.faults.webhook_away = True

    async def api_away() -> None:
        kueue.faults.status = 503
        kueue.shelf.drop()

    async def answer_lost() -> None:
        kueue.faults.loses_answer = True

    async def watch_behind() -> None:
        kueue.shelf.compact()

    async def mended() -> None:
        kueue.faults.webhook_away = kueue.faults.loses_answer = False
        kueue.faults.status = 0

    async def nothing() -> None:
        pass

    breaks: dict[str, Fault] = {
        "kueue": kueue_away,
        "api": api_away,
        "answer": answer_lost,
        "watch": watch_behind,
        "governor": cluster.restart,
    }
    mends: dict[str, Fault] = dict.fromkeys(breaks, mended)
    return breaks, {**mends, "watch": nothing, "governor": nothing}


@pytest.mark.parametrize("seed", range(6))
def test_nothing_is_lost_or_doubled_whatever_breaks(tmp_path: Path, seed: int) -> None:
    async def tell() -> None:
        async with cluster_in(tmp_path) as cluster:
            life = Life(cluster, Random(seed), *faults(cluster))
            await life.live(STEPS)
            print(dict(life.done))

    asyncio.run(asyncio.wait_for(tell(), 280))
