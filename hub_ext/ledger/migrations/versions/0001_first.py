"""The first schema: events, what follows from them, duties, charges, policies, epoch."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

WHOLE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

SQLITE_TRIGGERS = (
    (
        "CREATE TRIGGER event_refuses_update BEFORE UPDATE ON event "
        "BEGIN SELECT RAISE(ABORT, 'event is only added to'); END"
    ),
    (
        "CREATE TRIGGER event_refuses_delete BEFORE DELETE ON event "
        "BEGIN SELECT RAISE(ABORT, 'event is only added to'); END"
    ),
    (
        "CREATE TRIGGER posting_refuses_update BEFORE UPDATE ON posting "
        "BEGIN SELECT RAISE(ABORT, 'posting is only added to'); END"
    ),
    (
        "CREATE TRIGGER posting_refuses_delete BEFORE DELETE ON posting "
        "BEGIN SELECT RAISE(ABORT, 'posting is only added to'); END"
    ),
    (
        "CREATE TRIGGER policy_generation_refuses_update BEFORE UPDATE ON policy_generation "
        "BEGIN SELECT RAISE(ABORT, 'policy_generation is only added to'); END"
    ),
    (
        "CREATE TRIGGER policy_generation_refuses_delete BEFORE DELETE ON policy_generation "
        "BEGIN SELECT RAISE(ABORT, 'policy_generation is only added to'); END"
    ),
    (
        "CREATE TRIGGER event_in_order BEFORE INSERT ON event "
        "WHEN NEW.seq IS NOT (SELECT COALESCE(MAX(seq), 0) + 1 FROM event) "
        "BEGIN SELECT RAISE(ABORT, 'event numbers have no gaps'); END"
    ),
    (
        "CREATE TRIGGER posting_refuses_replace BEFORE INSERT ON posting "
        "WHEN EXISTS (SELECT 1 FROM posting WHERE (seq = NEW.seq AND line = NEW.line) "
        "OR (lease_id = NEW.lease_id AND start_at = NEW.start_at)) "
        "BEGIN SELECT RAISE(ABORT, 'posting is only added to'); END"
    ),
    (
        "CREATE TRIGGER policy_generation_refuses_replace BEFORE INSERT ON policy_generation "
        "WHEN EXISTS (SELECT 1 FROM policy_generation WHERE number = NEW.number) "
        "BEGIN SELECT RAISE(ABORT, 'policy_generation is only added to'); END"
    ),
)


def upgrade() -> None:
    """Make every table; there is no way back, see `hub_ext.ledger.migrate`."""
    _record()
    _leases()
    _duties()
    _books()
    if op.get_bind().dialect.name == "sqlite":
        for trigger in SQLITE_TRIGGERS:
            op.execute(trigger)


def _record() -> None:
    op.create_table(
        "event",
        sa.Column("seq", WHOLE, autoincrement=False, nullable=False),
        sa.Column("hub", sa.Text(), nullable=False),
        sa.Column("at", WHOLE, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("lease_id", sa.Text(), nullable=True),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("chain", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("seq", name="pk_event"),
    )
    op.create_index("ix_event_kind_seq", "event", ["kind", "seq"], unique=False)
    op.create_index("ix_event_lease_id_seq", "event", ["lease_id", "seq"], unique=False)
    op.create_table(
        "epoch",
        sa.Column("id", WHOLE, autoincrement=False, nullable=False),
        sa.Column("number", WHOLE, nullable=False),
        sa.Column("pid", WHOLE, nullable=False),
        sa.CheckConstraint("id = 1", name="ck_epoch_single"),
        sa.PrimaryKeyConstraint("id", name="pk_epoch"),
    )


def _leases() -> None:
    op.create_table(
        "open_lease",
        sa.Column("lease_id", sa.Text(), nullable=False),
        sa.Column("hub", sa.Text(), nullable=False),
        sa.Column("user_name", sa.Text(), nullable=False),
        sa.Column("server_name", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("seq", WHOLE, nullable=False),
        sa.Column("seen_at", WHOLE, nullable=True),
        sa.Column("body", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["seq"], ["event.seq"], name="fk_open_lease_seq"),
        sa.PrimaryKeyConstraint("lease_id", name="pk_open_lease"),
        sa.UniqueConstraint(
            "hub", "user_name", "server_name", name="uq_open_lease_hub_user_name_server_name"
        ),
    )
    op.create_table(
        "device_hold",
        sa.Column("device", sa.Text(), nullable=False),
        sa.Column("lease_id", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["lease_id"], ["open_lease.lease_id"], name="fk_device_hold_lease_id"
        ),
        sa.PrimaryKeyConstraint("device", name="pk_device_hold"),
    )
    op.create_index("ix_device_hold_lease_id", "device_hold", ["lease_id"], unique=False)
    op.create_table(
        "last_ended",
        sa.Column("hub", sa.Text(), nullable=False),
        sa.Column("user_name", sa.Text(), nullable=False),
        sa.Column("server_name", sa.Text(), nullable=False),
        sa.Column("seq", WHOLE, nullable=False),
        sa.ForeignKeyConstraint(["seq"], ["event.seq"], name="fk_last_ended_seq"),
        sa.PrimaryKeyConstraint("hub", "user_name", "server_name", name="pk_last_ended"),
    )


def _duties() -> None:
    op.create_table(
        "intent",
        sa.Column("id", WHOLE, nullable=False),
        sa.Column("lease_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("created_at", WHOLE, nullable=False),
        sa.Column("tries", WHOLE, nullable=False),
        sa.Column("tried_at", WHOLE, nullable=True),
        sa.Column("settled_at", WHOLE, nullable=True),
        sa.Column("result", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_intent"),
    )
    op.create_index("ix_intent_settled_at", "intent", ["settled_at"], unique=False)
    op.create_table(
        "tombstone",
        sa.Column("attempt_id", sa.Text(), nullable=False),
        sa.Column("at", WHOLE, nullable=False),
        sa.PrimaryKeyConstraint("attempt_id", name="pk_tombstone"),
    )


def _books() -> None:
    op.create_table(
        "posting",
        sa.Column("seq", WHOLE, autoincrement=False, nullable=False),
        sa.Column("line", WHOLE, autoincrement=False, nullable=False),
        sa.Column("lease_id", sa.Text(), nullable=False),
        sa.Column("user_name", sa.Text(), nullable=False),
        sa.Column("server_name", sa.Text(), nullable=False),
        sa.Column("team", sa.Text(), nullable=False),
        sa.Column("project", sa.Text(), nullable=True),
        sa.Column("profile", sa.Text(), nullable=False),
        sa.Column("pool", sa.Text(), nullable=True),
        sa.Column("flavor", sa.Text(), nullable=False),
        sa.Column("units", WHOLE, nullable=False),
        sa.Column("standing", sa.Text(), nullable=False),
        sa.Column("start_at", WHOLE, nullable=False),
        sa.Column("end_at", WHOLE, nullable=False),
        sa.Column("seconds", WHOLE, nullable=False),
        sa.Column("price_micro_per_hour", WHOLE, nullable=True),
        sa.Column("amount_micro", WHOLE, nullable=True),
        sa.Column("currency", sa.Text(), nullable=False),
        sa.Column("cause", sa.Text(), nullable=True),
        sa.CheckConstraint("end_at >= start_at", name="ck_posting_forward"),
        sa.ForeignKeyConstraint(["seq"], ["event.seq"], name="fk_posting_seq"),
        sa.PrimaryKeyConstraint("seq", "line", name="pk_posting"),
        sa.UniqueConstraint("lease_id", "start_at", name="uq_posting_lease_id_start_at"),
    )
    op.create_index("ix_posting_end_at", "posting", ["end_at"], unique=False)
    op.create_table(
        "policy_generation",
        sa.Column("number", WHOLE, autoincrement=False, nullable=False),
        sa.Column("seq", WHOLE, nullable=False),
        sa.Column("at", WHOLE, nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("summary", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["seq"], ["event.seq"], name="fk_policy_generation_seq"),
        sa.PrimaryKeyConstraint("number", name="pk_policy_generation"),
    )
