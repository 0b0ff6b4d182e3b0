"""Anomalies: thresholds that can never be met."""

from collections.abc import Iterator
from datetime import timedelta

from ...i18n import _
from ...units import UNITS_PER_GPU, gpus_text
from ..model import Policy
from ..problems import Problem, error, warning

KEPT = timedelta(hours=24)
"""How long single readings are kept."""


def check_anomalies(policy: Policy) -> Iterator[Problem]:
    """Find what is never told because of its own threshold."""
    rules = policy.anomalies
    if not policy.prices and "dear_least" in rules.model_fields_set:
        yield warning(
            ("anomalies", "dear_least"),
            _("nothing is priced, so no lease is ever dear"),
            _("give prices, or take it away"),
        )
    for name in ("hoarding", "gaming"):
        if getattr(rules, name) > KEPT:
            yield error(
                ("anomalies", name),
                _("readings are kept for 24h, so this is never found"),
                _("make it at most 24h"),
            )
    if "pool_least" not in rules.model_fields_set:
        return
    gpus = [sum(node.gpus for node in pool.nodes) for pool in policy.pools.values()]
    largest = UNITS_PER_GPU * max(gpus, default=0)
    if largest < rules.pool_least:
        yield warning(
            ("anomalies", "pool_least"),
            _("no pool is so large; the largest has {gpus} GPUs").format(gpus=gpus_text(largest)),
            _("make it smaller if you want to hear who holds most of a pool"),
        )
