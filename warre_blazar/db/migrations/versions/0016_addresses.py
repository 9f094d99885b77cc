"""Adds addresses that get no messages, numbers of messages, and keys for signatures."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0016"
down_revision = "0015"

_TABLES = ("warre_stopped_addresses", "warre_message_counts", "warre_secrets")


def upgrade() -> None:
    exact = mysql.VARCHAR(255, charset="utf8mb4", collation="utf8mb4_bin")
    address = sa.String(255).with_variant(exact, "mysql", "mariadb")
    op.create_table(
        "warre_stopped_addresses",
        sa.Column("address", address, primary_key=True),
        sa.Column("stopped_at", sa.DateTime, nullable=False),
        if_not_exists=True,
    )
    op.create_table(
        "warre_message_counts",
        sa.Column("channel", sa.String(64), primary_key=True),
        sa.Column("address", address, primary_key=True),
        sa.Column("hour", sa.DateTime, primary_key=True),
        sa.Column("sent", sa.Integer, nullable=False),
        if_not_exists=True,
    )
    op.create_table(
        "warre_secrets",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("value", sa.String(64), nullable=False),
        if_not_exists=True,
    )


def downgrade() -> None:
    for table in _TABLES:
        op.drop_table(table, if_exists=True)
