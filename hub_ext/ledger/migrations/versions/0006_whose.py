"""Charges of one person, or of one team, are found without reading everybody's."""

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add an index for each; no row changes."""
    op.create_index("ix_posting_user_name", "posting", ["user_name", "end_at"])
    op.create_index("ix_posting_team", "posting", ["team", "end_at"])
