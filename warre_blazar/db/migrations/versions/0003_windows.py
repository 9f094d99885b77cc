"""Adds tables of maintenance windows, and of the flavors that each window closes."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0003"
down_revision = "0002"


def _string(length: int) -> sa.types.TypeEngine[str]:
    exact = mysql.VARCHAR(length, charset="utf8mb4", collation="utf8mb4_bin")
    return sa.String(length).with_variant(exact, "mysql", "mariadb")


def _text() -> sa.types.TypeEngine[str]:
    exact = mysql.TEXT(charset="utf8mb4", collation="utf8mb4_bin")
    return sa.Text().with_variant(exact, "mysql", "mariadb")


def upgrade() -> None:
    op.create_table(
        "warre_windows",
        sa.Column("id", _string(64), primary_key=True),
        sa.Column("start_date", sa.DateTime, nullable=False),
        sa.Column("end_date", sa.DateTime, nullable=False),
        sa.Column("note", _text()),
        sa.Column("created_at", sa.DateTime, nullable=False),
    )
    op.create_table(
        "warre_window_flavors",
        sa.Column(
            "window_id",
            _string(64),
            sa.ForeignKey("warre_windows.id", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column(
            "flavor_id",
            _string(64),
            sa.ForeignKey("warre_flavors.id", ondelete="CASCADE"),
            primary_key=True,
        ),
    )


def downgrade() -> None:
    op.drop_table("warre_window_flavors")
    op.drop_table("warre_windows")
