"""Spend and quota for Prometheus, by team and flavor; people are never a label."""

from prometheus_client import CollectorRegistry, Gauge

from ...lease.monthspend import BudgetSum, FlavorSpend, QuotaSum, SpendFacts
from ...units import MICRO, SECONDS_PER_HOUR, UNITS_PER_GPU


def write(registry: CollectorRegistry, facts: SpendFacts) -> None:
    """Write them; a team has a row for each flavor that it held this month."""
    _spend(registry, facts.spend)
    _quota(registry, facts.quota)
    _budgets(registry, facts.budgets)
    began = Gauge(
        "gpu_commons_spend_month_start_seconds",
        "When the month began that spend is counted from, in the policy's time zone",
        registry=registry,
    )
    began.set(facts.month_start.timestamp())


def _spend(registry: CollectorRegistry, rows: tuple[FlavorSpend, ...]) -> None:
    money, rate = (
        Gauge(name, words, ["team", "flavor", "currency"], registry=registry)
        for name, words in (
            (
                "gpu_commons_spend_month",
                "Money charged since the month began, open leases until now; absent if unpriced",
            ),
            ("gpu_commons_spend_rate", "Money an hour of what runs now, by the price of its start"),
        )
    )
    hours, unpriced = (
        Gauge(name, words, ["team", "flavor"], registry=registry)
        for name, words in (
            ("gpu_commons_gpu_hours_month", "GPU-hours held since the month began"),
            ("gpu_commons_unpriced_gpu_hours_month", "Of them, those that had no price"),
        )
    )
    for one in rows:
        if one.unit_s > one.unpriced_unit_s:
            money.labels(one.team, one.flavor, one.currency).set(one.amount_micro / MICRO)
        if one.rate_micro_per_hour:
            rate.labels(one.team, one.flavor, one.currency).set(one.rate_micro_per_hour / MICRO)
        hours.labels(one.team, one.flavor).inc(one.unit_s / (UNITS_PER_GPU * SECONDS_PER_HOUR))
        unpriced.labels(one.team, one.flavor).inc(
            one.unpriced_unit_s / (UNITS_PER_GPU * SECONDS_PER_HOUR)
        )


def _quota(registry: CollectorRegistry, rows: tuple[QuotaSum, ...]) -> None:
    gpus = Gauge(
        "gpu_commons_quota_gpus",
        "GPUs of a team in a pool: guaranteed to it, held within that, borrowed beyond",
        ["team", "pool", "kind"],
        registry=registry,
    )
    for one in rows:
        for kind, units in (
            ("nominal", one.nominal),
            ("held", one.guaranteed),
            ("borrowed", one.borrowed),
        ):
            gpus.labels(one.team, one.pool, kind).set(units / UNITS_PER_GPU)


def _budgets(registry: CollectorRegistry, rows: tuple[BudgetSum, ...]) -> None:
    money = Gauge(
        "gpu_commons_budget",
        "A budget in its period: its amount, what is spent, what open leases will cost; budgets "
        "for each person are left out",
        ["budget", "kind", "currency"],
        registry=registry,
    )
    for one in rows:
        for kind, micro in (
            ("amount", one.amount_micro),
            ("spent", one.spent_micro),
            ("committed", one.committed_micro),
        ):
            money.labels(one.budget, kind, one.currency).set(micro / MICRO)
