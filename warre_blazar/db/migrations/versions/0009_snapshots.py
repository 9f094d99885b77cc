"""Adds what is done with servers before their reservation ends: nothing, or a snapshot of each."""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0009"
down_revision = "0008"

_FLAVORS, _RESERVATIONS, _HISTORY = "warre_flavors", "warre_reservations", "warre_history"


def _exact(general: sa.types.TypeEngine[str], kind: type, *size: int) -> sa.types.TypeEngine[str]:
    exact = kind(*size, charset="utf8mb4", collation="utf8mb4_bin")
    return general.with_variant(exact, "mysql", "mariadb")


def _string(length: int) -> sa.types.TypeEngine[str]:
    return _exact(sa.String(length), mysql.VARCHAR, length)


def _text() -> sa.types.TypeEngine[str]:
    return _exact(sa.Text(), mysql.TEXT)


def _added() -> tuple[tuple[str, sa.Column[Any]], ...]:
    """The new columns of tables that are there already."""
    choice = sa.Column("before_end_choice", sa.Boolean, nullable=False, server_default=sa.false())
    return (
        *(
            (table, sa.Column("before_end", sa.String(16)))
            for table in (_FLAVORS, _RESERVATIONS, _HISTORY)
        ),
        (_FLAVORS, choice),
        (_RESERVATIONS, sa.Column("looked_at", sa.DateTime)),
        (_RESERVATIONS, sa.Column("look_error", _text())),
    )


def upgrade() -> None:
    # MariaDB can't roll back a CREATE. So an upgrade that was interrupted goes on where it stopped.
    for table, column in _added():
        if column.name not in _columns(table):
            op.add_column(table, column)
    op.create_table(
        "warre_snapshots",
        sa.Column("reservation_id", sa.String(36), primary_key=True),
        sa.Column("server_id", sa.String(36), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("project_id", _string(255), nullable=False),
        sa.Column("server_name", _string(255)),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("at", sa.DateTime, nullable=False),
        sa.Column("image_id", sa.String(36)),
        sa.Column("error", _text()),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("next_at", sa.DateTime),
        sa.Column("told", sa.Boolean, nullable=False),
        if_not_exists=True,
    )
    for name, columns in {"told": ["told", "status"], "next": ["next_at"]}.items():
        index = f"ix_warre_snapshots_{name}"
        op.create_index(index, "warre_snapshots", columns, if_not_exists=True)


def downgrade() -> None:
    op.drop_table("warre_snapshots", if_exists=True)
    for table, column in _added():
        if column.name in _columns(table):
            op.drop_column(table, column.name)


def _columns(table: str) -> set[str]:
    return {column["name"] for column in sa.inspect(op.get_bind()).get_columns(table)}
