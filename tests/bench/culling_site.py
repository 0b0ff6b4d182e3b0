"""One pass of our culler in a process of its own, against the stub hub: prints its figures as JSON.

The governor, its loop, its intents and its client of the hub are the product's. Only the spawner is
stood in for: what the hub has stopped is seen to be gone.
"""

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hub_ext.lease import (
    GOVERNOR,
    AttemptId,
    Choice,
    Device,
    DeviceSample,
    Inventory,
    LeaseId,
    LeaseState,
    OpenLease,
    PoolName,
    ProcessSample,
    ProfileName,
    SampleBatch,
    ServerKey,
    Standing,
    TeamName,
    UserName,
)
from hub_ext.service.basis.hub import HubAnswer, HubClient
from hub_ext.service.books.floor import declared
from hub_ext.service.core.runner import CoreRunner
from hub_ext.service.core.stream import Stream
from hub_ext.service.http.turns import new_loop, share_evenly
from hub_ext.service.workers.intents import work_intents
from hub_ext.service.workers.loops import Loops
from hub_ext.service.workers.reconcile import Reconciler
from tests.bench.gauge import Gauge
from tests.bench.stub_hub import TOKEN, name_of
from tests.support.governing import Site, site_in

GPUS = 50
"""GPUs a machine, one lease each: many, so that the story before the pass is told quickly."""

PERIOD_S = 60
LIMIT, NOTICE = timedelta(minutes=10), timedelta(minutes=2)

BACK_AFTER = 100
"""After so many stops those who come back work again."""


