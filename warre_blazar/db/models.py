"""This package's tables. They are in Blazar's metadata, because they refer to Blazar's tables.

On MariaDB, columns with text that users choose have the character set utf8mb4 and are compared by
bytes, whatever the database's default is. So these columns behave as on other database systems.
Columns that refer to Blazar's columns must have the database's default instead, as Blazar's columns
do.
"""

import sqlalchemy as sa
from blazar.db.sqlalchemy import models as _blazar  # puts Blazar's tables into the metadata
from sqlalchemy.dialects import mysql

from warre_blazar.domain.running.backing import Phase

metadata = _blazar.Lease.metadata


def is_ours(table: sa.Table) -> bool:
    """Whether a table of the metadata is this package's and not Blazar's."""
    return table.name.startswith("warre_")


def string(length: int) -> sa.types.TypeEngine[str]:
    exact = mysql.VARCHAR(length, charset="utf8mb4", collation="utf8mb4_bin")
    return sa.String(length).with_variant(exact, "mysql", "mariadb")


def text() -> sa.types.TypeEngine[str]:
    exact = mysql.TEXT(charset="utf8mb4", collation="utf8mb4_bin")
    return sa.Text().with_variant(exact, "mysql", "mariadb")


def long_text() -> sa.types.TypeEngine[str]:
    exact = mysql.MEDIUMTEXT(charset="utf8mb4", collation="utf8mb4_bin")
    return sa.Text().with_variant(exact, "mysql", "mariadb")


def counted_id(name: str) -> sa.Column[int]:
    """A primary key that counts up. SQLite counts only a key of its own type ``INTEGER``."""
    number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    return sa.Column(name, number, primary_key=True, autoincrement=True)


#: Marks columns of flavors that are only stored and shown.
TEXT = {"is_text": True}

