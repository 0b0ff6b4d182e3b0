"""From an admitted request to the grant that a spawner applies; it decides nothing.

The grant is complete: whoever starts the server looks nothing up elsewhere.
"""

from datetime import datetime

from ...admission.decide import Admitted
from ...admission.priority import started
from ...kube.podterms import PodSettings, pod_terms
from ...lease import (
    Ask,
    AttemptId,
    Device,
    Environment,
    Grant,
    LeaseState,
    OpenLease,
    PodTerms,
    Reason,
    Standing,
)
from ...policy.catalogue import Resolved, price_of
from ..books.desk import Turn
from ..rules.unenforced import told, unpaid

LABELS = "gpu-commons.dev/"
"""Prefix of the labels that a server's container carries."""


def asked_lease(turn: Turn, asked: Ask, resolved: Resolved) -> OpenLease:
    """Make the lease of an ask that has no answer yet."""
    return OpenLease(
        id=turn.desk.new_id(),
        key=asked.key,
        attempt_id=AttemptId(asked.attempt_id),
        choice=resolved.choice,
        team=resolved.team,
        project=resolved.project,
        profile=resolved.profile,
        pool=resolved.pool,
        flavor=resolved.flavor,
        units=resolved.units,
        standing=Standing.would_queue,
        state=LeaseState.requested,
        state_since=turn.now,
        requested_at=turn.now,
        price_micro_per_hour=resolved.price_micro_per_hour,
        currency=resolved.currency,
        policy_generation=turn.desk.book.state.generation,
        task_type=resolved.task_type,
        value_class=resolved.value_class,
        groups=asked.groups,
        alone=resolved.choice.alone if resolved.pool is not None else None,
    )


def renewed(turn: Turn, lease: OpenLease, asked: Ask, resolved: Resolved) -> OpenLease:
    """Give a lease that waited the attempt that claims it, and what the policy says now."""
    return lease.model_copy(
        update={
            "attempt_id": AttemptId(asked.attempt_id),
            "choice": resolved.choice,
            "groups": asked.groups,
            "held_until": None,
            "pool": resolved.pool,
            "flavor": resolved.flavor,
            "units": resolved.units,
            "price_micro_per_hour": resolved.price_micro_per_hour,
            "currency": resolved.currency,
            "policy_generation": turn.desk.book.state.generation,
            "task_type": resolved.task_type,
            "value_class": resolved.value_class,
            "alone": resolved.choice.alone if resolved.pool is not None else None,
        }
    )


def given(lease: OpenLease, devices: tuple[Device, ...]) -> dict[str, object]:
    """Tell a lease's own devices from what is kept empty beside them, where it is alone."""
    if lease.alone is None:
        return {"devices": devices, "rest": ()}
    own = int(lease.flavor[4:]) if lease.flavor.startswith("gpu-") else 1
    return {"devices": devices[:own], "rest": devices[own:]}


def granted(
    turn: Turn,
    lease: OpenLease,
    resolved: Resolved,
    admitted: Admitted,
    environment: Environment | None,
) -> Grant:
    """Hand the devices to the lease and record it as starting, with the answer in it."""
    started = lease.model_copy(
        update={
            "state": LeaseState.starting,
            "state_since": turn.now,
            "standing": admitted.standing,
            "price_micro_per_hour": price_of(
                turn.desk.book.policy, resolved, admitted.standing, turn.now
            ),
            **given(lease, admitted.devices),
            "assigned_at": turn.now,
            "held_at": lease.held_at or turn.now,
            "ends_at": _end(turn, lease, resolved, admitted),
            # What is announced now may be called off; an extension asks again.
            "longest_end_at": lease.reserved_until or turn.now + resolved.longest,
            "reason": _reason(turn, admitted),
            "caller_since": None,
            **_standing_of_start(turn, lease, resolved, admitted),
        }
    )
    grant = _grant(turn, started, resolved, environment)
    turn.record(started.model_copy(update={"grant": grant}))
    return grant


