"""Puts on the books what open leases and reservations have cost so far, and goes on there.

At a month's end, and before prices change: what was charged is never charged otherwise later.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from ...errors import PolicyError
from ...lease import OpenLease
from ...lease.reserving import Reservation
from ...ledger.reservations import CHANGED
from ...policy.load import loads
from ...policy.model import Policy
from ..books.desk import Desk, Turn
from ..books.restcharges import lease_spans, own_part, rest_part
from ..leasing.closing import charges
from .reservedcharges import charged, unused_price_spans


def running(turn: Turn, end: datetime) -> list[OpenLease]:
    """Leases that held a device at an instant and are open still."""
    return [
        lease
        for lease in turn.tx.leases()
        if lease.assigned_at is not None and lease.assigned_at < end and lease.pool is not None
    ]


def settle_all(turn: Turn, end: datetime) -> None:
    """Charge all that is open until an instant; what comes after has lines of its own."""
    for lease in running(turn, end):
        _settle(turn, lease, end, turn.desk.book.known)
    for one in turn.tx.reservations():
        if _kept_before(one, end):
            _settle_kept(turn, one, end, turn.desk.book.known)


def before_prices_change(desk: Desk, new: Policy, *, now: datetime) -> None:
    """Charge by the policy so far what a new one would charge otherwise: the past stays as it was.

    After a restart that is the newest policy on the record.
    """
    old = desk.book.known or _newest(desk)
    if old is None or (old.prices == new.prices and old.pools.keys() == new.pools.keys()):
        return
    with desk.turn(now) as turn:
        for lease in running(turn, now):
            if _differs(old, new, lease, now):
                _settle(turn, lease, now, old)
        for one in turn.tx.reservations():
            if _kept_before(one, now) and _kept_differs(old, new, one, now):
                _settle_kept(turn, one, now, old)


def _newest(desk: Desk) -> Policy | None:
    text = desk.book.newest_text()
    if text is None:
        return None
    try:
        return loads(text).policy
    except PolicyError:
        # This version's checks refuse what an older one accepted; nothing says what held then.
        return None


def _differs(old: Policy, new: Policy, lease: OpenLease, now: datetime) -> bool:
    start = lease.charged_until or lease.assigned_at or now
    parts: Iterable[OpenLease | None] = (own_part(lease), rest_part(lease))
    return any(
        lease_spans(old, part, start, now) != lease_spans(new, part, start, now)
        for part in parts
        if part is not None
    )


def _settle(turn: Turn, lease: OpenLease, end: datetime, policy: Policy | None) -> None:
    lines = charges(turn.desk, lease, end, policy)
    turn.tx.post([line for line in lines if line.start < line.end], at=turn.now, actor=turn.actor)
    turn.record(lease.model_copy(update={"charged_until": end}))


def _kept_before(one: Reservation, end: datetime) -> bool:
    current = one.current
    return current is not None and current.kept_since is not None and current.kept_since < end


def _kept_differs(old: Policy, new: Policy, one: Reservation, now: datetime) -> bool:
    since = one.current.kept_since if one.current is not None else None
    if since is None:
        return False
    last = now + timedelta(seconds=1)
    return unused_price_spans(old, one, since, last) != unused_price_spans(new, one, since, last)


def _settle_kept(turn: Turn, one: Reservation, end: datetime, policy: Policy | None) -> None:
    settled = charged(turn, one, end, policy=policy)
    current = settled.current
    if current is not None:
        kept = current.model_copy(update={"kept_since": end})
        settled = settled.model_copy(update={"current": kept})
    turn.tx.record_reservation(settled, CHANGED, actor=turn.actor, at=turn.now)
