"""What people are shown of a lease: its state, cost, time left, readings and verdict.

It reads and reckons; nothing is written here.
"""

from datetime import datetime, timedelta

from ...admission.contract import of_lease
from ...i18n import _
from ...lease import (
    Cost,
    Environment,
    Isolation,
    LeaseId,
    LeaseState,
    LeaseView,
    OpenLease,
    ServerKey,
)
from ...metering import cost
from ...mig.joining import joined_words
from ...policy.catalogue import environment_of
from ...policy.model import Policy
from ...units import whole_seconds
from ..books.desk import Desk, Turn
from ..books.restcharges import rest_part, summed
from ..hearing.readings import newest
from ..reclaim import keeps
from ..reclaim.stops import most_extension
from .attempts import keyed
from .changing import under_way
from .closing import spans, stop_limit

_STOPPABLE = frozenset({LeaseState.starting, LeaseState.running, LeaseState.noticed})


def view(desk: Desk, key: ServerKey, *, now: datetime) -> LeaseView:
    """Show a server's open lease, or how the last one ended."""
    key = keyed(desk, key)
    with desk.turn(now) as turn:
        lease = turn.tx.lease_of(key)
        ended = None if lease else turn.tx.last_ended(key)
        return _view(turn, key, lease, ended)


def view_of(desk: Desk, lease_id: LeaseId, *, now: datetime) -> LeaseView:
    """Show one lease, open or closed.

    Raises
    ------
    RefusedError
        When there is none of that id.
    """
    with desk.turn(now) as turn:
        lease = turn.found(lease_id)
        if lease.open:
            return _view(turn, lease.key, lease, None)
        return _view(turn, lease.key, None, lease)


def _view(
    turn: Turn, key: ServerKey, lease: OpenLease | None, ended: OpenLease | None
) -> LeaseView:
    shown = lease or ended
    if shown is None:
        return LeaseView(seq=0, now=turn.now, server=key, lease=None)
    until = turn.now if shown.closed_at is None else shown.closed_at
    change = under_way(turn, lease) if lease is not None else None
    common = LeaseView(
        # News of the change is news of the server.
        seq=max(turn.tx.seq(one) for one in (shown.id, change.lease_id if change else shown.id)),
        now=turn.now,
        server=key,
        lease=lease,
        ended=ended,
        cost=cost_of(turn.desk, shown, until),
        simulated=any(device.simulated for device in shown.devices),
        isolation=shown.grant.isolation if shown.grant else Isolation.none,
        found_on=_found_on(turn.desk, shown, turn.now),
        joined=_joined(turn.desk, shown),
        task_title=_task_title(turn, shown),
        change=change,
    )
    if lease is None:
        return common
    live = lease.state in _STOPPABLE
    policy = turn.desk.book.known
    return common.model_copy(
        update={
            "time_left_s": whole_seconds(turn.now, lease.ends_at) if lease.ends_at else None,
            "extend_max_s": most_extension(turn, lease)[0] if live else 0,
            "can_stop": live,
            "contract": of_lease(policy, lease, turn.now) if policy is not None else None,
            "environment_now": _environment_now(policy, lease) if policy is not None else None,
            "readings": newest(turn.desk, lease, turn.now),
            "verdict": turn.desk.verdicts.get(lease.id),
            "keep": keeps.sheet(turn, lease),
            "waits_for": turn.desk.waits_for.get(lease.id),
        }
    )


def _found_on(desk: Desk, lease: OpenLease, now: datetime) -> str:
    """Name the machine whose agent found every device of a lease; empty where one is not found."""
    held = {one.driver_id for one in desk.held_for.devices(lease, now)}
    for inventory in desk.floor.inventories(now=now):
        if held and held <= {one.driver_id for one in inventory.devices}:
            return inventory.node
    return ""


def _joined(desk: Desk, lease: OpenLease) -> str:
    """Say how the GPUs of a lease are joined; on Kubernetes only the machine's plugin knows."""
    if desk.settings.on_kubernetes and len(lease.devices) > 1:
        return _("{n} GPUs of one machine, as its device plugin chose them").format(
            n=len(lease.devices)
        )
    return joined_words(lease.devices)


def _environment_now(policy: Policy, lease: OpenLease) -> Environment | None:
    """Give what is pinned by now, where a lease that runs has another."""
    got = lease.grant.environment if lease.grant is not None else None
    if got is None or lease.project not in policy.projects:
        return None
    now = environment_of(policy, str(lease.project), lease.task_type)
    return now if now is not None and now.digest != got.digest else None


def _task_title(turn: Turn, lease: OpenLease) -> str:
    policy = turn.desk.book.known
    task = policy.task_types.get(lease.task_type or "") if policy is not None else None
    return task.title if task is not None else lease.task_type or ""


def cost_of(desk: Desk, lease: OpenLease, as_of: datetime) -> Cost:
    """Reckon what a lease has cost until an instant, by what its close would post.

    What is kept empty beside one that is alone is in it.
    """
    start = lease.assigned_at or as_of
    # A moment more than is charged, so that a lease of no age has a price already.
    end = as_of + timedelta(seconds=1)
    known = spans(desk, lease, start, end)
    rest = rest_part(lease)
    if rest is not None:
        known = summed([(1, known), (1, spans(desk, rest, start, end))])
    return cost(lease, known, as_of, stop_limit=stop_limit(desk))