def _standing_of_start(
    turn: Turn, lease: OpenLease, resolved: Resolved, admitted: Admitted
) -> dict[str, object]:
    """Freeze what the lease stands by while it runs: its weight, and how long it is safe."""
    policy = turn.desk.book.policy
    known = lease.model_copy(update={"task_type": resolved.task_type, "caller_since": None})
    weight = turn.desk.ranks.weight(policy, known, turn.now).total
    safe_until = None
    if admitted.standing is Standing.borrowed and resolved.pool is not None:
        safe_until = turn.now + policy.pools[resolved.pool].min_runtime
    return {"weight": weight, "priority": started(weight), "safe_until": safe_until}


def recorded_late(
    turn: Turn,
    lease: OpenLease,
    asked: Ask,
    resolved: Resolved,
    environment: Environment | None,
) -> Grant:
    """Complete the lease of a running server by the ask that comes after its start."""
    since = lease.started_at or turn.now
    known = lease.model_copy(
        update={
            "attempt_id": AttemptId(asked.attempt_id),
            "choice": resolved.choice,
            "groups": asked.groups,
            "team": resolved.team,
            "project": resolved.project,
            "profile": resolved.profile,
            "ends_at": since + resolved.lifetime,
            "longest_end_at": since + resolved.longest,
            "price_micro_per_hour": price_of(
                turn.desk.book.policy, resolved, lease.standing, turn.now
            ),
            "currency": resolved.currency,
            "policy_generation": turn.desk.book.state.generation,
            "task_type": resolved.task_type,
            "value_class": resolved.value_class,
            "reason": None,
        }
    )
    grant = _grant(turn, known, resolved, environment)
    turn.record(known.model_copy(update={"grant": grant}))
    return grant


def _grant(
    turn: Turn, lease: OpenLease, resolved: Resolved, environment: Environment | None
) -> Grant:
    policy = turn.desk.book.policy
    pool = policy.pools[lease.pool] if lease.pool is not None else None
    labels = {f"{LABELS}lease": lease.id, f"{LABELS}team": lease.team}
    if lease.project is not None:
        labels[f"{LABELS}project"] = lease.project
    if lease.task_type is not None:
        labels[f"{LABELS}task-type"] = lease.task_type
    return Grant(
        lease_id=lease.id,
        attempt_id=lease.attempt_id,
        key=lease.key,
        team=lease.team,
        project=lease.project,
        profile=lease.profile,
        title=resolved.title,
        standing=lease.standing,
        devices=lease.devices,
        environment=environment,
        cpu_millis=resolved.cpu_millis,
        memory_bytes=resolved.memory_bytes,
        node_selector=pool.selector if pool is not None else {},
        labels=labels,
        ends_at=lease.ends_at or turn.now + resolved.lifetime,
        price_micro_per_hour=lease.price_micro_per_hour,
        currency=resolved.currency,
        isolation=resolved.isolation,
        simulated=any(device.simulated for device in lease.devices),
        pod=terms(turn, lease, resolved),
    )


def terms(turn: Turn, lease: OpenLease, resolved: Resolved) -> PodTerms | None:
    """Say what the pod of a lease is made of; None where servers are processes.

    Raises
    ------
    RefusedError
        When its environment is no image; then nothing of the turn happens.
    """
    settings = turn.desk.settings
    if not settings.on_kubernetes:
        return None
    known = PodSettings(single=settings.kube_namespace or None)
    return pod_terms(turn.desk.book.policy, resolved, lease, known)


def _end(turn: Turn, lease: OpenLease, resolved: Resolved, admitted: Admitted) -> datetime:
    if lease.reserved_until is not None:
        return lease.reserved_until
    end = turn.now + resolved.lifetime
    return end if admitted.ends_by is None else min(end, admitted.ends_by)


def _reason(turn: Turn, admitted: Admitted) -> Reason:
    reason, modes = admitted.reason, turn.desk.book.policy.modes
    if admitted.would_have is not None:
        figures = {**reason.figures, "would_have": admitted.would_have.value}
        reason = reason.model_copy(update={"figures": figures})
        # Advice has its own words already.
        reason = told(reason, admitted.would_have) if modes.quota == "observe" else reason
    if admitted.budget_would_have is not None and modes.budget == "observe":
        reason = unpaid(reason)
    return reason
