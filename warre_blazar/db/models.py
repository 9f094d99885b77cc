"""Our tables, in Blazar's metadata because they refer to its tables.

Text that people choose is utf8mb4 and compares by its bytes on MariaDB whatever the database's
default is, as on the others; columns that refer to Blazar's have to inherit that default.
"""

import sqlalchemy as sa
from blazar.db.sqlalchemy import models as _blazar  # its tables, in the metadata
from sqlalchemy.dialects import mysql

metadata = _blazar.Lease.metadata


def _string(length: int) -> sa.types.TypeEngine[str]:
    exact = mysql.VARCHAR(length, charset="utf8mb4", collation="utf8mb4_bin")
    return sa.String(length).with_variant(exact, "mysql", "mariadb")


def _text() -> sa.types.TypeEngine[str]:
    exact = mysql.TEXT(charset="utf8mb4", collation="utf8mb4_bin")
    return sa.Text().with_variant(exact, "mysql", "mariadb")


flavors = sa.Table(
    "warre_flavors",
    metadata,
    sa.Column("id", _string(64), primary_key=True),
    sa.Column("name", _string(64), nullable=False),
    sa.Column("description", _text()),
    sa.Column("vcpu", sa.Integer, nullable=False),
    sa.Column("memory_mb", sa.Integer, nullable=False),
    sa.Column("disk_gb", sa.Integer, nullable=False),
    sa.Column("ephemeral_gb", sa.Integer, nullable=False),
    sa.Column("extra_specs", sa.JSON, nullable=False),
    sa.Column("properties", _text()),
    sa.Column("availability_zone", _string(255)),
    sa.Column("slots", sa.Integer, nullable=False),
    sa.Column("max_length_hours", sa.Integer, nullable=False),
    sa.Column("start_date", sa.DateTime),
    sa.Column("end_date", sa.DateTime),
    sa.Column("category", _string(64)),
    sa.Column("is_public", sa.Boolean, nullable=False),
    sa.Column("active", sa.Boolean, nullable=False),
    # Moves with every claim on the flavor's slots and every change of its terms.
    sa.Column("generation", sa.Integer, nullable=False),
    # Empty while the flavor lives, else its id: names are unique among the living, and the
    # history still names the dead.
    sa.Column("deleted", _string(64), nullable=False),
    sa.Column("created_at", sa.DateTime, nullable=False),
    sa.UniqueConstraint("name", "deleted", name="uniq_warre_flavors0name0deleted"),
)

