"""Adds who drains a host, since when and why."""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0003"
down_revision = "0002"

_UTF8: dict[str, Any] = {"charset": "utf8mb4", "collation": "utf8mb4_bin"}
_TYPES: dict[str, Any] = {
    "drained_by": sa.String(255).with_variant(mysql.VARCHAR(255, **_UTF8), "mysql", "mariadb"),
    "drained_at": sa.DateTime(),
    "drain_reason": sa.Text().with_variant(mysql.TEXT(**_UTF8), "mysql", "mariadb"),
}


def upgrade() -> None:
    # MariaDB can't roll back an ALTER. So an upgrade that was interrupted goes on where it stopped.
    for name in _TYPES.keys() - _present():
        op.add_column("warre_hosts", sa.Column(name, _TYPES[name]))


def downgrade() -> None:
    for name in _TYPES.keys() & _present():
        op.drop_column("warre_hosts", name)


def _present() -> set[str]:
    return {column["name"] for column in sa.inspect(op.get_bind()).get_columns("warre_hosts")}
