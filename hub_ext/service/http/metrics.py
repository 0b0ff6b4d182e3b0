"""Figures for Prometheus: pools, leases, policy and the governor's own loops. No user names.

`gather` runs in the core's thread; `text` writes the exposition format.
"""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Gauge, generate_latest
from prometheus_client.core import CounterMetricFamily

from ...lease import Health, PoolLoad, PoolName, Value
from ...lease.anomalies import Anomaly
from ...lease.monthspend import SpendFacts
from ...lease.outward import OutwardTotals
from ...lease.waits import WaitRow
from ..core import anomalymetrics, spendmetrics
from ..core.governor import Governor
from ..workers.loops import Beat

CONTENT_TYPE = CONTENT_TYPE_LATEST


class Facts(Value):
    """What the core knows at one instant. `leases` counts open ones by state, team and pool."""

    health: Health
    pools: tuple[PoolLoad, ...]
    fragmentation: tuple[tuple[PoolName, int], ...]
    """Pool and percent; only where something is free and asked for."""
    leases: tuple[tuple[str, str, str, str, int], ...]
    waits: tuple[WaitRow, ...] = ()
    """By team and pool."""
    anomalies: tuple[Anomaly, ...] = ()
    """Those that are open."""
    spend: SpendFacts | None = None
    """None while no policy is in force."""
    outward: OutwardTotals = OutwardTotals()
    trials: tuple[int, int] = (0, 0)
    """Idle rules that are tried, and those that wait to be switched on."""


def gather(governor: Governor, now: datetime) -> Facts:
    """Collect the facts in the core's thread."""
    counts = Counter(
        (lease.state.value, lease.team, lease.pool or "", lease.standing.value)
        for lease in governor.leases()
    )
    known = governor.known_policy is not None
    maps = governor.capacity(now=now).pools if known else ()
    return Facts(
        health=governor.health(now=now),
        pools=governor.queue(now=now).pools if known else (),
        fragmentation=tuple(
            (one.pool, one.fragmentation_percent)
            for one in maps
            if one.fragmentation_percent is not None
        ),
        leases=tuple((*labels, count) for labels, count in sorted(counts.items())),
        waits=governor.waits(by=(), now=now).rows if known else (),
        anomalies=governor.anomalies(now=now).open,
        spend=governor.month_spend(now=now) if known else None,
        outward=governor.outward_totals(now=now),
        trials=governor.trials_by_state(),
    )


def text(facts: Facts, beats: Mapping[str, Beat]) -> bytes:
    """Write all figures as Prometheus reads them."""
    registry = CollectorRegistry()
    _pools(registry, facts)
    leases = Gauge(
        "gpu_commons_leases",
        "Open leases",
        ["state", "team", "pool", "standing"],
        registry=registry,
    )
    for state, team, pool, standing, count in facts.leases:
        leases.labels(state, team, pool, standing).set(count)
    generation = Gauge(
        "gpu_commons_policy_generation", "Generation of the policy in force", registry=registry
    )
    generation.set(facts.health.policy_generation)
    problems = Gauge(
        "gpu_commons_problems",
        "Problems by subject, as /healthz tells",
        ["code"],
        registry=registry,
    )
    for problem in facts.health.problems:
        problems.labels(problem.code).set(1)
    _waits(registry, facts.waits)
    anomalymetrics.write(registry, facts.anomalies)
    if facts.spend is not None:
        spendmetrics.write(registry, facts.spend)
    _outward(registry, facts.outward)
    trials = Gauge(
        "gpu_commons_idle_trials",
        "Idle rules on trial: `running`, or `over` and waiting for an administrator's word",
        ["state"],
        registry=registry,
    )
    for state, count in zip(("running", "over"), facts.trials, strict=True):
        trials.labels(state).set(count)
    _loops(registry, beats)
    return generate_latest(registry)


def _outward(registry: CollectorRegistry, totals: OutwardTotals) -> None:
    waiting = Gauge(
        "gpu_commons_notices_waiting",
        "Notices that are still to be posted or mailed",
        registry=registry,
    )
    waiting.set(totals.waiting)
    told = Gauge(
        "gpu_commons_notices",
        "Notices since the governor started, by way and by what came of them",
        ["way", "result"],
        registry=registry,
    )
    for way in ("webhook", "mail"):
        for result in ("sent", "failed", "dropped"):
            told.labels(way, result).set(0)
    for way, result, n in totals.counts:
        told.labels(way, result).set(n)


def _pools(registry: CollectorRegistry, facts: Facts) -> None:
    units = Gauge(
        "gpu_commons_pool_units",
        "Units (1/840 GPU) of a pool: declared, usable now, held by leases",
        ["pool", "kind"],
        registry=registry,
    )
    for load in facts.pools:
        units.labels(load.pool, "declared").set(load.declared)
        units.labels(load.pool, "usable").set(load.usable)
        units.labels(load.pool, "held").set(load.held)
    fragments = Gauge(
        "gpu_commons_pool_fragmentation_ratio",
        "Share of a pool's free GPU memory that a typical request there cannot use; absent if full",
        ["pool"],
        registry=registry,
    )
    for pool, percent in facts.fragmentation:
        fragments.labels(pool).set(percent / 100)


def _waits(registry: CollectorRegistry, rows: tuple[WaitRow, ...]) -> None:
    waited = Gauge(
        "gpu_commons_wait_seconds",
        "Waits of the last 30 days: until a device was there (held), from there until the server "
        "ran (ready)",
        ["team", "pool", "stage", "quantile"],
        registry=registry,
    )
    kept = Gauge(
        "gpu_commons_guarantee_kept_ratio",
        "Share of requests that waited inside a guarantee and had devices within its bound; absent "
        "where none did",
        ["team", "pool"],
        registry=registry,
    )
    for row in rows:
        for stage, of in (("held", row.held), ("ready", row.ready)):
            if of is not None:
                for quantile, seconds in (("0.5", of.p50_s), ("0.9", of.p90_s), ("0.99", of.p99_s)):
                    waited.labels(row.team, row.pool, stage, quantile).set(seconds)
        if row.kept_percent is not None:
            kept.labels(row.team, row.pool).set(row.kept_percent / 100)


def _loops(registry: CollectorRegistry, beats: Mapping[str, Beat]) -> None:
    age = Gauge(
        "gpu_commons_loop_age_seconds",
        "Seconds since the last good pass of a loop; absent before the first",
        ["loop"],
        registry=registry,
    )
    took = Gauge(
        "gpu_commons_loop_took_seconds", "Length of the last pass", ["loop"], registry=registry
    )
    failures = CounterMetricFamily(
        "gpu_commons_loop_failures", "Passes of a loop that failed", labels=["loop"]
    )
    for name, beat in beats.items():
        since = beat.age_s()
        if since is not None:
            age.labels(name).set(since)
        took.labels(name).set(beat.last_took_s)
        failures.add_metric([name], beat.failures)
    registry.register(_Fixed(failures))


class _Fixed:
    """A collector of one finished family: the counts are kept elsewhere."""

    def __init__(self, family: CounterMetricFamily) -> None:
        self._family = family

    def collect(self) -> list[CounterMetricFamily]:
        """Hand the family to the registry."""
        return [self._family]
