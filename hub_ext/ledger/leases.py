"""Leases of one transaction: recorded by their events, projected in the same transaction.

Reads here cost what the open leases cost, however long the record has grown.
"""

from collections.abc import Collection
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Table, and_, bindparam, delete, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from ..errors import LedgerError
from ..i18n import _
from ..lease import Actor, DeviceId, Event, LeaseId, LeaseState, OpenLease, ServerKey, UserName
from ..units import instant_us
from .fold import LEASE_KINDS, UPDATED, body_of, kind_of, lease_in
from .records import Records, event_of
from .schema import device_hold, event, instant, last_ended, open_lease

_AT_ONCE = 500
"""Names in one question: databases take so many values and no more."""

_CLOSED, _HELD = f"lease.{LeaseState.closed}", f"lease.{LeaseState.held}"

_ALL = select(open_lease.c.body, open_lease.c.seen_at)
_LAST = (
    select(event)
    .where(event.c.lease_id == bindparam("of_lease"), event.c.kind.in_(sorted(LEASE_KINDS)))
    .order_by(event.c.seq.desc())
    .limit(1)
)
_OPEN = insert(open_lease)
_CHANGE = (
    update(open_lease)
    .where(open_lease.c.lease_id == bindparam("of_lease"))
    .values({column.name: bindparam(column.name) for column in open_lease.c})
)
_CLOSE = delete(open_lease).where(open_lease.c.lease_id == bindparam("of_lease"))
_HOLD = insert(device_hold)
_LET_GO = delete(device_hold).where(device_hold.c.lease_id == bindparam("of_lease"))


def _held(lease: OpenLease) -> tuple[DeviceId, ...]:
    """Devices that it keeps from others."""
    devices = (*lease.devices, *lease.rest) if lease.holding else ()
    return tuple(device.id for device in devices)


def of_server(table: Table, key: ServerKey) -> ColumnElement[bool]:
    """Match the rows of one server."""
    return and_(
        table.c.hub == key.hub,
        table.c.user_name == key.user,
        table.c.server_name == key.server,
    )


def row_of(lease: OpenLease, seq: int) -> dict[str, Any]:
    """Make the projected row of an open lease.

    A request that replaces a server's lease waits beside it: until that has ended its row belongs
    to no server, as one server has one row.
    """
    beside = lease.replaces is not None
    return {
        "lease_id": lease.id,
        "hub": "" if beside else lease.key.hub,
        "user_name": lease.key.user,
        "server_name": lease.id if beside else lease.key.server,
        "state": lease.state.value,
        "seq": seq,
        "seen_at": instant_us(lease.last_seen_at) if lease.last_seen_at else None,
        "body": lease.model_dump_json(),
    }


def lease_of_row(body: str, seen_at: int | None) -> OpenLease:
    """Read a projected row; the heartbeat counts where it is later than the last event."""
    lease = OpenLease.model_validate_json(body)
    if seen_at is None or (lease.last_seen_at and instant_us(lease.last_seen_at) >= seen_at):
        return lease
    return lease.model_copy(update={"last_seen_at": instant(seen_at)})


