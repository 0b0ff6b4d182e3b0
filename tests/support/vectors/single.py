"""Schema `kueue-vectors/1`: one choice of victims, or one cycle."""

from collections.abc import Iterator, Mapping
from typing import Any

from hub_ext.admission.engine import Group, Queue, Rules, State, Workload, cycle
from hub_ext.admission.engine.tally import Tally
from hub_ext.admission.engine.victims import Want, find

from .reading import Outcome, cohorts, fungibility, pair, preemption, quotas, units


def outcomes(content: Mapping[str, Any], rules: Rules) -> Iterator[Outcome]:
    """Replay every vector."""
    kinds = {"victims": _victims, "cycle": _cycle}
    for vector in content["vectors"]:
        expected, got = kinds[vector["kind"]](vector, rules)
        words = None if expected == got else f"{vector['kind']}: expected {expected} got {got}"
        yield Outcome(vector["id"], words)


def _victims(vector: Mapping[str, Any], rules: Rules) -> tuple[object, object]:
    del rules  # No release differs in the choice of victims.
    incoming = vector["incoming"]
    workload = Workload(
        incoming["name"],
        incoming["queue"],
        incoming["priority"],
        incoming["created_s"],
        incoming.get("uid", ""),
    )
    want = Want(workload, units(incoming["requests"]), frozenset(map(pair, incoming["contested"])))
    found = find(Tally(_state(vector)), want)
    fresh = {one.workload.id: one.reason for one in found if not one.workload.evicted}
    return vector["expect"]["victims"], fresh


def _cycle(vector: Mapping[str, Any], rules: Rules) -> tuple[object, object]:
    done = cycle(_state(vector), rules)
    expected = (
        {name: units(usage) for name, usage in vector["expect"]["admit"].items()},
        sorted(vector["expect"]["preempt"]),
    )
    got = (
        {one.id: dict(one.usage) for one in done.admitted},
        sorted(one.id for one in done.victims),
    )
    return expected, got


def _state(vector: Mapping[str, Any]) -> State:
    return State(
        cohorts(vector["cohorts"], quotas),
        tuple(map(_queue, vector["queues"])),
        (*map(_admitted, vector["admitted"]), *map(_pending, vector.get("pending", ()))),
    )


def _queue(queue: Mapping[str, Any]) -> Queue:
    return Queue(
        queue["name"],
        queue.get("cohort"),
        tuple(
            Group(tuple(group["resources"]), tuple(group["flavors"]))
            for group in queue.get("groups", ())
        ),
        quotas(queue["quotas"]),
        preemption(queue),
        fungibility(queue),
        queue.get("strategy") or "BestEffortFIFO",
    )


def _admitted(one: Mapping[str, Any]) -> Workload:
    return Workload(
        one["name"],
        one["queue"],
        one["priority"],
        one["created_s"],
        one.get("uid", ""),
        usage=units(one["usage"]),
        reserved_at=one["reserved_s"],
        evicted=one["evicted"],
    )


def _pending(one: Mapping[str, Any]) -> Workload:
    return Workload(
        one["name"],
        one["queue"],
        one["priority"],
        one["created_s"],
        one.get("uid", ""),
        requests=one["requests"],
    )
