"""Adds who drains a host, since when and why."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0003"
down_revision = "0002"

_COLUMNS = (
    sa.Column(
        "drained_by",
        sa.String(255).with_variant(
            mysql.VARCHAR(255, charset="utf8mb4", collation="utf8mb4_bin"), "mysql", "mariadb"
        ),
    ),
    sa.Column("drained_at", sa.DateTime),
    sa.Column(
        "drain_reason",
        sa.Text().with_variant(
            mysql.TEXT(charset="utf8mb4", collation="utf8mb4_bin"), "mysql", "mariadb"
        ),
    ),
)


def upgrade() -> None:
    # MariaDB can't roll back an ALTER. So an upgrade that was interrupted goes on where it stopped.
    found = {column["name"] for column in sa.inspect(op.get_bind()).get_columns("warre_hosts")}
    for column in _COLUMNS:
        if column.name not in found:
            op.add_column("warre_hosts", column.copy())


def downgrade() -> None:
    found = {column["name"] for column in sa.inspect(op.get_bind()).get_columns("warre_hosts")}
    for column in _COLUMNS:
        if column.name in found:
            op.drop_column("warre_hosts", column.name)
