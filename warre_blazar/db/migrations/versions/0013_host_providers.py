"""Adds a table of the resource providers and the zone of each host."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0013"
down_revision = "0012"


def _string(length: int) -> sa.types.TypeEngine[str]:
    exact = mysql.VARCHAR(length, charset="utf8mb4", collation="utf8mb4_bin")
    return sa.String(length).with_variant(exact, "mysql", "mariadb")


def _long_text() -> sa.types.TypeEngine[str]:
    exact = mysql.MEDIUMTEXT(charset="utf8mb4", collation="utf8mb4_bin")
    return sa.Text().with_variant(exact, "mysql", "mariadb")


def _referring(table: str, column: str) -> sa.types.TypeEngine[str]:
    """The type of a column in Blazar's tables, including the column's character set.

    A foreign key must have the same type as the column to which it refers.
    """
    found = sa.inspect(op.get_bind()).get_columns(table)
    return next(c["type"] for c in found if c["name"] == column)


def upgrade() -> None:
    op.create_table(
        "warre_host_providers",
        sa.Column(
            "host_id",
            _referring("computehosts", "id"),
            sa.ForeignKey("computehosts.id", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("tree", _long_text(), nullable=False),
        sa.Column("zone", _string(255)),
        sa.Column("read_at", sa.DateTime, nullable=False),
    )


def downgrade() -> None:
    op.drop_table("warre_host_providers")
