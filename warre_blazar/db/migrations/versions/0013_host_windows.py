"""Adds maintenance windows of hosts, and for how long maintenance may delay a reservation."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0013"
down_revision = "0012"

_RESERVATIONS, _HOSTS = "warre_reservations", "warre_window_hosts"


def _id() -> sa.types.TypeEngine[str]:
    exact = mysql.VARCHAR(64, charset="utf8mb4", collation="utf8mb4_bin")
    return sa.String(64).with_variant(exact, "mysql", "mariadb")


def upgrade() -> None:
    # MariaDB can't roll back a CREATE. So an upgrade that was interrupted goes on where it stopped.
    if "movable_hours" not in _columns():
        hours = sa.Column("movable_hours", sa.Integer, nullable=False, server_default="0")
        op.add_column(_RESERVATIONS, hours)
    op.create_table(
        _HOSTS,
        sa.Column(
            "window_id",
            _id(),
            sa.ForeignKey("warre_windows.id", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column(
            "host_id",
            sa.String(36),
            sa.ForeignKey("computehosts.id", ondelete="CASCADE"),
            primary_key=True,
        ),
        if_not_exists=True,
    )


def downgrade() -> None:
    op.drop_table(_HOSTS, if_exists=True)
    if "movable_hours" in _columns():
        op.drop_column(_RESERVATIONS, "movable_hours")


def _columns() -> set[str]:
    columns = sa.inspect(op.get_bind()).get_columns(_RESERVATIONS)
    return {column["name"] for column in columns}
