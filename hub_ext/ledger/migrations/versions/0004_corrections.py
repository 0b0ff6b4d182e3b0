"""Charges that correct others say which."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; no correction was written before, so it is empty everywhere."""
    op.add_column("posting", sa.Column("corrects", sa.Text(), nullable=True))
