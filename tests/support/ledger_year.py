"""A year of a hub as its ledger would hold it, written in bulk: seconds instead of an hour."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from sqlalchemy import insert

from hub_ext.lease import GOVERNOR, Cause, LeaseState, OpenLease, Posting, ServerKey, UserName
from hub_ext.ledger.charges import row_of_posting
from hub_ext.ledger.fold import body_of
from hub_ext.ledger.leases import row_of
from hub_ext.ledger.records import CHAIN_START, chained, packed
from hub_ext.ledger.schema import device_hold, event, last_ended, open_lease, posting
from hub_ext.ledger.store import Ledger, Tx
from hub_ext.units import instant_us
from tests.support.ledger_parts import NOON, SECOND, a_device, a_lease, a_posting

PEOPLE = 50
STATES = (LeaseState.requested, LeaseState.starting, LeaseState.running, LeaseState.closed)
EVENTS_EACH = len(STATES) + 1
YEAR = timedelta(days=365)
_AT_ONCE = 2000


class Writer:
    """Chains events and keeps what follows from them, as `Tx.record` and `Tx.post` would."""

    def __init__(self) -> None:
        self.seq, self.chain = 0, CHAIN_START
        self.ended: dict[tuple[str, str, str], int] = {}

    def line(self, kind: str, lease: OpenLease, body: dict[str, object]) -> dict[str, Any]:
        """Make the next event's row."""
        self.seq += 1
        row: dict[str, Any] = {
            "seq": self.seq,
            "hub": lease.key.hub,
            "at": instant_us(lease.state_since),
            "kind": kind,
            "lease_id": lease.id,
            "actor": GOVERNOR.model_dump_json(),
            "body": packed(body),
        }
        row["chain"] = self.chain = chained(self.chain, row)
        return row

    def life(self, number: int, of: int) -> Iterator[tuple[dict[str, Any], dict[str, Any] | None]]:
        """Make one server's events from request to charge, each with its row of the books."""
        start = NOON - YEAR + number * (YEAR / of)
        lease = a_lease(f"past-{number}", key=_key(number), devices=(a_device(f"GPU-{number}"),))
        first = int((start - NOON) / SECOND)
        charge = a_posting(lease.id, first, first + 1800, user=lease.key.user)
        yield from self.lived(lease, start, charge)

    def lived(
        self, lease: OpenLease, start: datetime, charge: Posting
    ) -> Iterator[tuple[dict[str, Any], dict[str, Any] | None]]:
        """Make the events of a lease that is over, and its charge."""
        for state in STATES:
            lease = lease.model_copy(
                update={"state": state, "state_since": start, "requested_at": start}
            )
            if state is LeaseState.closed:
                lease = lease.model_copy(update={"cause": charge.cause or Cause.user})
            yield self.line(f"lease.{state}", lease, body_of(lease)), None
        self.ended[lease.key.hub, lease.key.user, lease.key.server] = self.seq
        yield self.charged(lease, charge)

    def charged(self, lease: OpenLease, charge: Posting) -> tuple[dict[str, Any], dict[str, Any]]:
        """Make the event and the row of one charge."""
        body: dict[str, object] = {"v": 1, "postings": [charge.model_dump(mode="json")]}
        row = self.line("charge.posted", lease, body)
        return row, row_of_posting(charge, self.seq, 0)


def _key(number: int) -> ServerKey:
    return ServerKey(user=UserName(f"person-{number % PEOPLE}"))


def live_through(ledger: Ledger, events: int, *, running: int = 20) -> None:
    """Fill an empty ledger with about so many events of a year, and some servers that run."""
    writer = Writer()
    servers = max(1, events // EVENTS_EACH)
    rows = (row for number in range(servers) for row in writer.life(number, servers))
    with ledger.transaction() as tx:
        put(tx, rows)
        for number in range(running):
            lease = a_lease(f"now-{number}", LeaseState.running)
            line = writer.line("lease.running", lease, body_of(lease))
            tx._run(insert(event), line)
            tx._run(insert(open_lease), row_of(lease, writer.seq))
            held = {"device": lease.devices[0].id, "lease_id": lease.id}
            tx._run(insert(device_hold), held)
        put_ended(tx, writer)


def put(tx: Tx, rows: Iterable[tuple[dict[str, Any], dict[str, Any] | None]]) -> None:
    """Write events and their charges in bulk."""
    rest = iter(rows)
    while batch := list(islice(rest, _AT_ONCE)):
        tx._run(insert(event), [line for line, _charge in batch])
        charges = [charge for _line, charge in batch if charge]
        if charges:
            tx._run(insert(posting), charges)


def put_ended(tx: Tx, writer: Writer) -> None:
    """Write which event ended each server's newest lease."""
    names = ("hub", "user_name", "server_name", "seq")
    ended = [dict(zip(names, (*key, seq), strict=True)) for key, seq in writer.ended.items()]
    if ended:
        tx._run(insert(last_ended), ended)