# Flavors. The row of a deleted flavor stays, and ``deleted`` then has the flavor's id.
# ``generation`` increases with every claim on the flavor's slots, and with every change of the
# flavor.
flavors = sa.Table(
    "warre_flavors",
    metadata,
    sa.Column("id", string(64), primary_key=True),
    sa.Column("name", string(64), nullable=False),
    sa.Column("description", text(), info=TEXT),
    sa.Column("vcpu", sa.Integer, nullable=False),
    sa.Column("memory_mb", sa.Integer, nullable=False),
    sa.Column("disk_gb", sa.Integer, nullable=False),
    sa.Column("ephemeral_gb", sa.Integer, nullable=False),
    sa.Column("extra_specs", sa.JSON, nullable=False),
    # The result of resolving the devices in the extra specs: domain.flavors.devices.Resolved as
    # JSON. NULL if the extra specs name no devices, or if the devices were never resolved.
    sa.Column("device_groups", sa.JSON(none_as_null=True)),
    sa.Column("properties", text()),
    sa.Column("availability_zone", string(255)),
    sa.Column("slots", sa.Integer, nullable=False),
    sa.Column("max_length_hours", sa.Integer, nullable=False),
    sa.Column("start_date", sa.DateTime),
    sa.Column("end_date", sa.DateTime),
    sa.Column("category", string(64), info=TEXT),
    # The fair terms. NULL: the flavor doesn't have the term.
    sa.Column("max_days_ahead", sa.Integer),
    sa.Column("notice_hours", sa.Integer, nullable=False, server_default="0"),
    sa.Column("weekly_hours", string(255)),
    sa.Column("extend_within_hours", sa.Integer),
    sa.Column("max_instances_per_project", sa.Integer),
    sa.Column("gap_hours", sa.Integer),
    # After how many hours without a server a running reservation is warned, and ended. NULL: never.
    sa.Column("idle_warn_hours", sa.Integer),
    sa.Column("idle_end_hours", sa.Integer),
    sa.Column("is_public", sa.Boolean, nullable=False),
    sa.Column("active", sa.Boolean, nullable=False),
    # What is done with servers before the end. NULL: what the site's configuration says.
    sa.Column("before_end", sa.String(16)),
    sa.Column("before_end_choice", sa.Boolean, nullable=False, server_default=sa.false()),
    # Whether a Nova flavor shows the flavor, and a digest of this Nova flavor as it was made last.
    # NULL: Nova has none. Empty: it isn't known.
    sa.Column("show_in_nova", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("shown_in_nova", sa.String(64)),
    # Increases with every claim on the flavor's slots and with every change of the flavor.
    sa.Column("generation", sa.Integer, nullable=False),
    # Empty for a flavor that exists, and the flavor's own id for a deleted flavor. A deleted flavor
    # keeps its row, because old reservations may refer to it.
    sa.Column("deleted", string(64), nullable=False),
    sa.Column("created_at", sa.DateTime, nullable=False),
)

# Names don't have to be unique.
sa.Index("ix_warre_flavors_name", flavors.c.name)

# The access of projects to private flavors.
flavor_projects = sa.Table(
    "warre_flavor_projects",
    metadata,
    sa.Column("id", string(64), primary_key=True),
    sa.Column(
        "flavor_id",
        string(64),
        sa.ForeignKey("warre_flavors.id", ondelete="CASCADE"),
        nullable=False,
    ),
    sa.Column("project_id", string(255), nullable=False),
    sa.UniqueConstraint(
        "flavor_id", "project_id", name="uniq_warre_flavor_projects0flavor_id0project_id"
    ),
)

# All flavor:slot reservations, the past ones too, and what Blazar doesn't store about them. A
# reservation is live as long as Blazar has it. Once Blazar has deleted it, only this row tells what
# it was. Several reservations may have the same name, which not every version of Blazar allows for
# leases. So the name is here.
bookings = sa.Table(
    "warre_reservations",
    metadata,
    sa.Column("id", string(64), primary_key=True),
    # The reservation in Blazar's table. NULL if the reservation is past. If Blazar's row is deleted
    # while this column names it, as after a booking that has failed, this row is deleted too.
    sa.Column(
        "live_id", sa.String(36), sa.ForeignKey("reservations.id", ondelete="CASCADE"), unique=True
    ),
    # The id that the reservation has or had in Blazar's table. NULL if the reservation had ended
    # before it was imported from Warre.
    sa.Column("reservation_id", sa.String(36), unique=True),
    # The lease, and whose it is. These never change. Those of a past reservation may be unknown.
    sa.Column("lease_id", string(64)),
    sa.Column("project_id", sa.String(255)),
    sa.Column("user_id", sa.String(255)),
    sa.Column("flavor_id", string(64), sa.ForeignKey("warre_flavors.id"), nullable=False),
    sa.Column("instance_count", sa.Integer, nullable=False),
    # The name that users give the reservation. It needn't be unique.
    sa.Column("name", string(255)),
    sa.Column("note", text()),
    # The email address that messages go to. NULL: they go to the user.
    sa.Column("contact", string(255)),
    # The time zone in which messages also show times. NULL: in UTC only.
    sa.Column("timezone", sa.String(64)),
    # The URL that is called when the reservation starts and ends.
    sa.Column("webhook", text()),
    # What was chosen to be done with the servers before the end. NULL: what the flavor says.
    sa.Column("before_end", sa.String(16)),
    # The series of which the reservation is an occurrence, and the request that has booked it.
    # There is no foreign key, because a reservation outlives a series that was undone.
    sa.Column("series_id", sa.String(36)),
    sa.Column("series_work", sa.String(36)),
    # By how many hours maintenance may move the start to a later time.
    sa.Column("movable_hours", sa.Integer, nullable=False, server_default="0"),
    # The handle: domain.running.handles.Handle.
    sa.Column("handle", sa.String(64)),
    sa.Column("visible_before_start", sa.Boolean, nullable=False, server_default=sa.false()),
    # The shape that was booked: domain.flavors.flavor.Shape as JSON.
    sa.Column("shape", text(), nullable=False),
    # The promise: the new time that the plugin has agreed to. It is claimed in addition to the
    # lease's own time. Blazar writes a lease's new dates only after every plugin has agreed. NULL
    # if there is no promise.
    sa.Column("claim_start", sa.DateTime),
    sa.Column("claim_end", sa.DateTime),
    # When the promise was made, by the database's clock.
    sa.Column("promised_at", sa.DateTime),
    sa.Column("status_reason", text()),
    sa.Column("created_at", sa.DateTime, nullable=False),
    # Until when the time of a running reservation has been told by "exists" notices. NULL if the
    # reservation isn't running.
    sa.Column("counted_until", sa.DateTime),
    # When a manager has last noted which servers need a snapshot before the end, and why it
    # couldn't the last time. NULL: it could, or none has tried.
    sa.Column("looked_at", sa.DateTime),
    # The first of the samples that have found no server since the last one, without a gap. NULL:
    # the last sample has found one, or there is none.
    sa.Column("idle_from", sa.DateTime),
    # When its user was last warned that it is idle.
    sa.Column("idle_warned_at", sa.DateTime),
    sa.Column("look_error", text()),
    # The final times. NULL as long as the reservation hasn't ended: its lease has its times.
    sa.Column("start_date", sa.DateTime),
    sa.Column("end_date", sa.DateTime),
    # What else Blazar's rows had when they were deleted: the last state, one of
    # ``domain.booking.reservation_states``, and more. NULL as long as there is no last state.
    sa.Column("status", sa.String(16)),
    sa.Column("affinity", sa.Boolean),
    sa.Column("compute_flavor", string(64)),
    # The flavor as a client of Blazar's flavor:instance has sent it. NULL: another client has
    # booked.
    sa.Column("sent_flavor", string(255)),
    # NULL if the reservation isn't deleted.
    sa.Column("deleted_at", sa.DateTime),
    # NULL if no user requested the deletion.
    sa.Column("deleted_by", sa.String(255)),
)

sa.Index("ix_warre_reservations_name", bookings.c.name)
sa.Index("ix_warre_reservations_series", bookings.c.series_id)
# For queries of the few reservations that have a promise.
sa.Index("ix_warre_reservations_claim", bookings.c.claim_end, bookings.c.claim_start)
# For queries of a flavor's live reservations. Without this index they would read the past ones.
sa.Index("ix_warre_reservations_flavor", bookings.c.flavor_id, bookings.c.live_id)
# For lists of past reservations, and for what a project had booked.
sa.Index("ix_warre_reservations_project", bookings.c.project_id, bookings.c.start_date)
sa.Index("ix_warre_reservations_user", bookings.c.user_id, bookings.c.start_date)
# For lists. Reservations that haven't ended have no end here, so a list of those that end after a
# time reads no others.
sa.Index("ix_warre_reservations_end", bookings.c.deleted_at, bookings.c.end_date)
sa.Index("ix_warre_reservations_of_lease", bookings.c.lease_id)

# What is noted about each host: its generation, and why it can't be booked. Blazar's column
# ``reservable`` can't be such a mark: Blazar sets it to true again if the host is up and enabled in
# Nova, and it treats a host that isn't reservable as failed, and moves running reservations off it.
host_generations = sa.Table(
    "warre_hosts",
    metadata,
    sa.Column(
        "host_id",
        sa.String(36),
        sa.ForeignKey("computehosts.id", ondelete="CASCADE"),
        primary_key=True,
    ),
    # Increases with every claim on the host.
    sa.Column("generation", sa.Integer, nullable=False),
    # Whether an operator drains the host, so that no flavor:slot reservation is booked on it.
    sa.Column("draining", sa.Boolean, nullable=False, server_default=sa.false()),
    # Who drains the host, since when and why. NULL if nobody does.
    sa.Column("drained_by", string(255)),
    sa.Column("drained_at", sa.DateTime),
    sa.Column("drain_reason", text()),
    # Whether the host has failed and a running reservation was moved off it. Until the
    # reservation's servers are surely gone, no flavor:slot reservation is booked on the host.
    sa.Column("abandoned", sa.Boolean, nullable=False, server_default=sa.false()),
    # Since when Placement has had no resource provider for the host. NULL if it has one.
    sa.Column("missing_since", sa.DateTime),
    # Whether the host has left Nova: it was missing twice in a row, and hasn't come back into the
    # freepool since.
    sa.Column("gone", sa.Boolean, nullable=False, server_default=sa.false()),
)

# What was read of each host: its resource providers in Placement, its zone and its aggregates in
# Nova.
host_providers = sa.Table(
    "warre_host_providers",
    metadata,
    sa.Column(
        "host_id",
        sa.String(36),
        sa.ForeignKey("computehosts.id", ondelete="CASCADE"),
        primary_key=True,
    ),
    # The same for equal trees and aggregates. Each process keeps by digest what it has parsed.
    sa.Column("digest", sa.String(64), nullable=False),
    # The providers as JSON, as domain.hosts.provider_trees.to_text writes them.
    sa.Column("tree", long_text(), nullable=False),
    # What the site's aggregates say of the host, as JSON, as
    # domain.hosts.aggregates.HostAggregates.to_text writes it. NULL as long as Nova hasn't told it.
    sa.Column("aggregates", long_text()),
    # The availability zone. NULL as long as Nova hasn't told it.
    sa.Column("zone", string(255)),
    # When all of this was read. A later reading with the same result isn't written.
    sa.Column("read_at", sa.DateTime, nullable=False),
)

# The generation of each project, which is used for quotas.
project_generations = sa.Table(
    "warre_projects",
    metadata,
    sa.Column("project_id", string(255), primary_key=True),
    # Increases with every claim on the project's quota.
    sa.Column("generation", sa.Integer, nullable=False),
)

# For quota checks. Without this index they would read the leases of all projects.
_leases = _blazar.Lease.__table__.c
sa.Index(
    "ix_warre_leases_usage",
    _leases.project_id,
    _leases.status,
    _leases.start_date,
    _leases.end_date,
)

# For queries of the claims within a span of time. Without this index they would read all leases.
sa.Index("ix_warre_leases_time", _leases.end_date, _leases.start_date, _leases.status)
# For the list of a user's reservations in all projects.
sa.Index("ix_warre_leases_user", _leases.user_id, _leases.start_date)
# For queries of the few leases whose status isn't PENDING, ACTIVE or TERMINATED.
sa.Index("ix_warre_leases_status", _leases.status)
# For queries of events that are due or in progress.
_events = _blazar.Event.__table__.c
sa.Index("ix_warre_events_status", _events.status, _events.time)

# Covering indexes for the resource type and the hosts of reservations. With an index of the foreign
# key alone, the database would look up each row by its primary key, which is a random id.
_reservations = _blazar.Reservation.__table__.c
sa.Index("ix_warre_reservations_lease", _reservations.lease_id, _reservations.resource_type)
_allocations = _blazar.ComputeHostAllocation.__table__.c
sa.Index(
    "ix_warre_allocations_reservation", _allocations.reservation_id, _allocations.compute_host_id
)

# The resource providers on which a booked instance is counted: how much it takes of which class of
# which provider. An instance is a row of Blazar's table of host allocations. Only classes that
# several providers of the host have are listed, because it is clear which provider gives any other.
assignments = sa.Table(
    "warre_assignments",
    metadata,
    sa.Column(
        "allocation_id",
        sa.String(36),
        sa.ForeignKey("computehost_allocations.id", ondelete="CASCADE"),
        primary_key=True,
    ),
    sa.Column("provider_id", sa.String(36), primary_key=True),
    sa.Column("resource_class", sa.String(255), primary_key=True),
    sa.Column("amount", sa.Integer, nullable=False),
)

#: A column of this type holds the values of ``Phase`` as texts, and is read as a ``Phase``.
_PHASE = sa.Enum(Phase, values_callable=list, native_enum=False, length=8)

# The note of each backing: what Nova and Placement may hold for a reservation, and in which phase
# that is.
backings = sa.Table(
    "warre_backings",
    metadata,
    # The reservation whose backing this note is about. There is no foreign key, because the note
    # has to outlive the reservation until everything in Nova and Placement is gone.
    sa.Column("reservation_id", sa.String(36), primary_key=True),
    sa.Column("project_id", string(255), nullable=False),
    sa.Column("aggregate_id", sa.Integer),
    sa.Column("phase", _PHASE, nullable=False),
    # Until this time, a service may still carry out a request that has timed out. So the note stays
    # until then, even if nothing is left of the backing. NULL: there is no such request.
    sa.Column("late_until", sa.DateTime),
    sa.Column("created_at", sa.DateTime, nullable=False),
    sa.Column("nova_flavor", sa.String(36), nullable=False),
    # Whether the aggregate's metadata were written for a confined project.
    sa.Column("made_confined", sa.Boolean, nullable=False, server_default=sa.false()),
    # The groups of the Nova flavor that require the reservation's trait: a list of resource classes
    # by the group's suffix. NULL: none do.
    sa.Column("told", sa.JSON(none_as_null=True)),
    # The other projects that may have access in Nova, and servers, because the reservation is or
    # was shared with them: a list of ids. NULL: none.
    sa.Column("guests", sa.JSON(none_as_null=True)),
    # Whether the Nova flavor of a handle is made before the start.
    sa.Column("shown", sa.Boolean, nullable=False, server_default=sa.false()),
)

# The other projects that may boot on the places of a reservation: domain.running.backing.
# ReservationShare. They end with the note of what the reservation has in Nova.
shares = sa.Table(
    "warre_shares",
    metadata,
    sa.Column("id", sa.String(36), primary_key=True),
    sa.Column(
        "reservation_id",
        sa.String(36),
        sa.ForeignKey("warre_backings.reservation_id", ondelete="CASCADE"),
        nullable=False,
    ),
    sa.Column("project_id", string(64), nullable=False),
    sa.Column("created_at", sa.DateTime, nullable=False),
    sa.UniqueConstraint("reservation_id", "project_id", name="uniq_warre_shares"),
    sa.Index("ix_warre_shares_project", "project_id"),
)

# For queries of the reservations that have the same Nova flavor, because of their handle.
sa.Index("ix_warre_backings_flavor", backings.c.nova_flavor)

# The projects that aggregates of the site name in a key that begins with filter_tenant_id, so that
# Nova may keep their servers on the hosts of these aggregates.
confined_projects = sa.Table(
    "warre_confined_projects",
    metadata,
    sa.Column("project_id", string(255), primary_key=True),
)

# The managers that execute starts and ends. A manager whose last heartbeat is old has died.
managers = sa.Table(
    "warre_managers",
    metadata,
    sa.Column("id", sa.String(36), primary_key=True),
    sa.Column("host", string(255), nullable=False),
    # The time of the last heartbeat, by the database's clock.
    sa.Column("heartbeat", sa.DateTime, nullable=False),
)

# The starts, ends and deletions of leases that a manager has claimed, or that wait for a manager.
executions = sa.Table(
    "warre_executions",
    metadata,
    sa.Column(
        "lease_id",
        sa.String(36),
        sa.ForeignKey("leases.id", ondelete="CASCADE"),
        primary_key=True,
    ),
    # domain.running.execution.START, END or DELETE.
    sa.Column("action", sa.String(16), nullable=False),
    # The manager that has the claim; NULL if the execution waits to be claimed. There is no foreign
    # key, because a claim outlives its manager until another manager releases it.
    sa.Column("manager_id", sa.String(36)),
    # The number of attempts that have failed.
    sa.Column("attempts", sa.Integer, nullable=False),
)

# The managers that work on leases by Blazar's own code. The row is deleted when the lease gets a
# status at which nobody works on it.
lease_workers = sa.Table(
    "warre_lease_workers",
    metadata,
    sa.Column(
        "lease_id",
        sa.String(36),
        sa.ForeignKey("leases.id", ondelete="CASCADE"),
        primary_key=True,
    ),
    # The manager that works on the lease; NULL if its work is over and hasn't written the lease's
    # last status.
    sa.Column("manager_id", sa.String(36)),
    # Identifies the client's request, or the event of Blazar's executor.
    sa.Column("work_id", sa.String(36), nullable=False),
)


# What only one manager does at a time.
turns = sa.Table(
    "warre_turns",
    metadata,
    sa.Column("name", sa.String(64), primary_key=True),
    sa.Column("manager_id", sa.String(36), nullable=False),
    # When the manager has last said that it is at work, by the database's clock.
    sa.Column("taken_at", sa.DateTime, nullable=False),
    # Until when the work is done, for work that is done once for each span of time.
    sa.Column("done_until", sa.DateTime),
)

# By which managers find out that the database is older than Placement: domain.running.mark.Mark. It
# has one row, or none before a manager has run.
marks = sa.Table(
    "warre_marks",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    # Increases about once a minute. Placement has a lower number.
    sa.Column("number", sa.BigInteger, nullable=False),
    # The number in Placement that was higher. NULL: it never was.
    sa.Column("seen", sa.BigInteger),
    # Changes when an operator accepts that the database is an older one.
    sa.Column("lineage", sa.String(36), nullable=False),
)

# Series of reservations: domain.series.series.BookedSeries.
series = sa.Table(
    "warre_series",
    metadata,
    sa.Column("id", sa.String(36), primary_key=True),
    sa.Column("project_id", string(255), nullable=False),
    sa.Column("user_id", sa.String(255), nullable=False),
    sa.Column("flavor_id", string(64), sa.ForeignKey("warre_flavors.id"), nullable=False),
    sa.Column("instance_count", sa.Integer, nullable=False),
    sa.Column("affinity", sa.Boolean),
    sa.Column("name", string(255)),
    sa.Column("note", text()),
    sa.Column("contact", string(255)),
    sa.Column("webhook", text()),
    sa.Column("before_end", sa.String(16)),
    sa.Column("handle", sa.String(64)),
    sa.Column("visible_before_start", sa.Boolean, nullable=False, server_default=sa.false()),
    # The local start of the first occurrence, in the time zone.
    sa.Column("start_date", sa.DateTime, nullable=False),
    sa.Column("timezone", sa.String(64), nullable=False),
    sa.Column("rrule", string(255), nullable=False),
    # The days and starts that the rule leaves out, separated by spaces.
    sa.Column("exdates", text(), nullable=False),
    sa.Column("minutes", sa.Integer, nullable=False),
    sa.Column("all_or_none", sa.Boolean, nullable=False),
    # Increases with each reservation that is booked, so that a booking and whatever else writes
    # the row exclude each other.
    sa.Column("generation", sa.Integer, nullable=False),
    # A value of domain.series.series.SeriesStatus.
    sa.Column("status", sa.String(16), nullable=False),
    # The request that books, or has booked last. Nobody is shown it.
    sa.Column("work_id", sa.String(36), nullable=False),
    sa.Column("ends_running", sa.Boolean, nullable=False),
    # When somebody has ended the series, and who.
    sa.Column("ended_at", sa.DateTime),
    sa.Column("ended_by", sa.String(255)),
    # When somebody has last worked on the series, by the database's clock.
    sa.Column("touched_at", sa.DateTime, nullable=False),
    sa.Column("created_at", sa.DateTime, nullable=False),
)

sa.Index("ix_warre_series_project", series.c.project_id, series.c.created_at)
sa.Index("ix_warre_series_status", series.c.status)

# The occurrences of series that were asked for: domain.series.series.PlannedOccurrence.
occurrences = sa.Table(
    "warre_series_occurrences",
    metadata,
    sa.Column(
        "series_id",
        sa.String(36),
        sa.ForeignKey("warre_series.id", ondelete="CASCADE"),
        primary_key=True,
    ),
    sa.Column("start_date", sa.DateTime, primary_key=True),
    sa.Column("end_date", sa.DateTime, nullable=False),
    # The request that has asked for it.
    sa.Column("work_id", sa.String(36), nullable=False),
    # The reservation that was booked last for it, by its id in Blazar's table. There is no foreign
    # key, because the occurrence outlives the reservation.
    sa.Column("reservation_id", sa.String(36)),
    # Why it couldn't be booked the last time: an error as JSON. NULL: it was booked, or wasn't
    # tried yet.
    sa.Column("refusal", text()),
)

# What projects want to book once there is room for it.
waits = sa.Table(
    "warre_waits",
    metadata,
    # Counts up, so that it says who has waited for longer.
    counted_id("number"),
    # Also the id of the lease that the wait gets. So it can't get two.
    sa.Column("id", sa.String(36), nullable=False, unique=True),
    sa.Column("project_id", sa.String(255), nullable=False),
    sa.Column("user_id", sa.String(255), nullable=False),
    # Either the only flavor, or a category of which any flavor will do.
    sa.Column("flavor_id", string(64)),
    sa.Column("category", string(64)),
    sa.Column("instance_count", sa.Integer, nullable=False),
    sa.Column("minutes", sa.Integer, nullable=False),
    # The time within which the reservation must be.
    sa.Column("earliest", sa.DateTime, nullable=False),
    sa.Column("latest", sa.DateTime, nullable=False),
    # A value of ``domain.waits.Mode``.
    sa.Column("mode", sa.String(8), nullable=False),
    # For the reservation.
    sa.Column("affinity", sa.Boolean),
    sa.Column("before_end", sa.String(16)),
    sa.Column("name", string(255)),
    sa.Column("note", text()),
    sa.Column("contact", string(255)),
    sa.Column("timezone", sa.String(64)),
    sa.Column("webhook", text()),
    sa.Column("created_at", sa.DateTime, nullable=False),
    # The last minute at which it is served.
    sa.Column("expires_at", sa.DateTime, nullable=False),
    # A value of ``domain.waits.WaitState``, and the reason for it.
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("status_reason", text()),
    # What was booked, or told to be free.
    sa.Column("found_flavor_id", string(64)),
    sa.Column("start_date", sa.DateTime),
    sa.Column("end_date", sa.DateTime),
    sa.Column("reservation_id", sa.String(36)),
    # When it was served, or ended otherwise.
    sa.Column("ended_at", sa.DateTime),
    # Who has canceled it.
    sa.Column("ended_by", sa.String(255)),
    # Until when the room that it was told of is kept for its project.
    sa.Column("kept_until", sa.DateTime),
    sa.Index("ix_warre_waits_state", "state", "ended_at"),
    sa.Index("ix_warre_waits_project", "project_id", "state"),
)

# Maintenance windows.
maintenance_windows = sa.Table(
    "warre_windows",
    metadata,
    sa.Column("id", string(64), primary_key=True),
    sa.Column("start_date", sa.DateTime, nullable=False),
    sa.Column("end_date", sa.DateTime, nullable=False),
    sa.Column("note", text()),
    sa.Column("created_at", sa.DateTime, nullable=False),
)

# The flavors that a maintenance window closes.
window_flavors = sa.Table(
    "warre_window_flavors",
    metadata,
    sa.Column(
        "window_id",
        string(64),
        sa.ForeignKey("warre_windows.id", ondelete="CASCADE"),
        primary_key=True,
    ),
    sa.Column(
        "flavor_id",
        string(64),
        sa.ForeignKey("warre_flavors.id", ondelete="CASCADE"),
        primary_key=True,
    ),
)

# The hosts that a maintenance window closes. A window holds each of its hosts as a whole, as a
# physical:host reservation does. So whatever chooses hosts needs no rule of its own about windows:
# the windows are read with the hosts, and a new one increases the generation of each of its hosts.
window_hosts = sa.Table(
    "warre_window_hosts",
    metadata,
    sa.Column(
        "window_id",
        string(64),
        sa.ForeignKey("warre_windows.id", ondelete="CASCADE"),
        primary_key=True,
    ),
    sa.Column(
        "host_id",
        sa.String(36),
        sa.ForeignKey("computehosts.id", ondelete="CASCADE"),
        primary_key=True,
    ),
)
