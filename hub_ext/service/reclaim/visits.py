"""Whether anybody came to a server that was started for somebody who waited.

It tells and notes; who acts on it is in `unused`. Unknown is never a ground to stop.
"""

from datetime import datetime, timedelta

from ...idle import judge, lookback, rule_of
from ...lease import LeaseState, OpenLease, ServerKey, VerdictState
from ...policy.model import IdleRule, Policy
from ..books.desk import Desk
from ..hearing.readings import gathered
from ..leasing.attempts import keyed
from .stops import kind_of

LONGEST_PERIOD_S = 60.0
"""Slowest agent whose readings are still looked for."""

_UP = frozenset({LeaseState.running, LeaseState.noticed})


def visited(desk: Desk, key: ServerKey, *, now: datetime) -> None:
    """Note that somebody is there: the server needs no watching any more."""
    with desk.turn(now) as turn:
        lease = turn.tx.lease_of(keyed(desk, key))
        if lease is not None and lease.autostarted and lease.state in _UP:
            turn.record(lease.model_copy(update={"autostarted": False}))


def candidates(desk: Desk, *, now: datetime) -> tuple[OpenLease, ...]:
    """List servers to which nobody came in time and which were idle all the while."""
    policy = desk.book.known
    if policy is None:
        return ()
    with desk.turn(now) as turn:
        leases = turn.tx.leases()
    limit = policy.notice.never_used
    return tuple(
        lease
        for lease in leases
        if lease.autostarted
        and lease.state in _UP
        and lease.started_at is not None
        and now - lease.started_at >= limit
        and _idle(desk, lease, policy, now)
    )


def _idle(desk: Desk, lease: OpenLease, policy: Policy, now: datetime) -> bool:
    kind = kind_of(lease)
    found = rule_of(policy, lease, kind)
    rule = (
        found[1]
        if found
        else IdleRule.model_validate({"applies": (kind,), "limit": "15m", "notice": "0s"})
    )
    limits = {"limit": policy.notice.never_used, "start_grace": timedelta(0)}
    rule = rule.model_copy(update=limits)
    readings = gathered(desk, lease, now - lookback(rule, LONGEST_PERIOD_S), now)
    devices = [device.id for device in desk.held_for.devices(lease, now)]
    verdict = judge("never-used", rule, lease, readings, now, required_devices=devices, kind=kind)
    return verdict.state is VerdictState.idle
