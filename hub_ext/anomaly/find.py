"""Each kind of anomaly is one function over the facts, with thresholds of the policy."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from statistics import median_low

from ..i18n import _
from ..lease import DeviceId, OpenLease, PoolName, TeamName, UserName
from ..lease.anomalies import AnomalyAct, AnomalyKind
from ..policy.model import Anomalies
from ..units import bytes_text, duration_text, gpus_text, money_text
from .facts import FRESH, Facts, Held, Pool

USED_PERCENT = 5
"""Utilisation below which nothing runs on a GPU; as in the idle rules, less is noise."""

CPU_MILLIS = 200
"""CPU from which something runs beside it; as in the idle rules."""

COVERED_PERCENT = 90
"""Share of the time that must have been read before anything is said of all of it."""


@dataclass(frozen=True)
class Finding:
    """One odd thing now; `key` tells it from every other."""

    kind: AnomalyKind
    subject: str
    since: datetime
    figure: int
    words: str
    act: AnomalyAct
    leases: tuple[OpenLease, ...] = ()
    owner: UserName | None = None
    teams: tuple[TeamName, ...] = ()
    device: DeviceId | None = None
    pool: PoolName | None = None
    micro_per_hour: int | None = None
    """What an hour of it stands for, where that is not what the leases cost."""

    @property
    def key(self) -> tuple[str, str]:
        """What is odd, and about what."""
        return (self.kind, self.subject)


def find(facts: Facts, rules: Anomalies) -> tuple[Finding, ...]:
    """Find everything that is odd now, in a fixed order."""
    found = [
        *_hoarding(facts, rules),
        *_never_used(facts, rules),
        *_pool_share(facts, rules),
        *_dear(facts, rules),
        *_outside(facts, rules),
        *_forgotten(facts, rules),
        *_gap(facts, rules),
        *_unallocated(facts, rules),
    ]
    return tuple(sorted(found, key=lambda one: one.key))


def _of(lease: OpenLease) -> dict[str, object]:
    return {
        "leases": (lease,),
        "owner": lease.key.user,
        "teams": (lease.team,),
        "pool": lease.pool,
    }


def _finding(kind: AnomalyKind, lease: OpenLease, **more: object) -> Finding:
    return Finding(kind=kind, subject=lease.id, **{**_of(lease), **more})  # type: ignore[arg-type]


def _covered(held: Held, facts: Facts, start: datetime) -> bool:
    """Whether every device was read from `start` on, up to now."""
    return bool(held.spells) and all(
        one.first_at is not None
        and one.last_at is not None
        and one.first_at - start <= FRESH
        and facts.now - one.last_at <= FRESH
        and 100 * one.known >= COVERED_PERCENT * one.readings
        for one in held.spells
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


def _hoarding(facts: Facts, rules: Anomalies) -> Iterator[Finding]:
    for held in facts.leases:
        start = facts.now - rules.hoarding
        ran = held.lease.started_at
        if ran is None or ran > start or not _covered(held, facts, start):
            continue
        quiet = all((one.most_percent or 0) < USED_PERCENT for one in held.spells)
        tasks = held.tasks
        # A second witness: data may be prepared for the GPU just now.
        still = (
            tasks is not None
            and tasks.mean_millis is not None
            and 100 * tasks.known >= COVERED_PERCENT * tasks.readings
            and tasks.mean_millis < CPU_MILLIS
        )
        memory = _holds(held, rules)
        if quiet and still and memory:
            yield _finding(
                "hoarding",
                held.lease,
                since=start,
                figure=memory,
                act="notice",
                words=_(
                    "{memory} of GPU memory are held, and for {span} nothing ran on the GPU nor "
                    "prepared anything for it."
                ).format(memory=bytes_text(_rounded(memory)), span=duration_text(rules.hoarding)),
            )


def _never_used(facts: Facts, rules: Anomalies) -> Iterator[Finding]:
    for held in facts.leases:
        ran = held.lease.started_at
        if ran is None or facts.now - ran < rules.never_used or not held.spells:
            continue
        lived_s = int((facts.now - ran).total_seconds())
        read = 100 * held.life.sampled_s >= COVERED_PERCENT * lived_s
        peak = held.life.peak_percent
        used = peak is None or peak >= USED_PERCENT
        memory = any(
            one.most_bytes is None
            or not one.total_bytes
            or 100 * one.most_bytes >= rules.hoarding_percent * one.total_bytes
            for one in held.spells
        )
        if read and not used and not memory:
            yield _finding(
                "never_used",
                held.lease,
                since=ran,
                figure=lived_s,
                act="ask",
                words=_("Its GPU has not been used since it started."),
            )


def _pool_share(facts: Facts, rules: Anomalies) -> Iterator[Finding]:
    for pool in facts.pools:
        if pool.usable_units < rules.pool_least:
            continue
        by_person: dict[UserName, list[OpenLease]] = defaultdict(list)
        for held in facts.leases:
            if held.lease.pool == pool.name:
                by_person[held.lease.key.user].append(held.lease)
        for user, leases in by_person.items():
            units, since = 0, None
            for lease in sorted(leases, key=lambda one: one.assigned_at or one.requested_at):
                units += lease.units
                if since is None and 100 * units >= rules.pool_percent * pool.usable_units:
                    since = lease.assigned_at or lease.requested_at
            if since is None or facts.now - since < rules.pool_for:
                continue
            share = 100 * units // pool.usable_units
            yield Finding(
                kind="pool_share",
                subject=f"{pool.name}/{user}",
                since=since,
                figure=share,
                act="ask",
                words=_("{user} holds {share} % of pool {pool}, with {n} servers.").format(
                    user=user, share=share, pool=pool.name, n=len(leases)
                ),
                leases=tuple(leases),
                owner=user,
                teams=tuple(sorted({one.team for one in leases})),
                pool=PoolName(pool.name),
            )


def _dear(facts: Facts, rules: Anomalies) -> Iterator[Finding]:
    for held in facts.leases:
        alike = facts.alike.get(held.lease.profile)
        cost = held.cost_micro
        if cost is None or alike is None or len(alike.costs) < rules.dear_alike:
            continue
        usual = median_low(alike.costs)
        if cost < rules.dear_least or cost < rules.dear_times * usual:
            continue
        currency = held.lease.currency
        yield _finding(
            "dear",
            held.lease,
            since=held.lease.assigned_at or held.lease.requested_at,
            figure=cost,
            act="notice",
            words=_(
                "It has cost {cost}; half of the {n} leases of this profile that ended in the "
                "last 30 days cost {usual} or less."
            ).format(
                cost=money_text(cost, currency),
                n=len(alike.costs),
                usual=money_text(usual, currency),
            ),
        )


def _outside(facts: Facts, rules: Anomalies) -> Iterator[Finding]:
    for stray in facts.strays:
        if facts.now - stray.since < rules.outside:
            continue
        whose = _of(stray.lease) if stray.lease is not None else {}
        yield Finding(
            kind="outside",
            subject=stray.device,
            since=stray.since,
            figure=stray.memory_bytes or 0,
            act="quarantine",
            words=_("Process {pids} on {node} uses {device} and no lease gives it to them.").format(
                pids=", ".join(map(str, stray.pids)), node=stray.node, device=stray.device
            ),
            device=stray.device,
            micro_per_hour=stray.micro_per_hour,
            **{**whose, "pool": PoolName(stray.pool) if stray.pool else None},  # type: ignore[arg-type]
        )
    for one in facts.strangers:
        if facts.now - one.since >= rules.outside:
            yield Finding(
                kind="outside",
                subject=str(one.key),
                since=one.since,
                figure=int((facts.now - one.since).total_seconds()),
                act="stop",
                words=_(
                    "Server {server} runs on the hub without a lease: {why}. Stop it on the hub's "
                    "admin page, or give it a lease with `gpu-commons lease grant`."
                ).format(server=one.key, why=one.words),
                owner=one.key.user,
            )


def _forgotten(facts: Facts, rules: Anomalies) -> Iterator[Finding]:
    for lease, since in facts.forgotten:
        if facts.now - since >= rules.forgotten:
            yield _finding(
                "forgotten",
                lease,
                since=since,
                figure=int((facts.now - since).total_seconds()),
                act="close",
                words=_("The hub has forgotten this server, and its process still lives."),
            )


def _gap(facts: Facts, rules: Anomalies) -> Iterator[Finding]:
    silent = {one.node for one in facts.silent}
    for one in facts.silent:
        if facts.now - one.since < rules.gap:
            continue
        leases = tuple(
            held.lease
            for held in facts.leases
            if any(device.node == one.node for device in held.lease.devices)
        )
        yield Finding(
            kind="gap",
            subject=one.node,
            since=one.since,
            figure=int((facts.now - one.since).total_seconds()),
            act="notice",
            words=_("The agent of {node} is silent; {n} servers run there unseen.").format(
                node=one.node, n=len(leases)
            ),
            leases=leases,
            teams=tuple(sorted({lease.team for lease in leases})),
        )
    for held in facts.leases:
        if silent & {device.node for device in held.lease.devices}:
            continue
        since = _unread_since(held)
        if since is not None and facts.now - since >= rules.gap:
            yield _finding(
                "gap",
                held.lease,
                since=since,
                figure=int((facts.now - since).total_seconds()),
                act="notice",
                words=_("There is no figure of its GPU, so nobody knows whether it is used."),
            )


def _unread_since(held: Held) -> datetime | None:
    """Since when the device that was read longest ago has no figure; None where none is due."""
    began = held.lease.started_at
    if not held.measured or began is None or not held.spells:
        return None
    return min(one.known_at or began for one in held.spells)


def _unallocated(facts: Facts, rules: Anomalies) -> Iterator[Finding]:
    start = facts.now - rules.unallocated
    for pool in facts.pools:
        units = min(pool.usable_units - _most_held(pool, start), pool.free_units)
        if pool.since > start or units < rules.unallocated_least:
            continue
        price = pool.free_micro_per_hour
        yield Finding(
            kind="unallocated",
            subject=pool.name,
            since=start,
            figure=units,
            act="ask",
            words=_(
                "{gpus} GPUs of pool {pool} were held by nobody for {span}. Ask the teams that "
                "are guaranteed them, lend them, or let another pool have them."
            ).format(gpus=gpus_text(units), pool=pool.name, span=duration_text(rules.unallocated)),
            pool=PoolName(pool.name),
            micro_per_hour=None if price is None else price * units // pool.free_units,
        )


def _most_held(pool: Pool, start: datetime) -> int:
    """Units that were held at once at most since `start`."""
    steps: list[tuple[datetime, int]] = []
    for one in pool.held:
        if one.end > start:
            steps += [(max(one.start, start), one.units), (one.end, -one.units)]
    # What ends at an instant makes room for what begins then.
    steps.sort(key=lambda step: (step[0], step[1]))
    held = most = 0
    for _at, change in steps:
        held += change
        most = max(most, held)
    return most


def _rounded(count: int) -> int:
    """Whole MiB, so that it is written in few digits."""
    return count // 2**20 * 2**20
