"""Adds the table of changes of reservations."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0004"
down_revision = "0003"

_NAME = "warre_changes"


def upgrade() -> None:
    # MariaDB can't roll back a CREATE. So an upgrade that was interrupted goes on where it stopped.
    text = sa.Text().with_variant(
        mysql.TEXT(charset="utf8mb4", collation="utf8mb4_bin"), "mysql", "mariadb"
    )
    op.create_table(
        _NAME,
        sa.Column("id", sa.BigInteger(), primary_key=True, autoincrement=True),
        sa.Column("reservation_id", sa.String(36), nullable=False),
        sa.Column("at", sa.DateTime, nullable=False),
        sa.Column("user_id", sa.String(255)),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("before", text),
        sa.Column("after", text),
        if_not_exists=True,
    )
    op.create_index(f"ix_{_NAME}_reservation", _NAME, ["reservation_id", "id"], if_not_exists=True)
    op.create_index(f"ix_{_NAME}_at", _NAME, ["at"], if_not_exists=True)


def downgrade() -> None:
    op.drop_table(_NAME, if_exists=True)