class Leases(Records):
    """The lease part of one transaction."""

    def leases(self) -> tuple[OpenLease, ...]:
        """All open leases, by time of request and then by id."""
        self._read_all()
        return self._known.ordered

    def _read_all(self) -> None:
        if not self._known.complete:
            rows = self._run(_ALL).all()
            self._known.fill(lease_of_row(row.body, row.seen_at) for row in rows)

    def lease(self, lease_id: LeaseId) -> OpenLease | None:
        """One lease, open or closed, as it stands now; None where it was never recorded."""
        return self.opened(lease_id) or self._recorded(lease_id)

    def opened(self, lease_id: LeaseId) -> OpenLease | None:
        """One open lease as it stands now; None where it is closed or unknown."""
        self._read_all()
        return self._known.lease(lease_id)

    def lease_of(self, key: ServerKey) -> OpenLease | None:
        """The open lease of a server."""
        self._read_all()
        return self._known.lease_of(key)

    def last_ended(self, key: ServerKey) -> OpenLease | None:
        """The newest closed lease of a server, refusals included."""
        query = select(event).join(last_ended).where(of_server(last_ended, key))
        row = self._run(query).first()
        return lease_in(event_of(row)) if row else None

    def last_ends(self, hub: str, user: UserName, most: int) -> tuple[OpenLease, ...]:
        """The newest closed lease of each server of a person, the newest first."""
        query = (
            select(event)
            .join(last_ended)
            .where(last_ended.c.hub == hub, last_ended.c.user_name == user)
            .order_by(event.c.seq.desc())
            .limit(most)
        )
        read = (lease_in(event_of(row)) for row in self._run(query))
        return tuple(one for one in read if one is not None)

    def ended(self, lease_ids: Collection[LeaseId]) -> tuple[OpenLease, ...]:
        """Give the closed ones of some leases, as they ended."""
        found: list[OpenLease] = []
        names = sorted(lease_ids)
        for first in range(0, len(names), _AT_ONCE):
            query = select(event).where(
                event.c.lease_id.in_(names[first : first + _AT_ONCE]), event.c.kind == _CLOSED
            )
            read = (lease_in(event_of(row)) for row in self._run(query))
            found += [one for one in read if one is not None]
        return tuple(found)

    def held_at(self, device: DeviceId, at: datetime, before: datetime) -> OpenLease | None:
        """The closed lease that had a device at an instant and ended before another one."""
        query = select(event).where(
            event.c.kind == _CLOSED,
            event.c.seq >= self.seq_at(at),
            event.c.seq < self.seq_at(before),
            event.c.body.contains(device, autoescape=True),
        )
        for row in self._run(query.order_by(event.c.seq)):
            lease = lease_in(event_of(row))
            if lease is None or lease.assigned_at is None or lease.assigned_at > at:
                continue
            if any(one.id == device for one in lease.takes):
                return lease
        return None

    def holds(
        self, start: datetime, end: datetime
    ) -> tuple[tuple[OpenLease, datetime | None], ...]:
        """Requests for which devices were held from an instant in [start, end), and until when.

        None while they are held still.
        """
        later = event.alias()
        until = (
            select(later.c.at)
            .where(later.c.lease_id == event.c.lease_id, later.c.seq > event.c.seq)
            .where(later.c.kind.in_(sorted(LEASE_KINDS - {UPDATED})))
            .order_by(later.c.seq)
            .limit(1)
            .scalar_subquery()
        )
        query = select(event, until.label("until")).where(
            event.c.kind == _HELD, event.c.seq >= self.seq_at(start), event.c.seq < self.seq_at(end)
        )
        rows = self._run(query.order_by(event.c.seq)).all()
        held = ((lease_in(event_of(row)), row.until) for row in rows)
        return tuple(
            (lease, None if until is None else instant(until))
            for lease, until in held
            if lease is not None
        )

    def record(self, lease: OpenLease, *, actor: Actor, at: datetime) -> int:
        """Add the event that makes a lease what `lease` says, and keep the projections true.

        The kind is `lease.<state>`, or `lease.updated` where the state stays.

        Returns
        -------
        Number of the event.

        Raises
        ------
        LedgerError
            When the step is not allowed, a device is held by another lease, or the server has
            another open lease; the transaction can then only roll back.
        """
        former = self.opened(lease.id)
        kind = kind_of(lease.id, former.state if former else None, lease.state)
        if former is None and self._recorded(lease.id):
            raise LedgerError(f"lease {lease.id} is closed and stays closed")
        record = Event(kind=kind, at=at, lease_id=lease.id, actor=actor, body=body_of(lease))
        seq = self.append(record, hub=lease.key.hub)
        held = () if former is None else _held(former)
        if held and held != _held(lease):
            self._run(_LET_GO, {"of_lease": lease.id})
            held = ()
        if lease.open:
            self._project(lease, seq, new=former is None, hold=not held)
            self._known.put(lease)
        else:
            self._run(_CLOSE, {"of_lease": lease.id})
            self._known.drop(lease)
            self._run(delete(last_ended).where(of_server(last_ended, lease.key)))
            self._run(
                insert(last_ended),
                {
                    "hub": lease.key.hub,
                    "user_name": lease.key.user,
                    "server_name": lease.key.server,
                    "seq": seq,
                },
            )
        return seq

    def seen(self, lease_ids: Collection[LeaseId], *, at: datetime) -> None:
        """Keep durably that the servers of these leases lived at `at`; never moves back.

        No event: one line a server a minute would outgrow all others. What closes a lease takes
        `last_seen_at` from here into its own event.
        """
        us = instant_us(at)
        later = or_(open_lease.c.seen_at.is_(None), open_lease.c.seen_at < us)
        chosen = open_lease.c.lease_id.in_(lease_ids)
        self._run(update(open_lease).where(chosen, later).values(seen_at=us))
        self._known.seen(lease_ids, at)

    def _project(self, lease: OpenLease, seq: int, *, new: bool, hold: bool) -> None:
        row = row_of(lease, seq)
        try:
            if new:
                self._run(_OPEN, row)
            else:
                self._run(_CHANGE, {"of_lease": lease.id, **row})
        except IntegrityError as error:
            raise LedgerError(
                _("server {server} has an open lease already").format(server=lease.key)
            ) from error
        devices = _held(lease) if hold else ()
        if not devices:
            return
        try:
            self._run(_HOLD, [{"device": device, "lease_id": lease.id} for device in devices])
        except IntegrityError as error:
            raise LedgerError(
                _("a device of lease {lease} is held by another lease: {devices}").format(
                    lease=lease.id, devices=", ".join(devices)
                )
            ) from error

    def _recorded(self, lease_id: LeaseId) -> OpenLease | None:
        row = self._run(_LAST, {"of_lease": lease_id}).first()
        return lease_in(event_of(row)) if row else None
