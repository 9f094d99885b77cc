"""Adds series of reservations."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0011"
down_revision = "0010"

_RESERVATIONS, _HISTORY, _SERIES = "warre_reservations", "warre_history", "warre_series"
_ADDED = (
    (_RESERVATIONS, "series_id"),
    (_RESERVATIONS, "series_work"),
    (_HISTORY, "series_id"),
)
_INDEXES = {
    ("ix_warre_reservations_series", _RESERVATIONS): ["series_id"],
    ("ix_warre_history_series", _HISTORY): ["series_id"],
    ("ix_warre_series_project", _SERIES): ["project_id", "created_at"],
    ("ix_warre_series_status", _SERIES): ["status"],
}


def _string(length: int) -> sa.types.TypeEngine[str]:
    exact = mysql.VARCHAR(length, charset="utf8mb4", collation="utf8mb4_bin")
    return sa.String(length).with_variant(exact, "mysql", "mariadb")


def _text() -> sa.types.TypeEngine[str]:
    exact = mysql.TEXT(charset="utf8mb4", collation="utf8mb4_bin")
    return sa.Text().with_variant(exact, "mysql", "mariadb")


def upgrade() -> None:
    # MariaDB can't roll back a CREATE. So an upgrade that was interrupted goes on where it stopped.
    for table, name in _ADDED:
        if name not in _columns(table):
            op.add_column(table, sa.Column(name, sa.String(36)))
    op.create_table(
        _SERIES,
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("project_id", _string(255), nullable=False),
        sa.Column("user_id", sa.String(255), nullable=False),
        sa.Column("flavor_id", _string(64), sa.ForeignKey("warre_flavors.id"), nullable=False),
        sa.Column("instance_count", sa.Integer, nullable=False),
        sa.Column("affinity", sa.Boolean),
        sa.Column("name", _string(255)),
        sa.Column("note", _text()),
        sa.Column("contact", _string(255)),
        sa.Column("before_end", sa.String(16)),
        sa.Column("start_date", sa.DateTime, nullable=False),
        sa.Column("timezone", sa.String(64), nullable=False),
        sa.Column("rrule", _string(255), nullable=False),
        sa.Column("minutes", sa.Integer, nullable=False),
        sa.Column("all_or_none", sa.Boolean, nullable=False),
        sa.Column("planned", sa.Integer, nullable=False),
        sa.Column("tried", sa.Integer, nullable=False),
        sa.Column("generation", sa.Integer, nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("work_id", sa.String(36), nullable=False),
        sa.Column("ends_running", sa.Boolean, nullable=False),
        sa.Column("touched_at", sa.DateTime, nullable=False),
        sa.Column("created_at", sa.DateTime, nullable=False),
        if_not_exists=True,
    )
    for (name, table), columns in _INDEXES.items():
        op.create_index(name, table, columns, if_not_exists=True)


def downgrade() -> None:
    op.drop_table(_SERIES, if_exists=True)
    for name, table in _INDEXES:
        if table != _SERIES:
            op.drop_index(name, table, if_exists=True)
    for table, name in _ADDED:
        if name in _columns(table):
            op.drop_column(table, name)


def _columns(table: str) -> set[str]:
    return {column["name"] for column in sa.inspect(op.get_bind()).get_columns(table)}
