"""Adds an index for the list of a user's reservations in all projects."""

from alembic import op

revision = "0009"
down_revision = "0008"

_INDEX = "ix_warre_leases_user"


def upgrade() -> None:
    op.create_index(_INDEX, "leases", ["user_id", "start_date"])


def downgrade() -> None:
    op.drop_index(_INDEX, "leases")
