"""What is odd about pools, people, machines and processes; each kind is one function."""

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime

from ..i18n import _
from ..lease import OpenLease, PoolName, UserName
from ..policy.model import Anomalies
from ..units import duration_text, gpus_text
from .facts import Facts, Pool
from .finding import Finding, about, whose


def find(facts: Facts, rules: Anomalies) -> tuple[Finding, ...]:
    """Find everything that is odd now, in a fixed order."""
    found = [
        *_known(facts),
        *_pool_share(facts, rules),
        *_outside(facts, rules),
        *_forgotten(facts, rules),
        *_gap(facts, rules),
        *_unallocated(facts, rules),
    ]
    return tuple(sorted(found, key=lambda one: one.key))


def _known(facts: Facts) -> Iterator[Finding]:
    """What was found at the last look at each lease; a silent machine is one gap of its own."""
    silent = {one.node for one in facts.silent}
    for one in facts.known:
        nodes = {device.node for lease in one.leases for device in lease.devices}
        if one.kind != "gap" or not silent & nodes:
            yield one


def _pool_share(facts: Facts, rules: Anomalies) -> Iterator[Finding]:
    for pool in facts.pools:
        if pool.usable_units < rules.pool_least:
            continue
        by_person: dict[UserName, list[OpenLease]] = defaultdict(list)
        for lease in facts.leases:
            if lease.pool == pool.name:
                by_person[lease.key.user].append(lease)
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


def _outside(facts: Facts, rules: Anomalies) -> Iterator[Finding]:
    for stray in facts.strays:
        if facts.now - stray.since < rules.outside:
            continue
        owner = whose(stray.lease) if stray.lease is not None else {}
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
            node=stray.node,
            micro_per_hour=stray.micro_per_hour,
            **{**owner, "pool": PoolName(stray.pool) if stray.pool else None},  # type: ignore[arg-type]
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
            yield about(
                "forgotten",
                lease,
                since=since,
                figure=int((facts.now - since).total_seconds()),
                act="close",
                words=_("The hub has forgotten this server, and its process still lives."),
            )


def _gap(facts: Facts, rules: Anomalies) -> Iterator[Finding]:
    for one in facts.silent:
        if facts.now - one.since < rules.gap:
            continue
        leases = tuple(
            lease
            for lease in facts.leases
            if any(device.node == one.node for device in lease.devices)
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
