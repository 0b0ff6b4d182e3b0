"""The real core over a real ledger, with a clock that a story sets and an agent it speaks for."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hub_ext.lease import (
    Ask,
    AttemptId,
    Choice,
    Device,
    DeviceSample,
    Event,
    Inventory,
    LeaseId,
    Liveness,
    OpenLease,
    PoolName,
    ProcessRef,
    ProcessSample,
    ProfileName,
    Report,
    ReportKind,
    SampleBatch,
    ServerKey,
    ServerName,
    UserName,
)
from hub_ext.ledger.samples import Samples
from hub_ext.ledger.store import Ledger
from hub_ext.mig.geometry import declared_devices
from hub_ext.policy.load import loads
from hub_ext.service.books.config import GovernorConfig
from hub_ext.service.core.governor import Governor
from hub_ext.service.core.runner import CoreRunner
from hub_ext.service.core.stream import Stream

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
PERIOD_S = 20.0
_LIFE = {"default": "4h", "longest": "12h"}
RULES: dict[str, Any] = {
    "version": 1,
    "currency": "EUR",
    "modes": {"quota": "enforce", "idle": "enforce"},
    "pools": {
        "slices": {
            "model": "h200-141gb",
            "nodes": [{"name": "n1", "gpus": 1, "geometry": [["1g.18gb"] * 7]}],
        }
    },
    "teams": {"vision": {"groups": ["vision"], "quota": {"slices": {"nominal": "0.875"}}}},
    "profiles": {
        "small": {
            "title": "Small slice",
            "pool": "slices",
            "flavor": {"mig": "1g.18gb"},
            "cpu": "2",
            "memory": "8GiB",
            "lifetime": _LIFE,
        },
        "plain": {
            "title": "No GPU",
            "flavor": "none",
            "cpu": "1",
            "memory": "2GiB",
            "lifetime": _LIFE,
        },
    },
    "prices": [{"pool": "slices", "flavor": "1g.18gb", "from": "2026-01-01", "per_hour": "0.50"}],
}
"""One team, seven slices, one profile with a GPU and one without."""


@dataclass
class SmallCore:
    """One governor's core. `seen` is what the machine answers of a lease; `busy` is its GPU."""

    governor: Governor
    ledger: Ledger
    now: datetime = NOON
    seen: dict[LeaseId, Liveness] = field(default_factory=dict)
    busy: dict[LeaseId, int | None] = field(default_factory=dict)
    cpu: dict[LeaseId, int | None] = field(default_factory=dict)

    @classmethod
    @contextmanager
    def running(cls, state: Path, **changes: Any) -> Iterator["SmallCore"]:
        """Open a ledger with the tests' policy; `modes="observe"` and the like change it."""
        state.mkdir(exist_ok=True)
        config = GovernorConfig(state=str(state))
        ledger = Ledger.open(state)
        seen: dict[LeaseId, Liveness] = {}
        governor = Governor(
            ledger, Samples.open(state), config.settings(), alive=lambda one: _look(seen, one)
        )
        core = cls(governor, ledger, seen=seen)
        core.set_policy(**changes)
        core.batch(inventory=True)
        try:
            yield core
        finally:
            governor.close()

    def set_policy(self, **changes: Any) -> None:
        """Bring the tests' policy into force, with some top-level parts replaced.

        Idle rules act at once, except where a story says how long they are tried.
        """
        data = {**RULES, **changes}
        data["idle"] = {
            name: {"trial": "0s", **rule} for name, rule in data.get("idle", {}).items()
        }
        self.governor.set_policy(loads(json.dumps(data)), now=self.now)

    @contextmanager
    def runner(self) -> Iterator[CoreRunner]:
        """Give the core its thread; the story's clock is its clock."""
        runner = CoreRunner(self.governor, lambda: self.now, Stream(8))
        try:
            yield runner
        finally:
            runner._thread.shutdown()

    def probe(self, lease: OpenLease) -> Liveness:
        """What this machine sees of a lease's process."""
        return _look(self.seen, lease)

    def devices(self) -> list[Device]:
        """Every device that the policy declares."""
        pools = self.governor.policy.pools.items()
        return [one for name, pool in pools for one in declared_devices(PoolName(name), pool)]

    def later(self, seconds: float) -> None:
        """Let time pass, with a batch of every agent each period."""
        end = self.now + timedelta(seconds=seconds)
        while self.now + timedelta(seconds=PERIOD_S) <= end:
            self.now += timedelta(seconds=PERIOD_S)
            self.batch()
        self.now = end

    def batch(self, *, inventory: bool = False) -> None:
        """Report readings of all nodes: `busy` percent and `cpu` millis, 0 where not said."""
        leases = [lease for lease in self.governor.leases() if lease.holding]
        held = {device.id: lease.id for lease in leases for device in lease.devices}
        by_node: dict[str, list[Device]] = {}
        for device in self.devices():
            by_node.setdefault(device.node, []).append(device)
        for node, devices in by_node.items():
            samples = [self._sample(one, held.get(one.id)) for one in devices]
            on_node = [one for one in leases if any(d.node == node for d in one.devices)]
            processes = [
                ProcessSample(
                    lease_id=one.id, at=self.now, cpu_millis=self.cpu.get(one.id, 0), processes=1
                )
                for one in on_node
            ]
            stock = Inventory(node=node, source="simulated", at=self.now, devices=tuple(devices))
            self.governor.take_samples(
                SampleBatch(
                    node=node,
                    source="simulated",
                    sent_at=self.now,
                    period_s=PERIOD_S,
                    inventory=stock if inventory else None,
                    devices=tuple(samples),
                    processes=tuple(processes),
                ),
                now=self.now,
            )

    def _sample(self, device: Device, lease_id: LeaseId | None) -> DeviceSample:
        util = self.busy.get(lease_id, 0) if lease_id else 0
        return DeviceSample(
            device=device.id,
            at=self.now,
            util_percent=util,
            memory_used_bytes=0,
            memory_total_bytes=2**30,
        )

    def ask(self, user: str, profile: str = "small", server: str = "") -> OpenLease:
        """Have a start granted, up to `starting`."""
        grant = self.governor.ask(
            Ask(
                attempt_id=f"attempt-{user}-{server}-{self.now:%H%M%S}",
                key=ServerKey(user=UserName(user), server=ServerName(server)),
                groups=("vision",),
                choice=Choice(profile=ProfileName(profile)),
            ),
            now=self.now,
        )
        return self.lease(grant.lease_id)

    def run(self, user: str, profile: str = "small", server: str = "") -> OpenLease:
        """Have a server granted and reported as started."""
        lease = self.ask(user, profile, server)
        pid = 1000 + len(self.events())
        self.report(lease, ReportKind.started, process=ProcessRef(pid=pid, created_us=1))
        return self.lease(lease.id)

    def report(self, lease: OpenLease, kind: ReportKind, **fields: Any) -> None:
        """Report as the spawner does."""
        told = Report(kind=kind, key=lease.key, liveness=Liveness.alive, **fields)
        self.governor.report(AttemptId(lease.attempt_id), told, now=self.now)

    def lease(self, lease_id: LeaseId) -> OpenLease:
        """A lease, open or closed."""
        lease = self.governor.lease(lease_id)
        assert lease is not None
        return lease

    def events(self, *kinds: str) -> list[Event]:
        """Events so far, of some kinds or all."""
        with self.ledger.transaction() as tx:
            return [event for _, event in tx.events(kinds=kinds or None, limit=10_000)]


def _look(seen: dict[LeaseId, Liveness], lease: OpenLease) -> Liveness:
    return seen.get(lease.id, Liveness.alive if lease.process else Liveness.unknown)
