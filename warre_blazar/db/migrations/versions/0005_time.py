"""Adds indexes for queries of the reservations that hold hosts or slots within a span of time."""

from alembic import op

revision = "0005"
down_revision = "0004"

_INDEXES = {
    "ix_warre_leases_time": ["end_date", "start_date", "status"],
    "ix_warre_leases_status": ["status"],
}


def upgrade() -> None:
    for name, columns in _INDEXES.items():
        op.create_index(name, "leases", columns)


def downgrade() -> None:
    for name in _INDEXES:
        op.drop_index(name, "leases")
