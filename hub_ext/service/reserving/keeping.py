"""GPUs for a reservation whose time has come: held by a lease, or kept without one.

A lease is held for the owner's server where that has none. Where it runs, devices are kept for it
without a lease, until its owner changes over or stops it.
"""

from datetime import datetime, timedelta
from typing import NamedTuple

from ...admission.decide import Admitted, Request, reconsider
from ...errors import RefusedError
from ...i18n import _
from ...lease import Ask, Device, LeaseState, OpenLease, Reason, When, local_text
from ...lease.reserving import Opening, Reservation
from ...lease.value import MOST_PURPOSE
from ...policy.catalogue import Person, resolve
from ...policy.room import held_devices, room_for
from ..books.desk import Turn
from ..leasing.granting import asked_lease, given
from ..money.paying import unpaid_beside
from ..money.valuing import opened
from ..queueing.tickets import START, join, pinned, start_body


class Kept(NamedTuple):
    """What could be kept: a lease that is held, devices alone, or nothing and why."""

    lease: OpenLease | None = None
    devices: tuple[Device, ...] = ()
    reason: Reason | None = None


def keep(turn: Turn, one: Reservation, current: Opening, present: OpenLease | None) -> Kept:
    """Keep GPUs for a reservation; `present` is the lease that the owner's server has now."""
    asked = _asked(one, current)
    person = Person(user=one.key.user, groups=one.groups)
    try:
        resolved = resolve(turn.desk.book.policy, person, one.choice, turn.now)
    except RefusedError as refusal:
        return Kept(reason=_reason_of(refusal))
    request = Request(key=one.key, resolved=resolved, requested_at=turn.now, until=current.end)
    decision = reconsider(turn.snapshot(), request, current.devices)
    if not isinstance(decision, Admitted):
        return Kept(reason=decision.reason)
    if present is None:
        lease = opened(turn, asked_lease(turn, asked, resolved), one.reason.strip()[:MOST_PURPOSE])
        lease = join(turn, lease, asked, decision.reason, turn.now)
        return Kept(lease=_hold(turn, one, current, lease, decision))
    short = unpaid_beside(turn, one, current)
    if short is not None:
        return Kept(reason=short)
    devices = _devices(turn, one, current)
    if devices:
        return Kept(devices=devices, reason=_runs_already(one, current))
    return Kept(reason=_no_device(one))


def hold_again(turn: Turn, one: Reservation, current: Opening, lease: OpenLease) -> bool:
    """Hold devices once more for a lease that gave them up; whether there were any."""
    person = Person(user=lease.key.user, groups=lease.groups)
    try:
        resolved = resolve(turn.desk.book.policy, person, pinned(lease, lease.choice), turn.now)
    except RefusedError:
        return False
    request = Request(
        key=lease.key,
        resolved=resolved,
        requested_at=lease.requested_at,
        lease_id=lease.id,
        until=current.end,
    )
    decision = reconsider(turn.snapshot(), request, ())
    if not isinstance(decision, Admitted):
        return False
    _hold(turn, one, current, lease, decision)
    return True


def _hold(
    turn: Turn, one: Reservation, current: Opening, lease: OpenLease, admitted: Admitted
) -> OpenLease:
    since = current.kept_since or turn.now
    until = min(since + timedelta(seconds=one.no_show_s), current.end)
    held = turn.record(
        lease.model_copy(
            update={
                "state": LeaseState.held,
                "state_since": turn.now,
                **given(lease, admitted.devices),
                "standing": admitted.standing,
                "held_until": until,
                "holds": lease.holds + 1,
                "reservation": one.id,
                "reserved_until": current.end,
                "reason": _held_reason(one, current, until),
            }
        )
    )
    if held.when is When.start:
        turn.tx.intend(START, held.id, start_body(held), at=turn.now)
    return held


def _devices(turn: Turn, one: Reservation, current: Opening) -> tuple[Device, ...]:
    """Choose devices that nobody has; those that were kept before stay while in service."""
    policy, leases = turn.desk.book.policy, turn.tx.leases()
    serving = tuple(
        device for device in turn.desk.in_service(policy, now=turn.now) if device.pool == one.pool
    )
    if current.devices and set(current.devices) <= set(serving):
        return current.devices
    quota = policy.teams[one.team].quota.get(one.pool) if one.team in policy.teams else None
    last = turn.now + _A_MOMENT
    times = turn.desk.times.between(turn.tx.reservations(), leases, turn.now, last)
    others = [x for x in times if x.id != one.id and x.pool == one.pool and x.devices]
    holding = [lease for lease in leases if lease.holding]
    used = sum(x.units for x in holding if x.team == one.team and x.pool == one.pool)
    used += sum(x.units for x in others if x.team == one.team and x.lease_id is None)
    if quota is None or used + one.units > quota.nominal:
        return ()
    mine = [
        x.model_copy(update={"devices": (), "lease_id": None}) for x in times if x.id == one.id
    ][:1]
    kept = (device for x in others if x.lease_id is None for device in x.devices)
    owners = turn.desk.pins.owners_in(policy)
    placed = room_for(serving, (*held_devices(holding), *kept), mine, owners)
    return placed[one.id] if placed else ()


_A_MOMENT = timedelta(seconds=1)


def _asked(one: Reservation, current: Opening) -> Ask:
    """Make the ask of the owner's server; its attempt is none of the spawner's."""
    mark = f"{int(current.start.timestamp()):x}-{one.kept}"
    return Ask(
        attempt_id=f"{one.id}-{mark}",
        key=one.key,
        groups=one.groups,
        choice=one.choice.model_copy(update={"team": one.team, "project": one.project}),
        when=one.when,
    )


def _held_reason(one: Reservation, current: Opening, until: datetime) -> Reason:
    words = (
        _("Your reserved GPUs are held until {until}, and your server is being started on them.")
        if one.when is When.start
        else _("Your reserved GPUs are held until {until}: start the server by then.")
    )
    end = _("The reserved time ends at {end}.").format(end=local_text(current.end, one.zone))
    message = words.format(until=local_text(until, one.zone))
    return Reason(
        code="reserved-held", message=f"{message} {end}", figures={"no_show_s": one.no_show_s}
    )


def _runs_already(one: Reservation, current: Opening) -> Reason:
    return Reason(
        code="reserved-kept",
        message=_(
            "Your reserved GPUs are kept for you. Your server runs on something else: stop it and "
            "start it as {profile} to change over, until {end} at the latest."
        ).format(profile=one.profile, end=local_text(current.end, one.zone)),
    )


def _no_device(one: Reservation) -> Reason:
    return Reason(
        code="reserved-not-free",
        message=_(
            "No GPU of pool {pool} is free for your reservation beside what your own server holds. "
            "Stop that server, then the reserved GPUs are held for you. Nothing is charged until "
            "then."
        ).format(pool=one.pool),
    )


def _reason_of(refusal: RefusedError) -> Reason:
    return Reason(code=refusal.code, message=refusal.message, figures=refusal.figures)
