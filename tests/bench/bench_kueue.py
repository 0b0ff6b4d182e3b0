"""How fast a real Kueue admits leases on 200 nodes of 8 GPUs, beside the same load as plain pods.

Each load is 1,000 requests of one GPU by 16 hands, seen through the product's own watch. A pod
that names a queue costs Kueue a Workload of its own, and the API server the pod and its gates;
a lease is the Workload alone, and its server's pod comes later and needs no queue. Both draw on
the same queue, one load after the other.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from hub_ext.errors import UnreachableError
from hub_ext.kube import names
from hub_ext.kube.answers import ConflictError
from hub_ext.kube.api import Api
from hub_ext.kube.engine import Phase, Seen, Wanted
from hub_ext.kube.workloads import Workloads
from hub_ext.lease import LeaseId, PoolName
from hub_ext.units import UNITS_PER_GPU
from tests.bench.table import Row, percentiles
from tests.controlplane import queues
from tests.controlplane.kueue import start_kueue
from tests.controlplane.nodes import fake_node, takes_pods
from tests.controlplane.plane import ControlPlane
from tests.controlplane.programs import PROGRAMS, NotBuiltError, Shop
from tests.controlplane.workers import start_controllers, start_kwok, start_scheduler

NODES, GPUS, REQUESTS, HANDS = 200, 8, 1000, 16
POOL, QUEUE, GPU = "main", "door", "nvidia.com/gpu"
LIMIT_S = 300.0
REPLACED = {"input": GPU, "strategy": "Replace", "outputs": {queues.UNIT: str(UNITS_PER_GPU)}}
"""So that a pod's GPU and a lease's units are one quota."""


@dataclass
class Load:
    """What was measured of one load."""

    submitted: dict[str, float] = field(default_factory=dict)
    admitted: dict[str, float] = field(default_factory=dict)
    seen: int = 0
    cpu_s: float = 0.0

    def waits(self) -> tuple[float, float]:
        """Median and 95th percentile of submitted to admitted, in seconds."""
        return percentiles([self.admitted[one] - at for one, at in self.submitted.items()])

    def all_s(self) -> float:
        """Seconds from the first submission to the last admission."""
        return max(self.admitted.values()) - min(self.submitted.values())


def rows() -> Iterator[Row]:
    """Leases beside pods; nothing where the control plane is not built."""
    try:
        Shop().require(PROGRAMS)
    except NotBuiltError as lacking:
        print(lacking, file=sys.stderr)
        return
    with (
        tempfile.TemporaryDirectory() as folder,
        ControlPlane.running(Path(folder) / "plane") as plane,
    ):
        start_kueue(plane, resources={"transformations": [REPLACED]})
        start_controllers(plane)
        start_scheduler(plane)
        start_kwok(plane)
        namespace = _site(plane)
        leases = asyncio.run(_measure(plane, namespace, _lease))
        queues.clear(plane.api, only=("workloads",))
        pods = asyncio.run(_measure(plane, namespace, _pod))
    what = f"Kueue, {NODES} nodes of {GPUS} GPUs, {REQUESTS:,} leases"
    for words, ours, theirs in zip(("p50", "p95"), leases.waits(), pods.waits(), strict=True):
        yield _row(f"{what}: submitted to admitted, {words}", ours, theirs)
    yield _row(f"{what}: all of them", leases.all_s(), pods.all_s())
    yield _row(f"{what}: CPU of who submits and watches", leases.cpu_s, pods.cpu_s)
    events = f"{leases.seen / REQUESTS:.1f} each", f"{pods.seen / REQUESTS:.1f} each as pods"
    yield Row(f"{what}: events of the watch", *events, f"{leases.seen / pods.seen:.2f}")


def _row(what: str, ours_s: float, theirs_s: float) -> Row:
    return Row(what, f"{ours_s:.2f} s", f"as pods {theirs_s:.2f} s", f"{ours_s / theirs_s:.2f}")


def _site(plane: ControlPlane) -> str:
    """Make nodes, a pool with all their GPUs, and the door to it; return the namespace."""
    namespace, api = plane.namespace("bench"), plane.api
    label = {names.FLAVOR_LABEL: POOL}
    flavor = names.flavor(POOL)
    nodes = [fake_node(f"n{n}", {GPU: str(GPUS)}, labels=label) for n in range(NODES)]
    for node in nodes:
        api.create("/api/v1/nodes", node)
    quota = queues.quota({flavor: NODES * GPUS * UNITS_PER_GPU})
    api.apply(
        [
            queues.flavor(flavor, **label),
            queues.cluster_queue(QUEUE, quota),
            queues.local_queue(QUEUE, namespace, QUEUE),
        ]
    )
    api.wait(f"{queues.GROUP}/clusterqueues/{QUEUE}", lambda one: queues.holds(one, "Active"))
    for node in nodes:
        api.wait(f"/api/v1/nodes/{node['metadata']['name']}", takes_pods, seconds=LIMIT_S)
    return namespace


Submit = Callable[[Workloads, Api, str, str], Awaitable[object]]


async def _lease(client: Workloads, _api: Api, namespace: str, name: str) -> object:
    labels = names.lease_labels(name, "team", None, PoolName(POOL))
    wanted = Wanted(
        LeaseId(name), namespace, QUEUE, PoolName(POOL), {}, UNITS_PER_GPU, 1000, labels
    )
    return await client.create(wanted)


async def _pod(_client: Workloads, api: Api, namespace: str, name: str) -> object:
    container = {"name": "c", "image": "none", "resources": {"limits": {GPU: "1"}}}
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"kueue.x-k8s.io/queue-name": QUEUE}},
        "spec": {"containers": [container]},
    }
    return await api.create(f"/api/v1/namespaces/{namespace}/pods", body)


async def _measure(plane: ControlPlane, namespace: str, submit: Submit) -> Load:
    """Submit all and wait until each is admitted."""
    client = Workloads.at(plane.kubeconfig, lambda: datetime.now(UTC), namespace=namespace)
    api, load = Api(plane.kubeconfig), Load()
    before = time.process_time()
    following = asyncio.create_task(_follow(client, load))
    waiting = iter(f"lease-{number}" for number in range(REQUESTS))

    async def hand() -> None:
        for name in waiting:
            load.submitted[name] = time.monotonic()
            await _until_answered(submit(client, api, namespace, name) for _ in count())

    await asyncio.gather(*[hand() for _ in range(HANDS)])
    until = time.monotonic() + LIMIT_S
    while set(load.admitted) != set(load.submitted):
        assert time.monotonic() < until, f"{len(load.admitted)} of {REQUESTS} admitted"
        assert not following.done(), following
        await asyncio.sleep(0.05)
    following.cancel()
    with suppress(asyncio.CancelledError):
        await following
    await client.close()
    await api.close()
    load.cpu_s = time.process_time() - before
    return load


async def _until_answered(tries: Iterator[Awaitable[object]]) -> None:
    """Ask until there is an answer, as the governor's worker does; a busy server may be late."""
    for one in tries:
        try:
            await one
        except UnreachableError:
            continue
        except ConflictError:
            pass
        return


async def _follow(client: Workloads, load: Load) -> None:
    async for one in client.watch():
        load.seen += 1
        if isinstance(one, Seen) and one.phase is Phase.admitted:
            name = one.lease_id or one.owner.removeprefix("Pod ")
            load.admitted.setdefault(name, time.monotonic())
