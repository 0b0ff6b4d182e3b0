"""Which container holds which GPU, as a kubelet tells it over gRPC."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hub_ext.errors import UnreachableError
from hub_ext.lease import DeviceHolding, DeviceId, WatchList
from hub_ext.telemetry.agent import Agent
from hub_ext.telemetry.kubelet import Kubelet
from hub_ext.telemetry.sample import Reading
from tests.support.kubelet_socket import KubeletSocket


@pytest.fixture
def kubelet(tmp_path: Path) -> Iterator[KubeletSocket]:
    with KubeletSocket(tmp_path / "kubelet.sock") as served:
        yield served


def test_gpus_and_mig_devices_are_told_with_who_holds_them(kubelet: KubeletSocket) -> None:
    kubelet.held = {
        ("gpu-maps", "jupyter-ada"): ("nvidia.com/gpu", ("GPU-2", "GPU-1")),
        ("gpu-maps", "jupyter-bo"): ("nvidia.com/mig-1g.18gb", ("MIG-7",)),
        ("gpu-maps", "share"): ("nvidia.com/gpu.shared", ("GPU-9::3",)),
        ("data", "db"): ("smarter-devices/fuse", ("fuse-1",)),
    }
    asked = Kubelet(kubelet.path)
    assert [(one.device, one.pod) for one in asked.holdings()] == [
        ("GPU-1", "jupyter-ada"),
        ("GPU-2", "jupyter-ada"),
        ("GPU-9::3", "share"),
        ("MIG-7", "jupyter-bo"),
    ]
    kubelet.held = {}
    assert asked.holdings() == ()
    asked.close()


def test_a_kubelet_that_refuses_or_is_not_there_is_said_and_asked_again(
    kubelet: KubeletSocket, tmp_path: Path
) -> None:
    kubelet.held = {("gpu-maps", "jupyter-ada"): ("nvidia.com/gpu", ("GPU-1",))}
    kubelet.refuses = True
    asked = Kubelet(kubelet.path)
    with pytest.raises(UnreachableError, match="RESOURCE_EXHAUSTED rejected by rate limit"):
        asked.holdings()
    kubelet.refuses = False
    assert len(asked.holdings()) == 1
    asked.close()
    with pytest.raises(UnreachableError, match="is it mounted"):
        Kubelet(tmp_path / "nothing.sock").holdings()


class _Nothing:
    """A node without a driver."""

    source: str = "nvml"
    floor_s = 0.0

    def read(self, _watch: WatchList, _now: datetime) -> tuple[Reading, ...]:
        return ()

    def close(self) -> None:
        """Have nothing to let go of."""


class _Deaf:
    """A governor that is never asked."""

    async def post(self, _batch: object) -> WatchList:
        return WatchList(leases=())


@pytest.mark.parametrize("answers", [True, False])
def test_a_batch_says_who_holds_the_devices_or_that_nobody_could_be_asked(answers: bool) -> None:
    one = DeviceHolding(namespace="gpu-maps", pod="jupyter-ada", device=DeviceId("GPU-1"))

    def holdings() -> tuple[DeviceHolding, ...]:
        if not answers:
            raise UnreachableError("the kubelet is away")
        return (one,)

    agent = Agent(
        _Nothing(),  # type: ignore[arg-type]
        _Deaf(),
        node="n1",
        period_s=1,
        holdings=holdings,
        now=lambda: datetime.now(UTC),
    )
    (batch,) = agent.gather()
    assert batch.holdings == ((one,) if answers else None)
