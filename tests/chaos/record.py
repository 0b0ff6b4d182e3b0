"""What the ledger says of a run, event by event: who held what, and what broke a rule. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from hub_ext.errors import LedgerError
from hub_ext.lease import LeaseId, OpenLease, Standing
from hub_ext.ledger.fold import LEASE_KINDS, take
from tests.chaos.layout import POOL, QUOTA, SLICES

SLICE_UNITS = 105
"""One memory slice of eight, in units of which a GPU has 840."""

Row = tuple[str, str | None, dict[str, Any]]
"""Kind, lease and body of an event."""

Breach = tuple[str, str]
"""Which rule was broken, and the evidence."""

DOUBLE_DEVICE = "device on two leases at an event"
DOUBLE_LEASE = "server with two open leases at an event"
OVER_LIMIT = "limit exceeded at an event"
WRONG_STEP = "event that the order of states forbids"


def replay(rows: Iterable[Row]) -> list[Breach]:
    """Fold the events and look at the open leases after each."""
    present: dict[LeaseId, OpenLease] = {}
    breaches: list[Breach] = []
    for number, (kind, _lease_id, body) in enumerate(rows, 1):
        if kind not in LEASE_KINDS:
            continue
        lease = OpenLease.model_validate(body["lease"])
        try:
            take(present, lease, kind)
        except LedgerError as error:
            breaches.append((WRONG_STEP, f"event {number}: {error}"))
            continue
        breaches += [
            (rule, f"event {number} ({kind} of {lease.id}): {words}")
            for rule, words in _broken(present.values())
        ]
    return breaches


def last_values(rows: Iterable[Row]) -> dict[str, OpenLease]:
    """Newest value of each lease that ever was."""
    carried = [body["lease"] for kind, _, body in rows if kind in LEASE_KINDS]
    return {lease.id: lease for lease in map(OpenLease.model_validate, carried)}


def _broken(present: Iterable[OpenLease]) -> Iterator[Breach]:
    leases = list(present)
    devices = Counter(device.id for one in leases if one.holding for device in one.devices)
    for device, count in devices.items():
        if count > 1:
            yield DOUBLE_DEVICE, f"{device} is held {count} times"
    for key, count in Counter(str(one.key) for one in leases).items():
        if count > 1:
            yield DOUBLE_LEASE, f"{key} has {count}"
    holding = [one for one in leases if one.holding and one.pool == POOL]
    if sum(one.units for one in holding) > SLICES * SLICE_UNITS:
        yield OVER_LIMIT, "more than the pool has"
    for team, (own, borrowed) in QUOTA.items():
        theirs = [one for one in holding if one.team == team]
        kept = sum(one.units for one in theirs if one.standing is Standing.guaranteed)
        if kept > own * SLICE_UNITS:
            yield OVER_LIMIT, f"{team} has {kept} units guaranteed"
        if sum(one.units for one in theirs) > (own + borrowed) * SLICE_UNITS:
            yield OVER_LIMIT, f"{team} holds {sum(one.units for one in theirs)} units"