def policy(leases: int) -> str:
    """A pool of one GPU a lease; no limit on stops in a pass, and a breaker that never trips."""
    nodes = ", ".join(f"{{name: node-{n}, gpus: {GPUS}}}" for n in range(-(-leases // GPUS)))
    return (
        "version: 1\ncurrency: EUR\nmodes: {quota: enforce, idle: enforce}\n"
        f"pools:\n  whole: {{model: h200-141gb, nodes: [{nodes}]}}\n"
        f'teams:\n  vision: {{groups: [vision], quota: {{whole: {{nominal: "{leases}"}}}}}}\n'
        'profiles:\n  one: {title: One GPU, pool: whole, flavor: {gpus: 1}, cpu: "2", '
        "memory: 2GiB, lifetime: {default: 24h, longest: 48h}}\n"
        "idle:\n  gpus: {applies: [gpu], limit: 10m, notice: 2m, start_grace: 0s, trial: 0s}\n"
        "idle_stops: {most_a_pass: 100000, percent_a_pass: 100, together_percent: 100}\n"
        'prices: [{pool: whole, from: 2026-01-01, per_hour: "3.60"}]\n'
    )


class SpawningHub(HubClient):
    """The product's client; a server that the hub has stopped is gone for this machine."""

    def __init__(self, url: str, gone: Callable[[ServerKey], None]) -> None:
        super().__init__(url, TOKEN)
        self._gone = gone
        self.stops = 0
        self._first_s: float | None = None
        self.took_s = 0.0
        """From the first stop that it was asked for to the newest answer."""
        self.then: Callable[[], None] = lambda: None

    async def stop_server(self, key: ServerKey) -> HubAnswer:
        """Ask as the product does; then the process is seen to have ended."""
        first_s = self._first_s = self._first_s or time.monotonic()
        answer = await super().stop_server(key)
        self.took_s = time.monotonic() - first_s
        self._gone(key)
        self.stops += 1
        if self.stops == BACK_AFTER:
            self.then()
        return answer


@dataclass
class Scene:
    """A governor whose leases have all been running for two hours."""

    site: Site
    leases: tuple[OpenLease, ...]

    @classmethod
    def planted(cls, site: Site, count: int) -> "Scene":
        """Put leases on the ledger as they stand, and let the agents report."""
        # The hub's servers have been running by the hub's clock, which is this machine's.
        site.now = datetime.now(UTC)
        began = site.now - timedelta(hours=2)
        devices = declared(site.governor.policy)
        leases = tuple(
            _lease(site, number, device, began)
            for number, device in zip(range(count), devices, strict=False)
        )
        with site.ledger.transaction() as tx:
            for lease in leases:
                tx.record(lease, actor=GOVERNOR, at=began)
        return cls(site, leases)

    def gone(self, key: ServerKey) -> None:
        """Let a server's process end."""
        process = self.leases[int(key.user[-5:])].process
        assert process is not None
        self.site.machine.end(process)

    def report(self, at: datetime, *, busy: Iterable[OpenLease] = (), first: bool = False) -> None:
        """Let every agent report that all GPUs but some are quiet."""
        working = {one.id for one in busy}
        by_node: dict[str, list[OpenLease]] = {}
        for lease in self.leases:
            by_node.setdefault(lease.devices[0].node, []).append(lease)
        for node, here in by_node.items():
            if working and not working & {one.id for one in here}:
                continue
            self.site.governor.take_samples(_batch(node, here, at, working, first), now=at)


def _lease(site: Site, number: int, device: Device, began: datetime) -> OpenLease:
    return OpenLease(
        id=LeaseId(f"l-{number:05d}"),
        key=ServerKey(user=UserName(name_of(number))),
        attempt_id=AttemptId(f"attempt-{number:05d}"),
        choice=Choice(profile=ProfileName("one")),
        team=TeamName("vision"),
        project=None,
        profile=ProfileName("one"),
        pool=PoolName("whole"),
        flavor="gpu-1",
        units=840,
        devices=(device,),
        standing=Standing.guaranteed,
        state=LeaseState.running,
        state_since=began,
        requested_at=began,
        assigned_at=began,
        started_at=began,
        ends_at=began + timedelta(hours=24),
        longest_end_at=began + timedelta(hours=48),
        price_micro_per_hour=3_600_000,
        currency="EUR",
        policy_generation=1,
        process=site.machine.start(began),
    )


def _batch(
    node: str, leases: list[OpenLease], at: datetime, working: set[LeaseId], first: bool
) -> SampleBatch:
    devices = tuple(lease.devices[0] for lease in leases)
    stock = Inventory(node=node, source="nvml", at=at, devices=devices) if first else None
    return SampleBatch(
        node=node,
        source="nvml",
        sent_at=at,
        period_s=PERIOD_S,
        inventory=stock,
        devices=tuple(
            DeviceSample(
                device=one.devices[0].id,
                at=at,
                util_percent=90 if one.id in working else 0,
                memory_used_bytes=2**30,
                memory_total_bytes=141 * 2**30,
                processes=1,
                process_changes=0,
            )
            for one in leases
        ),
        processes=tuple(
            ProcessSample(lease_id=one.id, at=at, cpu_millis=5, processes=1) for one in leases
        ),
    )


async def scan(url: str) -> dict[str, float]:
    """List all users of the hub, as each comparison does."""
    hub = HubClient(url, TOKEN)
    gauge = Gauge()
    found = await hub.servers()
    figures = gauge.take()
    hub.close()
    return {**figures, "found": len(found)}


async def whole(url: str, folder: Path, leases: int) -> dict[str, float]:
    """Compare with the hub, and judge all, of whom nobody is idle for long enough."""
    with site_in(folder, policy=policy(leases)) as site:
        scene = Scene.planted(site, leases)
        scene.report(site.now, first=True)
        hub = HubClient(url, TOKEN)
        core = CoreRunner(site.governor, lambda: site.now, Stream(8))
        loops = Loops(core, hub, site.settings)
        reconciler = Reconciler(core, hub, probe=site.machine.probe)
        await loops.cull()
        site.later(PERIOD_S)
        scene.report(site.now)
        gauge = Gauge()
        await reconciler.compare()
        compared = gauge.take()
        gauge = Gauge()
        await loops.cull()
        judged = gauge.take()
        assert not loops.beats
        hub.close()
        return {"compare_cpu_s": compared["cpu_s"], "cull_cpu_s": judged["cpu_s"]}


async def stop(url: str, folder: Path, leases: int, back: int) -> dict[str, float]:
    """Stop all but those who come back while it goes on."""
    with site_in(folder, policy=policy(leases)) as site:
        scene = Scene.planted(site, leases)
        for minute in range(round(LIMIT.total_seconds()) // PERIOD_S + 2):
            scene.report(site.later(PERIOD_S), first=not minute)
        # The clock stands until the pass that is measured.
        clock = Clock(site)
        core = CoreRunner(site.governor, clock, Stream(8))
        hub = SpawningHub(url, scene.gone)
        loops = Loops(core, hub, site.settings)
        await loops.cull()
        announced = await core.run(lambda governor, _now: _count(governor.leases(), "noticed"))
        site.later(NOTICE.total_seconds())
        clock.run()
        await core.run(lambda _governor, now: scene.report(now))
        returned: list[asyncio.Task[None]] = []

        def come_back() -> None:
            busy = scene.leases[-back:]
            act = core.run(lambda _governor, now: scene.report(now, busy=busy))
            returned.append(asyncio.ensure_future(act))

        hub.then = come_back
        gauge = Gauge()
        culling = asyncio.ensure_future(loops.cull())
        while True:
            done = culling.done()
            await work_intents(core, hub, site.settings)
            if done:
                break
            await asyncio.sleep(0.1)
        await culling
        figures = gauge.take()
        await asyncio.gather(*returned)
        left = await core.run(lambda governor, _now: _count(governor.leases(), "running"))
        hub.close()
        return {
            **figures,
            "announced": announced,
            "stops": hub.stops,
            "left": left,
            "stops_s": hub.took_s,
        }


class Clock:
    """A site's clock, which runs once it is told to."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._since_s: float | None = None

    def run(self) -> None:
        """Run from now on."""
        self._since_s = time.monotonic()

    def __call__(self) -> datetime:
        """Read it."""
        gone_s = 0.0 if self._since_s is None else time.monotonic() - self._since_s
        return self._site.now + timedelta(seconds=gone_s)


def _count(leases: Iterable[OpenLease], state: str) -> int:
    return sum(one.state == state for one in leases)


def main(words: list[str]) -> None:
    """Do what is asked, and print the figures."""
    what, url, *numbers = words
    with tempfile.TemporaryDirectory() as name:
        folder, counts = Path(name), [int(one) for one in numbers]
        # As the governor's own process does.
        share_evenly()
        with asyncio.Runner(loop_factory=new_loop) as runner:
            match what:
                case "scan":
                    figures = runner.run(scan(url))
                case "whole":
                    figures = runner.run(whole(url, folder, *counts))
                case _:
                    figures = runner.run(stop(url, folder, *counts))
        print(json.dumps(figures))


if __name__ == "__main__":
    main(sys.argv[1:])
