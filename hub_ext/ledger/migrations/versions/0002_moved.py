"""Where a ledger was moved to; and what keeps PostgreSQL's tables append-only.

No ledger was in a PostgreSQL before this, so its triggers start here.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

WHOLE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

POSTGRES_GUARDS = (
    (
        "CREATE OR REPLACE FUNCTION ledger_refuses_change() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION '% is only added to', TG_TABLE_NAME; END $$"
    ),
    (
        "CREATE OR REPLACE FUNCTION ledger_in_order() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN IF NEW.seq IS DISTINCT FROM (SELECT COALESCE(MAX(seq), 0) + 1 FROM event) "
        "THEN RAISE EXCEPTION 'event numbers have no gaps'; END IF; RETURN NEW; END $$"
    ),
    (
        "CREATE TRIGGER event_refuses_change BEFORE UPDATE OR DELETE OR TRUNCATE ON event "
        "FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuses_change()"
    ),
    (
        "CREATE TRIGGER posting_refuses_change BEFORE UPDATE OR DELETE OR TRUNCATE ON posting "
        "FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuses_change()"
    ),
    (
        "CREATE TRIGGER policy_generation_refuses_change "
        "BEFORE UPDATE OR DELETE OR TRUNCATE ON policy_generation "
        "FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuses_change()"
    ),
    (
        "CREATE TRIGGER event_in_order BEFORE INSERT ON event "
        "FOR EACH ROW EXECUTE FUNCTION ledger_in_order()"
    ),
)


def upgrade() -> None:
    """Add the table and the triggers; there is no way back, see `hub_ext.ledger.migrate`."""
    op.create_table(
        "moved",
        sa.Column("id", WHOLE, autoincrement=False, nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("at", WHOLE, nullable=False),
        sa.Column("chain", sa.Text(), nullable=False),
        sa.CheckConstraint("id = 1", name="ck_moved_single"),
        sa.PrimaryKeyConstraint("id", name="pk_moved"),
    )
    if op.get_bind().dialect.name == "postgresql":
        for guard in POSTGRES_GUARDS:
            op.execute(guard)
