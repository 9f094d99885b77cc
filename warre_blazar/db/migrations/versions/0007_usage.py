"""Adds the sums of usage, and the requests that were refused."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0007"
down_revision = "0006"


def _string(length: int) -> sa.types.TypeEngine[str]:
    exact = mysql.VARCHAR(length, charset="utf8mb4", collation="utf8mb4_bin")
    return sa.String(length).with_variant(exact, "mysql", "mariadb")


def upgrade() -> None:
    # MariaDB can't roll back a CREATE. So an upgrade that was interrupted goes on where it stopped.
    op.create_table(
        "warre_usage",
        sa.Column("reservation_id", sa.String(36), primary_key=True),
        sa.Column("day", sa.Date, primary_key=True),
        sa.Column("used_seconds", sa.BigInteger, nullable=False),
        sa.Column("used_at", sa.DateTime, nullable=False),
        if_not_exists=True,
    )
    op.create_table(
        "warre_refusals",
        sa.Column("id", sa.BigInteger(), primary_key=True, autoincrement=True),
        sa.Column("at", sa.DateTime, nullable=False),
        sa.Column("project_id", _string(255), nullable=False),
        sa.Column("user_id", _string(255)),
        sa.Column("code", sa.String(64), nullable=False),
        sa.Column("flavor_id", _string(64)),
        sa.Column("reservation_id", sa.String(36)),
        sa.Column("instance_count", sa.Integer, nullable=False),
        sa.Column("start_date", sa.DateTime, nullable=False),
        sa.Column("end_date", sa.DateTime, nullable=False),
        if_not_exists=True,
    )
    op.create_table(
        "warre_refusal_counts",
        sa.Column("project_id", _string(255), primary_key=True),
        sa.Column("day", sa.Date, primary_key=True),
        sa.Column("code", sa.String(64), primary_key=True),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("kept", sa.Integer, nullable=False),
        if_not_exists=True,
    )
    for table, name, columns in (
        ("warre_refusals", "project", ["project_id", "at"]),
        ("warre_refusals", "at", ["at"]),
        ("warre_refusal_counts", "day", ["day"]),
    ):
        op.create_index(f"ix_{table}_{name}", table, columns, if_not_exists=True)


def downgrade() -> None:
    for table in ("warre_refusal_counts", "warre_refusals", "warre_usage"):
        op.drop_table(table, if_exists=True)
