"""What is odd about one lease by its own readings and its cost."""

from collections.abc import Iterator
from datetime import datetime
from statistics import median_low

from ..i18n import _
from ..policy.model import Anomalies
from ..units import bytes_text, duration_text, money_text
from .facts import FRESH, Ended, Held
from .finding import Finding, about

USED_PERCENT = 5
"""Utilisation below which nothing runs on a GPU; as in the idle rules, less is noise."""

CPU_MILLIS = 200
"""CPU from which something runs beside it; as in the idle rules."""

COVERED_PERCENT = 90
"""Share of the time that must have been read before anything is said of all of it."""


def of_lease(
    held: Held, alike: Ended | None, rules: Anomalies, now: datetime
) -> tuple[Finding, ...]:
    """Find what is odd about one lease now.

    Parameters
    ----------
    alike
        What leases of its profile cost; None where that is not known.
    """
    return (
        *_hoarding(held, rules, now),
        *_never_used(held, rules, now),
        *_dear(held, alike, rules),
        *_unread(held, rules, now),
    )


def _hoarding(held: Held, rules: Anomalies, now: datetime) -> Iterator[Finding]:
    start, ran = now - rules.hoarding, held.lease.started_at
    if ran is None or ran > start or not _covered(held, start, now):
        return
    quiet = all((one.most_percent or 0) < USED_PERCENT for one in held.spells)
    memory = _holds(held, rules)
    if quiet and memory and _still(held):
        yield about(
            "hoarding",
            held.lease,
            since=start,
            figure=memory,
            act="notice",
            words=_(
                "{memory} of GPU memory are held, and for {span} nothing ran on the GPU nor "
                "prepared anything for it."
            ).format(
                memory=bytes_text(memory // 2**20 * 2**20), span=duration_text(rules.hoarding)
            ),
        )


def _covered(held: Held, start: datetime, now: datetime) -> bool:
    """Whether every device was read from `start` on, up to now."""
    return bool(held.spells) and all(
        one.first_at is not None
        and one.last_at is not None
        and one.first_at - start <= FRESH
        and now - one.last_at <= FRESH
        and 100 * one.known >= COVERED_PERCENT * one.readings
        for one in held.spells
    )


def _still(held: Held) -> bool:
    """Whether its processes rested: the second witness, since data may be prepared just now."""
    tasks = held.tasks
    return (
        tasks is not None
        and tasks.mean_millis is not None
        and 100 * tasks.known >= COVERED_PERCENT * tasks.readings
        and tasks.mean_millis < CPU_MILLIS
    )


def _holds(held: Held, rules: Anomalies) -> int:
    """Bytes that were held all the time on devices where that is more than a context."""
    return sum(
        one.least_bytes
        for one in held.spells
        if one.least_bytes is not None
        and one.total_bytes
        and 100 * one.least_bytes >= rules.hoarding_percent * one.total_bytes
    )


def _never_used(held: Held, rules: Anomalies, now: datetime) -> Iterator[Finding]:
    ran = held.lease.started_at
    if ran is None or now - ran < rules.never_used or not held.spells:
        return
    lived_s = int((now - ran).total_seconds())
    read = 100 * held.life.sampled_s >= COVERED_PERCENT * lived_s
    peak = held.life.peak_percent
    used = peak is None or peak >= USED_PERCENT
    if read and not used and not any(_loaded(held, rules)):
        yield about(
            "never_used",
            held.lease,
            since=ran,
            figure=lived_s,
            act="ask",
            words=_("Its GPU has not been used since it started."),
        )


def _loaded(held: Held, rules: Anomalies) -> Iterator[bool]:
    """Tell of each device whether more than a context was ever on it, or that is not known."""
    for one in held.spells:
        known = one.most_bytes is not None and bool(one.total_bytes)
        least = rules.hoarding_percent * (one.total_bytes or 0)
        yield not known or 100 * (one.most_bytes or 0) >= least


def _dear(held: Held, alike: Ended | None, rules: Anomalies) -> Iterator[Finding]:
    cost = held.cost_micro
    if cost is None or alike is None or len(alike.costs) < rules.dear_alike:
        return
    usual = median_low(alike.costs)
    if cost < rules.dear_least or cost < rules.dear_times * usual:
        return
    currency = held.lease.currency
    yield about(
        "dear",
        held.lease,
        since=held.lease.assigned_at or held.lease.requested_at,
        figure=cost,
        act="notice",
        words=_(
            "It has cost {cost}; half of the {n} leases of this profile that ended in the "
            "last 30 days cost {usual} or less."
        ).format(
            cost=money_text(cost, currency), n=len(alike.costs), usual=money_text(usual, currency)
        ),
    )


def _unread(held: Held, rules: Anomalies, now: datetime) -> Iterator[Finding]:
    """Tell of a lease of which some device has had no figure for long, where one is due."""
    began = held.lease.started_at
    if not held.measured or began is None or not held.spells:
        return
    since = min(one.known_at or began for one in held.spells)
    if now - since >= rules.gap:
        yield about(
            "gap",
            held.lease,
            since=since,
            figure=int((now - since).total_seconds()),
            act="notice",
            words=_("There is no figure of its GPU, so nobody knows whether it is used."),
        )
