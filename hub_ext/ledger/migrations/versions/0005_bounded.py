"""Charges say where nobody saw the end of a server, and they end when it was last seen."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; of earlier charges it is not known, and they keep the end that they have."""
    op.add_column(
        "posting", sa.Column("bounded", sa.Boolean(), nullable=False, server_default=sa.false())
    )
