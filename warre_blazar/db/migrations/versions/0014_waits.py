"""Adds waits: what projects want to book once there is room."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0014"
down_revision = "0013"


def _exact(length: int) -> sa.types.TypeEngine[str]:
    exact = mysql.VARCHAR(length, charset="utf8mb4", collation="utf8mb4_bin")
    return sa.String(length).with_variant(exact, "mysql", "mariadb")


def _prose() -> sa.types.TypeEngine[str]:
    exact = mysql.TEXT(charset="utf8mb4", collation="utf8mb4_bin")
    return sa.Text().with_variant(exact, "mysql", "mariadb")


def upgrade() -> None:
    number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.create_table(
        "warre_waits",
        sa.Column("number", number, primary_key=True, autoincrement=True),
        sa.Column("id", sa.String(36), nullable=False, unique=True),
        sa.Column("project_id", sa.String(255), nullable=False),
        sa.Column("user_id", sa.String(255), nullable=False),
        sa.Column("flavor_id", _exact(64)),
        sa.Column("category", _exact(64)),
        sa.Column("instance_count", sa.Integer, nullable=False),
        sa.Column("minutes", sa.Integer, nullable=False),
        sa.Column("earliest", sa.DateTime, nullable=False),
        sa.Column("latest", sa.DateTime, nullable=False),
        sa.Column("mode", sa.String(8), nullable=False),
        sa.Column("affinity", sa.Boolean),
        sa.Column("before_end", sa.String(16)),
        sa.Column("name", _exact(255)),
        sa.Column("note", _prose()),
        sa.Column("contact", _exact(255)),
        sa.Column("timezone", sa.String(64)),
        sa.Column("created_at", sa.DateTime, nullable=False),
        sa.Column("expires_at", sa.DateTime, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("status_reason", _prose()),
        sa.Column("found_flavor_id", _exact(64)),
        sa.Column("start_date", sa.DateTime),
        sa.Column("end_date", sa.DateTime),
        sa.Column("reservation_id", sa.String(36)),
        sa.Column("ended_at", sa.DateTime),
        sa.Index("ix_warre_waits_state", "state", "ended_at"),
        sa.Index("ix_warre_waits_project", "project_id", "state"),
        if_not_exists=True,
    )


def downgrade() -> None:
    op.drop_table("warre_waits", if_exists=True)
