"""Adds the end of idle reservations."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"

_COLUMNS: tuple[tuple[str, str, type[Any]], ...] = (
    ("warre_flavors", "idle_warn_hours", sa.Integer),
    ("warre_flavors", "idle_end_hours", sa.Integer),
    ("warre_reservations", "idle_from", sa.DateTime),
    ("warre_reservations", "idle_warned_at", sa.DateTime),
)


def upgrade() -> None:
    # MariaDB can't roll back an ALTER. So an upgrade that was interrupted goes on where it stopped.
    for table, name, kind in _COLUMNS:
        if name not in _columns(table):
            op.add_column(table, sa.Column(name, kind))


def downgrade() -> None:
    for table, name, _ in _COLUMNS:
        if name in _columns(table):
            op.drop_column(table, name)


def _columns(table: str) -> set[str]:
    return {column["name"] for column in sa.inspect(op.get_bind()).get_columns(table)}
