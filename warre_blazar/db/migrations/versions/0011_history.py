"""Adds a table of records, and a column for the user who requests the deletion of a lease."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0011"
down_revision = "0010"


def _string(length: int) -> sa.types.TypeEngine[str]:
    exact = mysql.VARCHAR(length, charset="utf8mb4", collation="utf8mb4_bin")
    return sa.String(length).with_variant(exact, "mysql", "mariadb")


def _text() -> sa.types.TypeEngine[str]:
    exact = mysql.TEXT(charset="utf8mb4", collation="utf8mb4_bin")
    return sa.Text().with_variant(exact, "mysql", "mariadb")


def upgrade() -> None:
    op.create_table(
        "warre_history",
        sa.Column("id", _string(64), primary_key=True),
        sa.Column("reservation_id", sa.String(36)),
        sa.Column("lease_id", sa.String(64)),
        sa.Column("flavor_id", _string(64), sa.ForeignKey("warre_flavors.id"), nullable=False),
        sa.Column("instance_count", sa.Integer, nullable=False),
        sa.Column("affinity", sa.Boolean),
        sa.Column("name", _string(255)),
        sa.Column("note", _text()),
        sa.Column("shape", _text(), nullable=False),
        sa.Column("start_date", sa.DateTime, nullable=False),
        sa.Column("end_date", sa.DateTime, nullable=False),
        sa.Column("project_id", sa.String(255)),
        sa.Column("user_id", sa.String(255)),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("status_reason", _text()),
        sa.Column("compute_flavor", _string(64)),
        sa.Column("created_at", sa.DateTime, nullable=False),
        sa.Column("deleted_at", sa.DateTime),
        sa.Column("deleted_by", sa.String(255)),
    )
    op.create_index("ix_warre_history_project", "warre_history", ["project_id", "start_date"])
    op.create_index("ix_warre_history_end", "warre_history", ["end_date"])
    op.add_column("warre_executions", sa.Column("requested_by", sa.String(255)))


def downgrade() -> None:
    op.drop_column("warre_executions", "requested_by")
    op.drop_table("warre_history")
