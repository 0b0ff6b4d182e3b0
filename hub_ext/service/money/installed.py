"""What was installed, out of service and held by nobody in a window: gathers what a report needs.

Policies and outages come from the record, held time from the charges. It decides nothing.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from ...errors import PolicyError
from ...lease import Device, DeviceId, Drain, Event, Maintenance, OpenLease, Posting
from ...lease.fleet import FleetSheet
from ...mig.geometry import device_units
from ...policy.capacity import WHOLE, capacity
from ...policy.load import loads
from ...policy.model import Policy
from ...policy.prices import WHOLE_GPU, price_spans
from ...reports.fleet import Installed, Out, Window, fleet
from ..books.desk import Desk, Turn
from ..books.floor import declared
from ..books.outages import EVERY_KIND, Outages
from ..books.reservedtimes import horizon
from ..books.restcharges import summed
from .usage import Scope, reckoned

_ALL = Scope("all")


class _InForce(NamedTuple):
    """A policy over [start, end), and since when it is in force."""

    policy: Policy
    start: datetime
    end: datetime
    since: datetime


class _Stretch(NamedTuple):
    """A device that was out of service over [start, end)."""

    device: DeviceId
    start: datetime
    end: datetime


def sheet(desk: Desk, start: datetime, end: datetime, *, now: datetime) -> FleetSheet:
    """Split what was installed in [start, end), as far as it is over."""
    with desk.turn(now) as turn:
        return split(turn, start, max(start, min(end, now)))


def split(turn: Turn, start: datetime, end: datetime) -> FleetSheet:
    """Split what was installed in a stretch that is over, within a transaction."""
    window = Window(start, end, turn.now, turn.desk.book.policy.currency)
    lines = reckoned(turn, _ALL, start, end)
    installed = [one for part in _in_force(turn, start, end) for one in _installed(part)]
    outs = tuple(_outs(turn, start, end))
    made = fleet(installed, lines, outs, window)
    if made.difference:
        # Charges are cut at a month's end and elsewhere: who began before may go on.
        made = fleet(installed, lines, outs, window, turn.tx.begun(_ids(lines)))
    return made


def _ids(lines: Iterable[Posting]) -> set[str]:
    return {line.lease_id for line in lines}


def _in_force(turn: Turn, start: datetime, end: datetime) -> Iterator[_InForce]:
    """Policies of the record, each from when it came until the next."""
    known = turn.tx.generations_in(start, end)
    for index, (at, text) in enumerate(known):
        until = known[index + 1][0] if index + 1 < len(known) else end
        policy = _read(text)
        if policy is not None and max(at, start) < min(until, end):
            yield _InForce(policy, max(at, start), min(until, end), at)


@lru_cache(maxsize=64)
def _read(text: str) -> Policy | None:
    try:
        return loads(text).policy
    except PolicyError:
        # This version's checks refuse what an older one accepted: nothing says what was there.
        return None


def _installed(part: _InForce) -> Iterator[Installed]:
    policy = part.policy
    for name, pool in policy.pools.items():
        there = capacity(pool)
        kinds = [(kind, count) for kind, count in there.counts.items() if count]
        priced = summed(
            [
                (
                    count,
                    price_spans(
                        policy, name, WHOLE_GPU if kind == WHOLE else kind, part.start, part.end
                    ),
                )
                for kind, count in kinds
            ],
            missing=0,
        )
        unpriced = sum(
            count * there.units_each[kind]
            for kind, count in kinds
            if not _has_price(policy, name, WHOLE_GPU if kind == WHOLE else kind)
        )
        for span in priced:
            yield Installed(
                pool=name,
                model=pool.model,
                start=span.start,
                end=span.end,
                units=there.units,
                price_micro=span.price_micro_per_hour or 0,
                unpriced_units=unpriced,
                since=part.since,
            )


def _has_price(policy: Policy, pool: str, flavor: str) -> bool:
    return any(one.pool == pool and one.flavor == flavor for one in policy.prices)


def _outs(turn: Turn, start: datetime, end: datetime) -> Iterator[Out]:
    """What was out of service and held by nobody; a device that a lease has is the lease's."""
    devices = _devices(turn)
    for one in _stretches(turn, devices, start, end):
        device = devices[one.device]
        holder = _holder(turn, one)
        begin = one.start if holder is None else (holder.closed_at or end)
        if begin < one.end:
            yield Out(device.pool, device_units(device), max(begin, start), one.end)


def _devices(turn: Turn) -> Mapping[DeviceId, Device]:
    """Every device that is declared, found or held now."""
    policy = turn.desk.book.policy
    found, _drift = turn.desk.floor.devices(policy, now=turn.now)
    held = (device for lease in turn.tx.leases() for device in lease.takes)
    return {device.id: device for device in (*held, *declared(policy), *found)}


def _stretches(
    turn: Turn, devices: Mapping[DeviceId, Device], start: datetime, end: datetime
) -> Iterator[_Stretch]:
    """Follow the record of outages; of several at once a device is out once."""
    state, since = Outages(), dict[DeviceId, datetime]()
    changes = sorted(_instants(turn, start, end))
    events = list(turn.tx.every(EVERY_KIND))
    done = 0
    for at in [*changes, end]:
        while done < len(events) and events[done].at <= at:
            state.apply(events[done])
            done += 1
        out = {one.id for one in devices.values() if at < end and _is_out(state, one, at)}
        for gone in [one for one in since if one not in out]:
            yield _Stretch(gone, since.pop(gone), at)
        for one in out:
            since.setdefault(one, at)


def _instants(turn: Turn, start: datetime, end: datetime) -> set[datetime]:
    """When anything may have changed: events, and maintenance that begins and ends by the clock."""
    found = {start}
    for event in turn.tx.every(EVERY_KIND):
        found.add(event.at)
        if (maintenance := _maintenance(event)) is not None:
            found |= {maintenance.start, maintenance.end}
    return {at for at in found if start <= at < end}


def _maintenance(event: Event) -> Maintenance | None:
    body = event.body.get("maintenance")
    return None if body is None else Maintenance.model_validate(body)


def _is_out(state: Outages, device: Device, at: datetime) -> bool:
    drain: Drain | None = state.drain_of(device)
    return (
        device.id in state.devices
        or drain is not None
        or any(one.closes(at) and one.covers(device) for one in state.maintenance.values())
    )


def _holder(turn: Turn, one: _Stretch) -> OpenLease | None:
    """The lease that had a device when it went out of service: it keeps it."""
    for lease in turn.tx.leases():
        mine = any(device.id == one.device for device in lease.takes)
        if mine and lease.assigned_at is not None and lease.assigned_at <= one.start:
            return lease
    latest = one.end + horizon(turn.desk.book.policy)
    return turn.tx.held_at(one.device, one.start, latest)
