"""Adds columns for the names and notes that users give their reservations."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0008"
down_revision = "0007"

_NAME_INDEX = "ix_warre_reservations_name"


def upgrade() -> None:
    exact_name = mysql.VARCHAR(255, charset="utf8mb4", collation="utf8mb4_bin")
    exact_note = mysql.TEXT(charset="utf8mb4", collation="utf8mb4_bin")
    name = sa.String(255).with_variant(exact_name, "mysql", "mariadb")
    note = sa.Text().with_variant(exact_note, "mysql", "mariadb")
    op.add_column("warre_reservations", sa.Column("name", name))
    op.add_column("warre_reservations", sa.Column("note", note))
    op.create_index(_NAME_INDEX, "warre_reservations", ["name"])


def downgrade() -> None:
    op.drop_index(_NAME_INDEX, "warre_reservations")
    op.drop_column("warre_reservations", "note")
    op.drop_column("warre_reservations", "name")
