"""Schema `kueue-real/1`: what a running Kueue did after each operation, replayed as it settles.

Of the recording only the seconds of reservations are taken over: their order is Kueue's clock.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from hub_ext.admission.engine import (
    Group,
    Queue,
    Quota,
    Rules,
    State,
    Workload,
    settle,
)

from .reading import Outcome, cohorts, fungibility, preemption, quota

RESOURCE = "units"


def outcomes(content: Mapping[str, Any], rules: Rules) -> Iterator[Outcome]:
    """Replay every scenario up to its first difference."""
    for scenario in content["scenarios"]:
        yield Outcome(scenario["id"], _difference(scenario, rules))


def _difference(scenario: Mapping[str, Any], rules: Rules) -> str | None:
    replay = Replay(scenario, rules)
    for step in scenario["steps"]:
        replay.take(step)
        expected, got = _shown(step), replay.shown()
        for part, value in expected.items():
            if got[part] != value:
                what = f"{step['do']['op']} at {step['t']} s, {part}"
                return f"{what}: expected {value} got {got[part]}"
    return None


def _shown(step: Mapping[str, Any]) -> dict[str, object]:
    return {
        "evicted": step["evicted"],
        "released": sorted(step["released"]),
        "admitted": {name: flavor for name, (flavor, _at) in step["admitted"].items()},
        "holding": {name: flavor for name, (flavor, _at) in step["holding"].items()},
        "pending": sorted(step["pending"]),
        "usage": {name: used for name, used in step["usage"].items() if used},
    }


class Replay:
    """One scenario under way."""

    def __init__(self, scenario: Mapping[str, Any], rules: Rules) -> None:
        self.rules = rules
        self.flavors: tuple[str, ...] = tuple(scenario["flavors"])
        self.uids = {name: n for n, name in enumerate(scenario["uid_order"])}
        self.by_class: bool = scenario["priority_class"]
        self.holds: dict[str, bool] = {}
        self.parents = {one["name"]: one["parent"] for one in scenario["cohorts"]}
        self.state = State(
            cohorts(scenario["cohorts"], _quotas),
            tuple(map(self._queue, scenario["queues"])),
        )
        self.evicted: dict[str, str] = {}
        self.released: list[str] = []
        self.woken: set[str] = set()

    def _queue(self, queue: Mapping[str, Any]) -> Queue:
        flavors = tuple(name for name in self.flavors if name in queue["quotas"])
        return Queue(
            queue["name"],
            queue["cohort"],
            (Group((RESOURCE,), flavors),),
            _quotas(queue["quotas"]),
            preemption(queue),
            fungibility(queue),
            queue.get("strategy") or "BestEffortFIFO",
        )

    def take(self, step: Mapping[str, Any]) -> None:
        """Apply one operation and let everything settle."""
        self.evicted, self.released, self.woken = {}, [], set()
        counts = self._counts()
        do = step["do"]
        getattr(self, f"_{do['op']}")(do, step["t"])
        while True:
            self._run(step["t"])
            changed = {name for name, count in self._counts().items() if count != counts[name]}
            self.woken |= {self._root(name) for name in changed if self._nested(name)}
            if not self.woken:
                break
            counts = self._counts()
            self._activate()
        self._clocks({**step["admitted"], **step["holding"]})

    def _run(self, now: int) -> None:
        """Cycles, and the end of what is released as soon as it is evicted."""
        while True:
            self.state, done = settle(self.state, self.rules, now=now)
            self.evicted |= {one.id: one.reason for one in done.victims}
            gone = [one.id for one in done.victims if not self.holds[one.id]]
            for name in gone:
                self._delete({"name": name}, now)
            self.released += gone
            if not gone:
                return

    def _activate(self) -> None:
        still = frozenset(
            one.id
            for one in self.state.workloads
            if one.id in self.state.parked and self._root(one.queue) not in self.woken
        )
        self.state, self.woken = replace(self.state, parked=still), set()

    def _clocks(self, known: Mapping[str, tuple[str, int]]) -> None:
        self.state = replace(
            self.state,
            workloads=tuple(
                replace(one, reserved_at=known[one.id][1])
                if one.usage is not None and one.id in known
                else one
                for one in self.state.workloads
            ),
        )

    def _create(self, do: Mapping[str, Any], now: int) -> None:
        self.holds[do["name"]] = do["on_evict"] == "hold"
        new = Workload(
            do["name"],
            do["queue"],
            do["priority"],
            now,
            self.uids[do["name"]],
            requests={RESOURCE: do["units"]},
        )
        self.state = replace(self.state, workloads=(*self.state.workloads, new))

    def _delete(self, do: Mapping[str, Any], _now: int) -> None:
        gone = self._of(do["name"])
        self.woken.add(self._root(gone.queue))
        self.state = replace(
            self.state,
            workloads=tuple(one for one in self.state.workloads if one is not gone),
            parked=self.state.parked - {gone.id},
            preemptors={
                queue: name for queue, name in self.state.preemptors.items() if name != gone.id
            },
        )

    def _set_priority(self, do: Mapping[str, Any], _now: int) -> None:
        changed = self._of(do["name"])
        if changed.usage is not None and self.by_class:
            self.woken.add(self._root(changed.queue))
        self.state = replace(
            self.state,
            workloads=tuple(
                replace(one, priority=do["priority"]) if one is changed else one
                for one in self.state.workloads
            ),
            parked=self.state.parked - {changed.id},
        )

    def _set_quota(self, do: Mapping[str, Any], _now: int) -> None:
        self.woken.add(self._root(do["queue"]))
        pair = (do["flavor"], RESOURCE)
        self.state = replace(
            self.state,
            queues=tuple(
                replace(one, quotas={**one.quotas, pair: quota(do["quota"])})
                if one.name == do["queue"]
                else one
                for one in self.state.queues
            ),
        )

    def _of(self, name: str) -> Workload:
        return next(one for one in self.state.workloads if one.id == name)

    def _counts(self) -> dict[str, tuple[int, int]]:
        """Pending and admitted workloads of each queue."""
        counts = {queue.name: [0, 0] for queue in self.state.queues}
        for one in self.state.workloads:
            counts[one.queue][one.usage is not None] += 1
        return {name: (pending, admitted) for name, (pending, admitted) in counts.items()}

    def _cohort(self, queue: str) -> str | None:
        return next(one.cohort for one in self.state.queues if one.name == queue)

    def _nested(self, queue: str) -> bool:
        """Whether the queue's cohort is not the root of its tree."""
        cohort = self._cohort(queue)
        return cohort is not None and self.parents.get(cohort) is not None

    def _root(self, queue: str) -> str:
        at = self._cohort(queue)
        if at is None:
            return f"queue {queue}"
        while (above := self.parents.get(at)) is not None:
            at = above
        return at

    def shown(self) -> dict[str, object]:
        """What there is now, as a recording says it."""
        admitted: dict[str, str] = {}
        holding: dict[str, str] = {}
        usage: dict[str, int] = {}
        pending: list[str] = []
        for one in self.state.workloads:
            if one.usage is None:
                pending.append(one.id)
                continue
            for (flavor, _resource), used in one.usage.items():
                (holding if one.evicted else admitted)[one.id] = flavor
                name = f"{one.queue}/{flavor}"
                usage[name] = usage.get(name, 0) + used
        return {
            "evicted": self.evicted,
            "released": sorted(self.released),
            "admitted": admitted,
            "holding": holding,
            "pending": sorted(pending),
            "usage": {name: used for name, used in usage.items() if used},
        }


def _quotas(table: Mapping[str, Any]) -> dict[tuple[str, str], Quota]:
    """Read a table of quotas by flavor: recordings have one resource."""
    return {(flavor, RESOURCE): quota(triple) for flavor, triple in table.items()}
