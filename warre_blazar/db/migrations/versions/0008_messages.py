"""Adds contacts and time zones of reservations, and who gets messages."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0008"
down_revision = "0007"

_TABLES = ("warre_reservations", "warre_history")


def upgrade() -> None:
    # MariaDB can't roll back a CREATE. So an upgrade that was interrupted goes on where it stopped.
    exact = mysql.VARCHAR(255, charset="utf8mb4", collation="utf8mb4_bin")
    contact = sa.String(255).with_variant(exact, "mysql", "mariadb")
    for table in _TABLES:
        for name, kind in (("contact", contact), ("timezone", sa.String(64))):
            if name not in _columns(table):
                op.add_column(table, sa.Column(name, kind))
    op.create_table(
        "warre_message_settings",
        sa.Column("user_id", sa.String(255), primary_key=True),
        sa.Column("enabled", sa.Boolean, nullable=False),
        if_not_exists=True,
    )


def downgrade() -> None:
    op.drop_table("warre_message_settings", if_exists=True)
    for table in _TABLES:
        for name in {"contact", "timezone"} & _columns(table):
            op.drop_column(table, name)


def _columns(table: str) -> set[str]:
    return {column["name"] for column in sa.inspect(op.get_bind()).get_columns(table)}
