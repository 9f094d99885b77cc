"""Adds this package's tables, and indexes of Blazar's tables."""

from collections.abc import Mapping, Sequence

import sqlalchemy as sa
from alembic import op
from alembic.util import CommandError
from sqlalchemy.dialects import mysql

revision = "0001"
down_revision = None

#: The columns of each index of Blazar's tables, by table and by name.
_BLAZARS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "leases": {
        "ix_warre_leases_usage": ["project_id", "status", "start_date", "end_date"],
        "ix_warre_leases_time": ["end_date", "start_date", "status"],
        "ix_warre_leases_user": ["user_id", "start_date"],
        "ix_warre_leases_status": ["status"],
    },
    "events": {"ix_warre_events_status": ["status", "time"]},
    "reservations": {"ix_warre_reservations_lease": ["lease_id", "resource_type"]},
    "computehosts": {},
    "computehost_allocations": {
        "ix_warre_allocations_reservation": ["reservation_id", "compute_host_id"],
    },
}
#: In the order in which they are made.
_TABLES = (
    "warre_flavors",
    "warre_flavor_projects",
    "warre_reservations",
    "warre_hosts",
    "warre_host_providers",
    "warre_projects",
    "warre_backings",
    "warre_managers",
    "warre_executions",
    "warre_lease_workers",
    "warre_history",
    "warre_imported",
    "warre_windows",
    "warre_window_flavors",
)


def upgrade() -> None:
    """
    :raises CommandError: Blazar's tables don't exist yet.
    """
    missing = set(_BLAZARS) - set(sa.inspect(op.get_bind()).get_table_names())
    if missing:
        raise CommandError(
            f"Blazar's tables {', '.join(sorted(missing))} are not there yet: run "
            "'blazar-db-manage --config-file ... upgrade head' first, then this command again."
        )
    _flavors()
    _reservations()
    _hosts()
    _work()
    _records()
    _windows()
    for table, indexes in _BLAZARS.items():
        for name, columns in indexes.items():
            _create_index(name, table, columns)


def downgrade() -> None:
    found = sa.inspect(op.get_bind())
    for table, indexes in _BLAZARS.items():
        there = {str(index["name"]): index["column_names"] for index in found.get_indexes(table)}
        for name, columns in indexes.items():
            if name in there:
                _drop_index(name, table, columns[0], [c for n, c in there.items() if n != name])
    for name in reversed(_TABLES):
        op.drop_table(name, if_exists=True)


def _drop_index(name: str, table: str, first: str, others: Sequence[Sequence[str | None]]) -> None:
    """Drop an index of a table of Blazar's.

    When an index that begins with a foreign key was made, InnoDB dropped the index that it had made
    for the foreign key. But a foreign key needs an index. So InnoDB's index is made again before.

    :param first: the index's first column.
    :param others: the columns of the table's other indexes.
    """
    keys = sa.inspect(op.get_bind()).get_foreign_keys(table)
    is_key = any(key["constrained_columns"] == [first] for key in keys)
    if is_key and not any(columns[0] == first for columns in others):
        op.create_index(first, table, [first])
    op.drop_index(name, table)


# MariaDB can't roll back a CREATE. So an upgrade that was interrupted goes on where it stopped.


def _create_table(name: str, *parts: sa.schema.SchemaItem) -> None:
    op.create_table(name, *parts, if_not_exists=True)


def _create_index(name: str, table: str, columns: Sequence[str]) -> None:
    op.create_index(name, table, columns, if_not_exists=True)


# Types of columns.


def _string(length: int) -> sa.types.TypeEngine[str]:
    exact = mysql.VARCHAR(length, charset="utf8mb4", collation="utf8mb4_bin")
    return sa.String(length).with_variant(exact, "mysql", "mariadb")


def _text() -> sa.types.TypeEngine[str]:
    exact = mysql.TEXT(charset="utf8mb4", collation="utf8mb4_bin")
    return sa.Text().with_variant(exact, "mysql", "mariadb")


def _long_text() -> sa.types.TypeEngine[str]:
    exact = mysql.MEDIUMTEXT(charset="utf8mb4", collation="utf8mb4_bin")
    return sa.Text().with_variant(exact, "mysql", "mariadb")


def _referring(table: str) -> sa.types.TypeEngine[str]:
    """The type of the column ``id`` in a table of Blazar's, including the column's character set.

    A foreign key must have the same type as the column to which it refers.
    """
    found = sa.inspect(op.get_bind()).get_columns(table)
    return next(c["type"] for c in found if c["name"] == "id")


def _key_of(table: str, column: str) -> sa.Column[str]:
    """The primary key of a table that has at most one row for each row of a table of Blazar's."""
    key = sa.ForeignKey(f"{table}.id", ondelete="CASCADE")
    return sa.Column(column, _referring(table), key, primary_key=True)


# Tables. ``db.models`` explains the columns.


