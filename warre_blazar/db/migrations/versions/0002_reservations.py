"""Adds tables of reservations, of the generations of hosts, and of the notes of backings.

This is the first revision that refers to Blazar's own tables.
"""

import sqlalchemy as sa
from alembic import op
from alembic.util import CommandError
from sqlalchemy.dialects import mysql

revision = "0002"
down_revision = "0001"

_BLAZARS = {"leases", "reservations", "computehosts"}


def _string(length: int) -> sa.types.TypeEngine[str]:
    exact = mysql.VARCHAR(length, charset="utf8mb4", collation="utf8mb4_bin")
    return sa.String(length).with_variant(exact, "mysql", "mariadb")


def _text() -> sa.types.TypeEngine[str]:
    exact = mysql.TEXT(charset="utf8mb4", collation="utf8mb4_bin")
    return sa.Text().with_variant(exact, "mysql", "mariadb")


def _referring(table: str, column: str) -> sa.types.TypeEngine[str]:
    """The type of a column in Blazar's tables, including the column's character set.

    A foreign key must have the same type as the column to which it refers.
    """
    found = sa.inspect(op.get_bind()).get_columns(table)
    return next(c["type"] for c in found if c["name"] == column)


def upgrade() -> None:
    missing = _BLAZARS - set(sa.inspect(op.get_bind()).get_table_names())
    if missing:
        raise CommandError(
            f"Blazar's tables {', '.join(sorted(missing))} are not there yet: run "
            "'blazar-db-manage --config-file ... upgrade head' first, then this command again."
        )
    op.create_table(
        "warre_reservations",
        sa.Column("id", _string(64), primary_key=True),
        sa.Column(
            "reservation_id",
            _referring("reservations", "id"),
            sa.ForeignKey("reservations.id", ondelete="CASCADE"),
            nullable=False,
            unique=True,
        ),
        sa.Column("flavor_id", _string(64), sa.ForeignKey("warre_flavors.id"), nullable=False),
        sa.Column("instance_count", sa.Integer, nullable=False),
        sa.Column("shape", _text(), nullable=False),
        sa.Column("claim_start", sa.DateTime),
        sa.Column("claim_end", sa.DateTime),
        sa.Column("status_reason", _text()),
        sa.Column("created_at", sa.DateTime, nullable=False),
    )
    op.create_table(
        "warre_hosts",
        sa.Column(
            "host_id",
            _referring("computehosts", "id"),
            sa.ForeignKey("computehosts.id", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("generation", sa.Integer, nullable=False),
    )
    op.create_table(
        "warre_backings",
        sa.Column("reservation_id", _referring("reservations", "id"), primary_key=True),
        sa.Column("project_id", _string(255), nullable=False),
        sa.Column("aggregate_id", sa.Integer),
        sa.Column("opened", sa.Boolean, nullable=False),
        sa.Column("open_done", sa.Boolean, nullable=False),
        sa.Column("created_at", sa.DateTime, nullable=False),
    )


def downgrade() -> None:
    op.drop_table("warre_backings")
    op.drop_table("warre_hosts")
    op.drop_table("warre_reservations")
