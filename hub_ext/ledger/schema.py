"""Tables of the ledger: integers and text alone, so that SQLite and PostgreSQL agree.

Instants are microseconds since 1970 in UTC. `event`, `posting` and `policy_generation` are only
added to (triggers of each engine); the others follow from them or are duties not yet done.
"""

from datetime import UTC, datetime, timedelta

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    false,
)

LARGEST = 2**63 - 1
"""Largest whole number that the database holds."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Whole = BigInteger().with_variant(Integer(), "sqlite")
"""64 bits everywhere; SQLite makes a row id only of a column called INTEGER."""

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)

event = Table(
    "event",
    metadata,
    Column("seq", Whole, primary_key=True, autoincrement=False),
    Column("hub", Text, nullable=False),
    Column("at", Whole, nullable=False),
    Column("kind", Text, nullable=False),
    Column("lease_id", Text),
    Column("actor", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("chain", Text, nullable=False),
    Index("ix_event_lease_id_seq", "lease_id", "seq"),
    Index("ix_event_kind_seq", "kind", "seq"),
)
"""The record. `seq` has no gaps; `chain` is a hash over the row and the chain before it."""

open_lease = Table(
    "open_lease",
    metadata,
    Column("lease_id", Text, primary_key=True),
    Column("hub", Text, nullable=False),
    Column("user_name", Text, nullable=False),
    Column("server_name", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("seq", Whole, ForeignKey("event.seq"), nullable=False),
    Column("seen_at", Whole),
    Column("body", Text, nullable=False),
    UniqueConstraint("hub", "user_name", "server_name"),
)
"""Leases that are not closed; `seq` is the event that wrote the row.

`seen_at` moves every minute without an event: it alone does not follow from the events.
"""

device_hold = Table(
    "device_hold",
    metadata,
    Column("device", Text, primary_key=True),
    Column("lease_id", Text, ForeignKey("open_lease.lease_id"), nullable=False, index=True),
)
"""Devices that a lease holds now. The primary key keeps a device from being held twice."""

last_ended = Table(
    "last_ended",
    metadata,
    Column("hub", Text, primary_key=True),
    Column("user_name", Text, primary_key=True),
    Column("server_name", Text, primary_key=True),
    Column("seq", Whole, ForeignKey("event.seq"), nullable=False),
)
"""For each server the event that closed its newest closed lease."""

reservation = Table(
    "reservation",
    metadata,
    Column("reservation_id", Text, primary_key=True),
    Column("hub", Text, nullable=False),
    Column("user_name", Text, nullable=False),
    Column("team", Text, nullable=False),
    Column("pool", Text, nullable=False),
    Column("seq", Whole, ForeignKey("event.seq"), nullable=False),
    Column("body", Text, nullable=False),
)
"""Reservations that are not over; `seq` is the event that wrote the row."""

intent = Table(
    "intent",
    metadata,
    Column("id", Whole, primary_key=True),
    Column("lease_id", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("created_at", Whole, nullable=False),
    Column("tries", Whole, nullable=False),
    Column("tried_at", Whole),
    Column("settled_at", Whole, index=True),
    Column("result", Text),
)
"""Effects that were decided and are still to be made outside, and how they came out."""

tombstone = Table(
    "tombstone",
    metadata,
    Column("attempt_id", Text, primary_key=True),
    Column("at", Whole, nullable=False),
)
"""Attempts whose end was reported before their ask arrived."""

posting = Table(
    "posting",
    metadata,
    Column("seq", Whole, ForeignKey("event.seq"), primary_key=True, autoincrement=False),
    Column("line", Whole, primary_key=True, autoincrement=False),
    Column("lease_id", Text, nullable=False),
    Column("user_name", Text, nullable=False),
    Column("server_name", Text, nullable=False),
    Column("team", Text, nullable=False),
    Column("project", Text),
    Column("profile", Text, nullable=False),
    Column("pool", Text),
    Column("flavor", Text, nullable=False),
    Column("units", Whole, nullable=False),
    Column("standing", Text, nullable=False),
    Column("start_at", Whole, nullable=False),
    Column("end_at", Whole, nullable=False),
    Column("seconds", Whole, nullable=False),
    Column("price_micro_per_hour", Whole),
    Column("amount_micro", Whole),
    Column("currency", Text, nullable=False),
    Column("cause", Text),
    Column("corrects", Text),
    Column("bounded", Boolean, nullable=False, server_default=false()),
    UniqueConstraint("lease_id", "start_at"),
    CheckConstraint("end_at >= start_at", name="forward"),
    Index("ix_posting_end_at", "end_at"),
    Index("ix_posting_user_name", "user_name", "end_at"),
    Index("ix_posting_team", "team", "end_at"),
)
"""Charges, as the event `charge.posted` of the same `seq` carries them."""

policy_generation = Table(
    "policy_generation",
    metadata,
    Column("number", Whole, primary_key=True, autoincrement=False),
    Column("seq", Whole, ForeignKey("event.seq"), nullable=False),
    Column("at", Whole, nullable=False),
    Column("actor", Text, nullable=False),
    Column("sha256", Text, nullable=False),
    Column("summary", Text, nullable=False),
    Column("text", Text, nullable=False),
)
"""Every policy that was ever in force, whole."""

epoch = Table(
    "epoch",
    metadata,
    Column("id", Whole, primary_key=True, autoincrement=False),
    Column("number", Whole, nullable=False),
    Column("pid", Whole, nullable=False),
    CheckConstraint("id = 1", name="single"),
)
"""One row: how often the ledger was opened for writing, and by which process last."""

moved = Table(
    "moved",
    metadata,
    Column("id", Whole, primary_key=True, autoincrement=False),
    Column("address", Text, nullable=False),
    Column("at", Whole, nullable=False),
    Column("chain", Text, nullable=False),
    CheckConstraint("id = 1", name="single"),
)
"""One row where this ledger was moved elsewhere: nobody writes to it any more.

`address` tells people where, without a password; `chain` is the newest hash that was moved.
"""


def instant(us: int) -> datetime:
    """Turn microseconds since 1970 into an aware instant, exactly."""
    return _EPOCH + timedelta(microseconds=us)
