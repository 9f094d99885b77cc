"""Adds tables of managers and of executions, and indexes of due events and of promises."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0007"
down_revision = "0006"

_CLAIM_INDEX = "ix_warre_reservations_claim"
_EVENT_INDEX = "ix_warre_events_status"


def upgrade() -> None:
    exact = mysql.VARCHAR(255, charset="utf8mb4", collation="utf8mb4_bin")
    host = sa.String(255).with_variant(exact, "mysql", "mariadb")
    op.add_column("warre_reservations", sa.Column("promised_at", sa.DateTime))
    op.create_index(_CLAIM_INDEX, "warre_reservations", ["claim_end", "claim_start"])
    op.create_index(_EVENT_INDEX, "events", ["status", "time"])
    op.create_table(
        "warre_managers",
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("host", host, nullable=False),
        sa.Column("heartbeat", sa.DateTime, nullable=False),
    )
    op.create_table(
        "warre_executions",
        sa.Column(
            "lease_id",
            sa.String(36),
            sa.ForeignKey("leases.id", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("action", sa.String(16), nullable=False),
        sa.Column("manager_id", sa.String(36)),
        sa.Column("attempts", sa.Integer, nullable=False),
    )


def downgrade() -> None:
    op.drop_table("warre_executions")
    op.drop_table("warre_managers")
    op.drop_index(_EVENT_INDEX, "events")
    op.drop_index(_CLAIM_INDEX, "warre_reservations")
    op.drop_column("warre_reservations", "promised_at")