flavor_projects = sa.Table(
    "warre_flavor_projects",
    metadata,
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

reservations = sa.Table(
    "warre_reservations",
    metadata,
    sa.Column("id", _string(64), primary_key=True),
    # Blazar's reservation, whose end is ours: whoever deletes it frees the slots.
    sa.Column(
        "reservation_id",
        sa.String(36),
        sa.ForeignKey("reservations.id", ondelete="CASCADE"),
        nullable=False,
        unique=True,
    ),
    sa.Column("flavor_id", _string(64), sa.ForeignKey("warre_flavors.id"), nullable=False),
    sa.Column("instance_count", sa.Integer, nullable=False),
    # The flavor's shape as it was booked: domain.flavor.Shape as JSON.
    sa.Column("shape", _text(), nullable=False),
    # The time that an update was promised, claimed beside the lease's own: Blazar writes a lease's
    # new dates only after every plugin has agreed. Empty once the lease's own time says the same.
    sa.Column("claim_start", sa.DateTime),
    sa.Column("claim_end", sa.DateTime),
    # When the promise was made, by the database's clock.
    sa.Column("promised_at", sa.DateTime),
    sa.Column("status_reason", _text()),
    sa.Column("created_at", sa.DateTime, nullable=False),
)

# The few reservations with a promise beside their lease's own time.
sa.Index("ix_warre_reservations_claim", reservations.c.claim_end, reservations.c.claim_start)

hosts = sa.Table(
    "warre_hosts",
    metadata,
    sa.Column(
        "host_id",
        sa.String(36),
        sa.ForeignKey("computehosts.id", ondelete="CASCADE"),
        primary_key=True,
    ),
    # Moves with every claim on the host.
    sa.Column("generation", sa.Integer, nullable=False),
)

projects = sa.Table(
    "warre_projects",
    metadata,
    sa.Column("project_id", _string(255), primary_key=True),
    # Moves with every claim on the project's quota.
    sa.Column("generation", sa.Integer, nullable=False),
)

# What a quota check reads of Blazar's leases: without it it reads everybody's.
_leases = _blazar.Lease.__table__.c
sa.Index(
    "ix_warre_leases_usage",
    _leases.project_id,
    _leases.status,
    _leases.start_date,
    _leases.end_date,
)

# What holds hosts or slots at some time of a window: without it that reads all leases ever made.
sa.Index("ix_warre_leases_time", _leases.end_date, _leases.start_date, _leases.status)
# The few that are neither waiting for their start, running, nor over.
sa.Index("ix_warre_leases_status", _leases.status)
# What is due, and what was claimed and not finished.
_events = _blazar.Event.__table__.c
sa.Index("ix_warre_events_status", _events.status, _events.time)

# Where reservations are and of what type. An index of the foreign key alone sends each row that it
# finds to be looked up once more by its random id; one that holds all that is asked for doesn't.
_reservations = _blazar.Reservation.__table__.c
sa.Index("ix_warre_reservations_lease", _reservations.lease_id, _reservations.resource_type)
_allocations = _blazar.ComputeHostAllocation.__table__.c
sa.Index(
    "ix_warre_allocations_reservation", _allocations.reservation_id, _allocations.compute_host_id
)

backings = sa.Table(
    "warre_backings",
    metadata,
    # What Nova and Placement may hold for a reservation. No foreign key: the row has to outlive
    # the reservation until all of that is gone.
    sa.Column("reservation_id", sa.String(36), primary_key=True),
    sa.Column("project_id", _string(255), nullable=False),
    sa.Column("aggregate_id", sa.Integer),
    # Whether the project may have been let in, so may have servers there.
    sa.Column("opened", sa.Boolean, nullable=False),
    # Whether everything that opening does was done.
    sa.Column("open_done", sa.Boolean, nullable=False),
    sa.Column("created_at", sa.DateTime, nullable=False),
)

# Managers that execute starts and ends. One whose heartbeat is old has died.
managers = sa.Table(
    "warre_managers",
    metadata,
    sa.Column("id", sa.String(36), primary_key=True),
    sa.Column("host", _string(255), nullable=False),
    # By the database's clock.
    sa.Column("heartbeat", sa.DateTime, nullable=False),
)

# Starts, ends and deletions of leases that a manager has claimed, or that are to be tried again.
executions = sa.Table(
    "warre_executions",
    metadata,
    sa.Column(
        "lease_id",
        sa.String(36),
        sa.ForeignKey("leases.id", ondelete="CASCADE"),
        primary_key=True,
    ),
    # domain.executions.START, END or DELETE.
    sa.Column("action", sa.String(16), nullable=False),
    # Empty between two tries. No foreign key: a claim outlives its manager until it is released.
    sa.Column("manager_id", sa.String(36)),
    # How often it was tried and failed.
    sa.Column("attempts", sa.Integer, nullable=False),
)

windows = sa.Table(
    "warre_windows",
    metadata,
    sa.Column("id", _string(64), primary_key=True),
    sa.Column("start_date", sa.DateTime, nullable=False),
    sa.Column("end_date", sa.DateTime, nullable=False),
    sa.Column("note", _text()),
    sa.Column("created_at", sa.DateTime, nullable=False),
)

window_flavors = sa.Table(
    "warre_window_flavors",
    metadata,
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
