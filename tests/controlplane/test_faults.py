"""People on a governor, and Kueue, the API server and the governor killed in the middle."""

import asyncio
from pathlib import Path
from random import Random

import pytest

from tests.controlplane.plane import ControlPlane
from tests.controlplane.test_governor import RealCluster, real_cluster, ruled
from tests.support import governed_kueue
from tests.support.kueue_chaos import Fault, Life

__all__ = ["ruled"]

pytestmark = [pytest.mark.kube, pytest.mark.timeout(600)]
STEPS = 120
PATIENCE_S = 90.0
"""A real server that was killed is back after seconds, on a busy machine after many."""


def faults(cluster: RealCluster) -> tuple[dict[str, Fault], dict[str, Fault]]:
    """Programs that are killed, and how they are started again."""

    def killed(*names: str) -> Fault:
        async def fault() -> None:
            for name in names:
                await asyncio.to_thread(cluster.plane.processes.end, name)

        return fault

    def back(*names: str) -> Fault:
        async def mend() -> None:
            for name in names:
                await asyncio.to_thread(cluster.plane.start_again, name)

        return mend

    async def nothing() -> None:
        pass

    breaks: dict[str, Fault] = {
        "kueue": killed("kueue"),
        "api": killed("kube-apiserver"),
        "both": killed("kueue", "kube-apiserver"),
        "governor": cluster.restart,
    }
    return breaks, {
        "kueue": back("kueue"),
        "api": back("kube-apiserver"),
        "both": back("kube-apiserver", "kueue"),
        "governor": nothing,
    }


@pytest.mark.parametrize("seed", [1, 2])
def test_no_lease_is_lost_or_doubled_and_no_charge_is_wrong(
    ruled: ControlPlane, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(governed_kueue, "LIMIT_S", PATIENCE_S)

    async def tell() -> None:
        async with real_cluster(ruled, tmp_path) as cluster:
            life = Life(cluster, Random(seed), *faults(cluster))
            await life.live(STEPS)
            print(f"seed {seed}: {dict(life.done)}")
            broken = [name for name in life.done if name.startswith("broken")]
            assert len(broken) >= 2
            assert life.done["granted"] > 5

    asyncio.run(asyncio.wait_for(tell(), 560))
