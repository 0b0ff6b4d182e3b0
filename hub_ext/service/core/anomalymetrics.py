"""Anomalies for Prometheus: how many are open and what they stand for, by kind and pool."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import get_args

from prometheus_client import CollectorRegistry, Gauge

from ...lease.anomalies import Anomaly, AnomalyKind
from ...units import MICRO


def write(registry: CollectorRegistry, every: Iterable[Anomaly]) -> None:
    """Write them; every kind is there, so that a rule on it finds a 0 where there is none."""
    count: Counter[tuple[str, str]] = Counter()
    money: dict[tuple[str, str], int] = defaultdict(int)
    for one in every:
        labels = (str(one.kind), str(one.pool or ""))
        count[labels] += 1
        if one.money_micro is not None:
            money[labels] += one.money_micro
    found = Gauge(
        "gpu_commons_anomalies",
        "Anomalies that are open; pool is empty where they are of none",
        ["kind", "pool"],
        registry=registry,
    )
    for kind in get_args(AnomalyKind):
        found.labels(kind, "").set(0)
    for names, number in count.items():
        found.labels(*names).set(number)
    cost = Gauge(
        "gpu_commons_anomaly_cost",
        "What open anomalies have stood for since they began, in the currency; absent if unpriced",
        ["kind", "pool"],
        registry=registry,
    )
    for names, micro in money.items():
        cost.labels(*names).set(micro / MICRO)
