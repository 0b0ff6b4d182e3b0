"""From events to open leases: the rule by which the projections can be made again.

Pure: no database, no clock. The store writes by the same rule, and `verify` compares.
"""

from collections.abc import Mapping
from typing import TypeVar

from pydantic import ValidationError

from ..errors import LedgerError
from ..lease import EDGES, Event, LeaseId, LeaseState, OpenLease, Value

Carried = TypeVar("Carried", bound=Value)

BODY_VERSION = 1
"""Version of the bodies that carry a whole value: `{"v": 1, "lease": {…}}`."""

UPDATED = "lease.updated"
"""Kind of an event that changes a lease and leaves its state."""

LEASE_KINDS = frozenset({UPDATED, *(f"lease.{state}" for state in LeaseState)})
"""Kinds whose body is a whole lease."""

ENTRANCES = frozenset({LeaseState.requested, LeaseState.running})
"""States in which a lease may first be recorded: asked for, or found running and adopted."""


def kind_of(lease_id: LeaseId, former: LeaseState | None, state: LeaseState) -> str:
    """Name the event that takes a lease from its former state to `state`.

    Raises
    ------
    LedgerError
        When no such step exists, see `lease.EDGES` and `ENTRANCES`.
    """
    if former is state:
        return UPDATED
    allowed = ENTRANCES if former is None else EDGES[former]
    if state not in allowed:
        raise LedgerError(
            f"lease {lease_id} cannot become {state} after {former or 'nothing'}; "
            f"only {', '.join(sorted(allowed)) or 'nothing'} may follow"
        )
    return f"lease.{state}"


def body_of(lease: OpenLease) -> dict[str, object]:
    """Make the body of a lease event."""
    return {"v": BODY_VERSION, "lease": lease.model_dump(mode="json")}


def carried(event: Event, name: str, of: type[Carried]) -> Carried:
    """Read the whole value that an event carries under `name`.

    Raises
    ------
    LedgerError
        When the body is of an unknown version, or holds no such value.
    """
    if event.body.get("v") != BODY_VERSION:
        raise LedgerError(f"event {event.kind} has a body of unknown version")
    try:
        return of.model_validate(event.body.get(name))
    except ValidationError as error:
        raise LedgerError(f"event {event.kind} carries no {name}: {error}") from error


def lease_in(event: Event) -> OpenLease | None:
    """Read the lease that an event carries, or None where its kind carries none.

    Raises
    ------
    LedgerError
        When the body is not what its kind promises.
    """
    if event.kind not in LEASE_KINDS:
        return None
    lease = carried(event, "lease", OpenLease)
    if lease.id != event.lease_id:
        raise LedgerError(f"event {event.kind} of {event.lease_id} carries lease {lease.id}")
    return lease


def fold(open_leases: Mapping[LeaseId, OpenLease], event: Event) -> Mapping[LeaseId, OpenLease]:
    """Apply one event to the open leases and return those after it.

    Raises
    ------
    LedgerError
        When the event breaks the order of states.
    """
    lease = lease_in(event)
    if lease is None:
        return open_leases
    after = dict(open_leases)
    take(after, lease, event.kind)
    return after


def take(open_leases: dict[LeaseId, OpenLease], lease: OpenLease, kind: str) -> None:
    """Put a lease that an event of this kind carries among the open ones, or take it out.

    Raises
    ------
    LedgerError
        When the event breaks the order of states; nothing is changed then.
    """
    former = open_leases.get(lease.id)
    expected = kind_of(lease.id, former.state if former else None, lease.state)
    if expected != kind:
        raise LedgerError(f"lease {lease.id} is recorded as {kind} where {expected} belongs")
    if lease.open:
        open_leases[lease.id] = lease
    else:
        open_leases.pop(lease.id, None)
