"""Adds a table of imported things, and a column for Nova flavors that Blazar's plugin has made."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0012"
down_revision = "0011"


def _string(length: int) -> sa.types.TypeEngine[str]:
    exact = mysql.VARCHAR(length, charset="utf8mb4", collation="utf8mb4_bin")
    return sa.String(length).with_variant(exact, "mysql", "mariadb")


def _text() -> sa.types.TypeEngine[str]:
    exact = mysql.TEXT(charset="utf8mb4", collation="utf8mb4_bin")
    return sa.Text().with_variant(exact, "mysql", "mariadb")


def upgrade() -> None:
    op.add_column("warre_backings", sa.Column("nova_flavor", sa.String(36)))
    op.create_table(
        "warre_imported",
        sa.Column("kind", sa.String(16), primary_key=True),
        sa.Column("id", _string(64), primary_key=True),
        sa.Column("before", _text()),
        sa.Column("after", sa.String(64)),
    )


def downgrade() -> None:
    op.drop_table("warre_imported")
    op.drop_column("warre_backings", "nova_flavor")
