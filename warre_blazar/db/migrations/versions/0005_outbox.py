"""Adds the outbox with its channels, the managers' turns, and what was told of running time."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0005"
down_revision = "0004"


def _text(kind: type) -> sa.types.TypeEngine[str]:
    exact = kind(charset="utf8mb4", collation="utf8mb4_bin")
    return sa.Text().with_variant(exact, "mysql", "mariadb")


def upgrade() -> None:
    # MariaDB can't roll back a CREATE. So an upgrade that was interrupted goes on where it stopped.
    op.create_table(
        "warre_channels",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("billing", sa.Boolean, nullable=False),
        if_not_exists=True,
    )
    op.create_table(
        "warre_turns",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("manager_id", sa.String(36), nullable=False),
        sa.Column("taken_at", sa.DateTime, nullable=False),
        sa.Column("done_until", sa.DateTime),
        if_not_exists=True,
    )
    op.create_table(
        "warre_outbox",
        sa.Column("id", sa.BigInteger(), primary_key=True, autoincrement=True),
        sa.Column("channel", sa.String(64), nullable=False),
        sa.Column("subject", sa.String(36), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("at", sa.DateTime, nullable=False),
        sa.Column("user_id", sa.String(255)),
        sa.Column("project_id", sa.String(255)),
        sa.Column("content", _text(mysql.MEDIUMTEXT), nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("next_at", sa.DateTime),
        sa.Column("given_up_at", sa.DateTime),
        sa.Column("error", _text(mysql.TEXT)),
        if_not_exists=True,
    )
    indexes = {"channel": ["channel", "given_up_at", "id"], "subject": ["channel", "subject", "id"]}
    for name, columns in indexes.items():
        op.create_index(f"ix_warre_outbox_{name}", "warre_outbox", columns, if_not_exists=True)
    if not _has_column():
        op.add_column("warre_reservations", sa.Column("counted_until", sa.DateTime))


def downgrade() -> None:
    for table in ("warre_outbox", "warre_turns", "warre_channels"):
        op.drop_table(table, if_exists=True)
    if _has_column():
        op.drop_column("warre_reservations", "counted_until")


def _has_column() -> bool:
    columns = sa.inspect(op.get_bind()).get_columns("warre_reservations")
    return any(column["name"] == "counted_until" for column in columns)
