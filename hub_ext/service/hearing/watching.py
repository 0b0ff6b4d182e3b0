"""Batches from the agents, and verdicts made of them: kept, answered, recorded where they change.

A batch decides nothing.
"""

from datetime import datetime, timedelta

from ...idle.onrecord import MOST_AN_HOUR, Decided, OnRecord, decided, of_records
from ...lease import (
    Device,
    LeaseId,
    OpenLease,
    SampleBatch,
    Verdict,
    VerdictState,
    WatchItem,
    WatchList,
)
from ...policy.model import IdleRule
from ..books.agentclocks import on_our_clock
from ..books.desk import Desk, Turn
from ..devices.checking import check
from ..devices.timeshares import each_share, told_apart
from ..rules.unenforced import note_idle

CHANGED = "verdict.changed"
"""Kind of the event: another judgement is on record."""


def take(desk: Desk, batch: SampleBatch, *, now: datetime) -> WatchList:
    """Keep what an agent read, and list the leases that it should watch on its node."""
    if batch.source == "prometheus" and desk.floor.is_watched_at_home(batch.node, now=now):
        return WatchList(leases=(), at=now)
    before = desk.floor.told_at(batch.node)
    batch = on_our_clock(batch)
    wanted = False
    if not batch.late:
        wanted = desk.floor.take(batch, now=now)
        desk.held_for.take(batch, now)
    policy = desk.book.known
    if policy is not None:
        batch = told_apart(batch, desk.floor.shares(batch.node, policy, now=now))
    with desk.turn(now) as turn:
        desk.by_node.take(turn.tx.leases())
    leases = tuple(desk.by_node.on(batch.node, desk.held_for.named_by(batch.node)))
    held = {lease.id: desk.held_for.devices(lease, now) for lease in leases if lease.holding}
    read = each_share(batch, (one for devices in held.values() for one in devices))
    then = {lease.id for lease in leases if not batch.late or _held_at(lease, batch)}
    holders = {
        device.id: lease for lease, devices in held.items() if lease in then for device in devices
    }
    desk.samples.add(read, now=now, holders=holders)
    if not batch.late:
        check(desk, batch, leases, now=now, before=before)
    return WatchList(
        leases=tuple(
            item
            for lease in leases
            if (item := _item(desk, lease, held.get(lease.id, ()), batch.node)) is not None
        ),
        inventory_wanted=wanted,
        at=now,
    )


def _held_at(lease: OpenLease, batch: SampleBatch) -> bool:
    """Whether a lease had its devices already when a late batch was read."""
    read_since = batch.sent_at - timedelta(seconds=batch.period_s)
    return lease.assigned_at is not None and lease.assigned_at <= read_since


def _item(desk: Desk, lease: OpenLease, held: tuple[Device, ...], node: str) -> WatchItem | None:
    if not lease.holding:
        return None
    devices = tuple(device.id for device in held if device.node == node)
    if not devices and (lease.devices or not _runs_on(desk, lease, node)):
        return None
    return WatchItem(lease_id=lease.id, devices=devices, process=lease.process)


def _runs_on(desk: Desk, lease: OpenLease, node: str) -> bool:
    """Whether a server without a GPU may run on a node; the policy names none for it.

    Its agent finds it by the mark of its processes. On a cluster only the agent of its machine is
    asked to: another one would tell that it finds nothing.
    """
    machine = desk.held_for.machine(lease)
    return machine == node if machine is not None else lease.process is not None


def judged(
    desk: Desk,
    lease_id: LeaseId,
    verdict: Verdict,
    *,
    rule: IdleRule | None = None,
    now: datetime,
) -> Verdict:
    """Keep the newest verdict for those who look, and record it where it tells something new.

    Returns it under its decision, as it stands on record; see `idle.onrecord`.
    """
    former = desk.on_record.get(lease_id)
    if former is not None:
        # What closes a lease takes it away, so it is open.
        found = decided(lease_id, former, verdict)
        if not found.fresh:
            return _kept(desk, lease_id, found, rule)
    with desk.turn(now) as turn:
        lease = turn.tx.lease(lease_id)
        if lease is None or not lease.open:
            desk.verdicts.pop(lease_id, None)
            return verdict
        found = decided(lease_id, former or _recorded(turn, lease_id), verdict)
        if found.fresh:
            body = {"v": 1, "verdict": found.verdict.model_dump(mode="json")}
            turn.note(CHANGED, lease, body)
            if found.began and verdict.state is VerdictState.idle:
                note_idle(turn, lease, verdict)
    return _kept(desk, lease_id, found, rule)


def _kept(desk: Desk, lease_id: LeaseId, found: Decided, rule: IdleRule | None) -> Verdict:
    desk.verdicts[lease_id] = found.verdict
    desk.on_record[lease_id] = found.record
    if rule is None:
        desk.judged_by.pop(lease_id, None)
    else:
        desk.judged_by[lease_id] = rule
    return found.verdict


def _recorded(turn: Turn, lease_id: LeaseId) -> OnRecord | None:
    """Read what a former governor recorded, so that a decision goes on over a restart."""
    events = turn.tx.events(lease_id=lease_id, kinds=(CHANGED,), limit=MOST_AN_HOUR, newest=True)
    return of_records([Verdict.model_validate(one.body["verdict"]) for _seq, one in events])
