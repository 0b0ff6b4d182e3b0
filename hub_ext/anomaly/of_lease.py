"""What is odd about one lease by its own readings and its cost."""

from collections.abc import Iterator
from datetime import datetime
from statistics import median_low

from ..i18n import _
from ..policy.model import Anomalies
from ..units import bytes_text, duration_text, money_text
from .facts import FRESH, Ended, Held, Spell
from .finding import Finding, about

USED_PERCENT = 5
"""Utilisation below which nothing runs on a GPU; as in the idle rules, less is noise."""

CPU_MILLIS = 200
"""CPU from which something runs beside it; as in the idle rules."""

COVERED_PERCENT = 90
"""Share of the time that must have been read before anything is said of all of it."""

BUSY_PERCENT = 10
"""Share of readings in which something runs, from which a GPU is never judged idle."""

LEAST_SM, LEAST_DRAM = 3, 1
"""Percent of multiprocessors and of bandwidth that nobody's work stays under for hours."""


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
        *_gaming(held, rules, now),
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


def _gaming(held: Held, rules: Anomalies, now: datetime) -> Iterator[Finding]:
    """Tell of a GPU that looks busy for very long, computes next to nothing, and is alone.

    Where the driver does not tell how much is computed nothing is said.
    """
    start, ran = now - rules.gaming, held.lease.started_at
    if ran is None or ran > start or not held.long:
        return
    if held.input_at is not None and held.input_at > start:
        return
    if all(_pretends(one, start, now) for one in held.long):
        yield about(
            "gaming",
            held.lease,
            since=start,
            figure=int((now - ran).total_seconds()),
            act="ask",
            # For administrators alone: it may be a service that waits, or a mistake.
            teams=(),
            words=_(
                "Its GPU has looked busy for {span} and computed next to nothing ({sm} % of its "
                "multiprocessors, {dram} % of its memory's bandwidth at most), and nobody was seen "
                "at it. It may be kept alive on purpose, or wait for requests."
            ).format(
                span=duration_text(rules.gaming),
                sm=max(one.most_sm or 0 for one in held.long),
                dram=max(one.most_dram or 0 for one in held.long),
            ),
        )


def _pretends(one: Spell, start: datetime, now: datetime) -> bool:
    read = (
        one.first_at is not None
        and one.last_at is not None
        and one.first_at - start <= FRESH
        and now - one.last_at <= FRESH
        and 100 * one.gauged >= COVERED_PERCENT * one.readings
    )
    looks_busy = 100 * one.busy >= BUSY_PERCENT * one.readings
    little = one.most_sm is not None and one.most_sm <= LEAST_SM
    idle_memory = one.most_dram is not None and one.most_dram <= LEAST_DRAM
    return read and looks_busy and little and idle_memory