def _flavors() -> None:
    _create_table(
        "warre_flavors",
        sa.Column("id", _string(64), primary_key=True),
        sa.Column("name", _string(64), nullable=False),
        sa.Column("description", _text()),
        sa.Column("vcpu", sa.Integer, nullable=False),
        sa.Column("memory_mb", sa.Integer, nullable=False),
        sa.Column("disk_gb", sa.Integer, nullable=False),
        sa.Column("ephemeral_gb", sa.Integer, nullable=False),
        sa.Column("extra_specs", sa.JSON, nullable=False),
        sa.Column("device_groups", sa.JSON(none_as_null=True)),
        sa.Column("properties", _text()),
        sa.Column("availability_zone", _string(255)),
        sa.Column("slots", sa.Integer, nullable=False),
        sa.Column("max_length_hours", sa.Integer, nullable=False),
        sa.Column("start_date", sa.DateTime),
        sa.Column("end_date", sa.DateTime),
        sa.Column("category", _string(64)),
        sa.Column("is_public", sa.Boolean, nullable=False),
        sa.Column("active", sa.Boolean, nullable=False),
        sa.Column("generation", sa.Integer, nullable=False),
        sa.Column("deleted", _string(64), nullable=False),
        sa.Column("created_at", sa.DateTime, nullable=False),
    )
    _create_index("ix_warre_flavors_name", "warre_flavors", ["name"])
    _create_table(
        "warre_flavor_projects",
        sa.Column("id", _string(64), primary_key=True),
        sa.Column(
            "flavor_id",
            _string(64),
            sa.ForeignKey("warre_flavors.id", ondelete="CASCADE"),
            nullable=False,
        ),
        sa.Column("project_id", _string(255), nullable=False),
        sa.UniqueConstraint(
            "flavor_id", "project_id", name="uniq_warre_flavor_projects0flavor_id0project_id"
        ),
    )


def _reservations() -> None:
    _create_table(
        "warre_reservations",
        sa.Column("id", _string(64), primary_key=True),
        sa.Column(
            "reservation_id",
            _referring("reservations"),
            sa.ForeignKey("reservations.id", ondelete="CASCADE"),
            nullable=False,
            unique=True,
        ),
        sa.Column("flavor_id", _string(64), sa.ForeignKey("warre_flavors.id"), nullable=False),
        sa.Column("instance_count", sa.Integer, nullable=False),
        sa.Column("name", _string(255)),
        sa.Column("note", _text()),
        sa.Column("shape", _text(), nullable=False),
        sa.Column("claim_start", sa.DateTime),
        sa.Column("claim_end", sa.DateTime),
        sa.Column("promised_at", sa.DateTime),
        sa.Column("status_reason", _text()),
        sa.Column("created_at", sa.DateTime, nullable=False),
    )
    _create_index("ix_warre_reservations_name", "warre_reservations", ["name"])
    claim = ["claim_end", "claim_start"]
    _create_index("ix_warre_reservations_claim", "warre_reservations", claim)
    _create_table(
        "warre_backings",
        sa.Column("reservation_id", _referring("reservations"), primary_key=True),
        sa.Column("project_id", _string(255), nullable=False),
        sa.Column("aggregate_id", sa.Integer),
        sa.Column("phase", sa.String(8), nullable=False),
        sa.Column("late_until", sa.DateTime),
        sa.Column("created_at", sa.DateTime, nullable=False),
        sa.Column("nova_flavor", sa.String(36)),
    )


def _hosts() -> None:
    _create_table(
        "warre_hosts",
        _key_of("computehosts", "host_id"),
        sa.Column("generation", sa.Integer, nullable=False),
        sa.Column("draining", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("abandoned", sa.Boolean, nullable=False, server_default=sa.false()),
    )
    _create_table(
        "warre_host_providers",
        _key_of("computehosts", "host_id"),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("tree", _long_text(), nullable=False),
        sa.Column("zone", _string(255)),
        sa.Column("read_at", sa.DateTime, nullable=False),
    )
    _create_table(
        "warre_projects",
        sa.Column("project_id", _string(255), primary_key=True),
        sa.Column("generation", sa.Integer, nullable=False),
    )


def _work() -> None:
    _create_table(
        "warre_managers",
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("host", _string(255), nullable=False),
        sa.Column("heartbeat", sa.DateTime, nullable=False),
    )
    _create_table(
        "warre_executions",
        _key_of("leases", "lease_id"),
        sa.Column("action", sa.String(16), nullable=False),
        sa.Column("manager_id", sa.String(36)),
        sa.Column("attempts", sa.Integer, nullable=False),
    )
    _create_table(
        "warre_lease_workers",
        _key_of("leases", "lease_id"),
        sa.Column("manager_id", sa.String(36)),
        sa.Column("work_id", sa.String(36), nullable=False),
    )


def _records() -> None:
    _create_table(
        "warre_history",
        sa.Column("id", _string(64), primary_key=True),
        sa.Column("reservation_id", sa.String(36)),
        sa.Column("lease_id", sa.String(64)),
        sa.Column("flavor_id", _string(64), sa.ForeignKey("warre_flavors.id"), nullable=False),
        sa.Column("instance_count", sa.Integer, nullable=False),
        sa.Column("affinity", sa.Boolean),
        sa.Column("name", _string(255)),
        sa.Column("note", _text()),
        sa.Column("shape", _text(), nullable=False),
        sa.Column("start_date", sa.DateTime, nullable=False),
        sa.Column("end_date", sa.DateTime, nullable=False),
        sa.Column("project_id", sa.String(255)),
        sa.Column("user_id", sa.String(255)),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("status_reason", _text()),
        sa.Column("compute_flavor", _string(64)),
        sa.Column("created_at", sa.DateTime, nullable=False),
        sa.Column("deleted_at", sa.DateTime),
        sa.Column("deleted_by", sa.String(255)),
    )
    _create_index("ix_warre_history_project", "warre_history", ["project_id", "start_date"])
    _create_index("ix_warre_history_end", "warre_history", ["end_date"])
    _create_table(
        "warre_imported",
        sa.Column("kind", sa.String(16), primary_key=True),
        sa.Column("id", _string(64), primary_key=True),
        sa.Column("before", _text()),
        sa.Column("after", sa.String(64)),
    )


def _windows() -> None:
    _create_table(
        "warre_windows",
        sa.Column("id", _string(64), primary_key=True),
        sa.Column("start_date", sa.DateTime, nullable=False),
        sa.Column("end_date", sa.DateTime, nullable=False),
        sa.Column("note", _text()),
        sa.Column("created_at", sa.DateTime, nullable=False),
    )
    _create_table(
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
