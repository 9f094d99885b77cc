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


def _string(length: int) -> sa.types.TypeEngine[str]:
    exact = mysql.VARCHAR(length, charset="utf8mb4", collation="utf8mb4_bin")
    return sa.String(length).with_variant(exact, "mysql", "mariadb")


def _text() -> sa.types.TypeEngine[str]:
    exact = mysql.TEXT(charset="utf8mb4", collation="utf8mb4_bin")
    return sa.Text().with_variant(exact, "mysql", "mariadb")


def _long_text() -> sa.types.TypeEngine[str]:
    exact = mysql.MEDIUMTEXT(charset="utf8mb4", collation="utf8mb4_bin")
    return sa.Text().with_variant(exact, "mysql", "mariadb")


#: Marks columns of flavors that are only stored and shown.
TEXT = {"is_text": True}

flavors = sa.Table(
    "warre_flavors",
    metadata,
    sa.Column("id", _string(64), primary_key=True),
    sa.Column("name", _string(64), nullable=False),
    sa.Column("description", _text(), info=TEXT),
    sa.Column("vcpu", sa.Integer, nullable=False),
    sa.Column("memory_mb", sa.Integer, nullable=False),
    sa.Column("disk_gb", sa.Integer, nullable=False),
    sa.Column("ephemeral_gb", sa.Integer, nullable=False),
    sa.Column("extra_specs", sa.JSON, nullable=False),
    # The result of resolving the devices in the extra specs: domain.flavors.devices.Resolved as
    # JSON. NULL if the extra specs name no devices, or if the devices were never resolved.
    sa.Column("device_groups", sa.JSON(none_as_null=True)),
    sa.Column("properties", _text()),
    sa.Column("availability_zone", _string(255)),
    sa.Column("slots", sa.Integer, nullable=False),
    sa.Column("max_length_hours", sa.Integer, nullable=False),
    sa.Column("start_date", sa.DateTime),
    sa.Column("end_date", sa.DateTime),
    sa.Column("category", _string(64), info=TEXT),
    # The fair terms. NULL: the flavor doesn't have the term.
    sa.Column("max_days_ahead", sa.Integer),
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
    # Increases with every claim on the flavor's slots and with every change of the flavor.
    sa.Column("generation", sa.Integer, nullable=False),
    # Empty for a flavor that exists, and the flavor's own id for a deleted flavor. A deleted flavor
    # keeps its row, because old reservations may refer to it.
    sa.Column("deleted", _string(64), nullable=False),
    sa.Column("created_at", sa.DateTime, nullable=False),
)

# Names don't have to be unique.
sa.Index("ix_warre_flavors_name", flavors.c.name)

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

bookings = sa.Table(
    "warre_reservations",
    metadata,
    sa.Column("id", _string(64), primary_key=True),
    # The reservation in Blazar's table. When Blazar's row is deleted, this row is deleted too,
    # which frees the slots.
    sa.Column(
        "reservation_id",
        sa.String(36),
        sa.ForeignKey("reservations.id", ondelete="CASCADE"),
        nullable=False,
        unique=True,
    ),
    sa.Column("flavor_id", _string(64), sa.ForeignKey("warre_flavors.id"), nullable=False),
    sa.Column("instance_count", sa.Integer, nullable=False),
    # The name that users give the reservation. It needn't be unique.
    sa.Column("name", _string(255)),
    sa.Column("note", _text()),
    # The email address that messages go to. NULL: they go to the user.
    sa.Column("contact", _string(255)),
    # The time zone in which messages also show times. NULL: in UTC only.
    sa.Column("timezone", sa.String(64)),
    # What was chosen to be done with the servers before the end. NULL: what the flavor says.
    sa.Column("before_end", sa.String(16)),
    # The series of which the reservation is an occurrence, and the request that has booked it.
    # There is no foreign key, because a reservation outlives a series that was undone.
    sa.Column("series_id", sa.String(36)),
    sa.Column("series_work", sa.String(36)),
    # By how many hours maintenance may move the start to a later time.
    sa.Column("movable_hours", sa.Integer, nullable=False, server_default="0"),
    # The shape that was booked: domain.flavors.flavor.Shape as JSON.
    sa.Column("shape", _text(), nullable=False),
    # The promise: the new time that the plugin has agreed to. It is claimed in addition to the
    # lease's own time. Blazar writes a lease's new dates only after every plugin has agreed. NULL
    # if there is no promise.
    sa.Column("claim_start", sa.DateTime),
    sa.Column("claim_end", sa.DateTime),
    # When the promise was made, by the database's clock.
    sa.Column("promised_at", sa.DateTime),
    sa.Column("status_reason", _text()),
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
    sa.Column("look_error", _text()),
)

sa.Index("ix_warre_reservations_name", bookings.c.name)
sa.Index("ix_warre_reservations_series", bookings.c.series_id)
# For queries of the few reservations that have a promise.
sa.Index("ix_warre_reservations_claim", bookings.c.claim_end, bookings.c.claim_start)

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
    sa.Column("drained_by", _string(255)),
    sa.Column("drained_at", sa.DateTime),
    sa.Column("drain_reason", _text()),
    # Whether the host has failed and a running reservation was moved off it. Until the
    # reservation's servers are surely gone, no flavor:slot reservation is booked on the host.
    sa.Column("abandoned", sa.Boolean, nullable=False, server_default=sa.false()),
)

# What was read of each host: its resource providers in Placement, and its zone in Nova.
host_providers = sa.Table(
    "warre_host_providers",
    metadata,
    sa.Column(
        "host_id",
        sa.String(36),
        sa.ForeignKey("computehosts.id", ondelete="CASCADE"),
        primary_key=True,
    ),
    # domain.hosts.provider_trees.digest of the tree. Each process keeps parsed trees by digest.
    sa.Column("digest", sa.String(64), nullable=False),
    # The providers as JSON, as domain.hosts.provider_trees.to_text writes them.
    sa.Column("tree", _long_text(), nullable=False),
    # The availability zone. NULL as long as Nova hasn't told it.
    sa.Column("zone", _string(255)),
    # When the tree and the zone were read. A later reading with the same result isn't written.
    sa.Column("read_at", sa.DateTime, nullable=False),
)

project_generations = sa.Table(
    "warre_projects",
    metadata,
    sa.Column("project_id", _string(255), primary_key=True),
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

#: A column of this type holds the values of ``Phase`` as texts, and is read as a ``Phase``.
_PHASE = sa.Enum(Phase, values_callable=list, native_enum=False, length=8)

backings = sa.Table(
    "warre_backings",
    metadata,
    # The reservation whose backing this note is about. There is no foreign key, because the note
    # has to outlive the reservation until everything in Nova and Placement is gone.
    sa.Column("reservation_id", sa.String(36), primary_key=True),
    sa.Column("project_id", _string(255), nullable=False),
    sa.Column("aggregate_id", sa.Integer),
    sa.Column("phase", _PHASE, nullable=False),
    # Until this time, a service may still carry out a request that has timed out. So the note stays
    # until then, even if nothing is left of the backing. NULL: there is no such request.
    sa.Column("late_until", sa.DateTime),
    sa.Column("created_at", sa.DateTime, nullable=False),
    # The id of the Nova flavor, if another service has made it. NULL: the id is derived from the
    # reservation's id (``domain.running.backing_names.nova_flavor``).
    sa.Column("nova_flavor", sa.String(36)),
)

# The managers that execute starts and ends. A manager whose last heartbeat is old has died.
managers = sa.Table(
    "warre_managers",
    metadata,
    sa.Column("id", sa.String(36), primary_key=True),
    sa.Column("host", _string(255), nullable=False),
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

# Reservations that aren't in Blazar's tables: deleted reservations, and reservations that had ended
# before they were imported from Warre.
history = sa.Table(
    "warre_history",
    metadata,
    sa.Column("id", _string(64), primary_key=True),
    # The ids that Blazar's reservation and lease had.
    sa.Column("reservation_id", sa.String(36)),
    sa.Column("lease_id", sa.String(64)),
    sa.Column("flavor_id", _string(64), sa.ForeignKey("warre_flavors.id"), nullable=False),
    sa.Column("instance_count", sa.Integer, nullable=False),
    sa.Column("affinity", sa.Boolean),
    sa.Column("name", _string(255)),
    sa.Column("note", _text()),
    sa.Column("contact", _string(255)),
    sa.Column("timezone", sa.String(64)),
    # What was chosen to be done with the servers before the end. NULL: what the flavor says.
    sa.Column("before_end", sa.String(16)),
    sa.Column("series_id", sa.String(36)),
    sa.Column("shape", _text(), nullable=False),
    sa.Column("start_date", sa.DateTime, nullable=False),
    sa.Column("end_date", sa.DateTime, nullable=False),
    # The same type as in Blazar's leases, so that a listing can sort the rows of both tables
    # together.
    sa.Column("project_id", sa.String(255)),
    sa.Column("user_id", sa.String(255)),
    # The reservation's last state: the state that it had when it was deleted or imported.
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("status_reason", _text()),
    sa.Column("compute_flavor", _string(64)),
    sa.Column("created_at", sa.DateTime, nullable=False),
    # NULL if the reservation has ended and nobody has deleted it.
    sa.Column("deleted_at", sa.DateTime),
    # NULL if no user requested the deletion.
    sa.Column("deleted_by", sa.String(255)),
)

sa.Index("ix_warre_history_project", history.c.project_id, history.c.start_date)
sa.Index("ix_warre_history_end", history.c.end_date)
sa.Index("ix_warre_history_series", history.c.series_id)

# What ``warre-blazar-manage import-warre`` has imported, so that the import can be undone.
imported = sa.Table(
    "warre_imported",
    metadata,
    # The kinds are in warre_import.writing.
    sa.Column("kind", sa.String(16), primary_key=True),
    sa.Column("id", _string(64), primary_key=True),
    # The values that Blazar's rows had before the import, as JSON. NULL if the import has added
    # rows and changed none.
    sa.Column("before", _text()),
    # A digest of all rows of the thing, as the import left them. NULL for things that aren't sealed
    # (``warre_import.seals.SEALED``).
    sa.Column("after", sa.String(64)),
)

# The snapshots that are made of servers before their reservation ends:
# domain.running.snapshots.ServerSnapshot.
snapshots = sa.Table(
    "warre_snapshots",
    metadata,
    # The id of Blazar's reservation. It isn't a foreign key, because snapshots are kept as long as
    # the reservation's record.
    sa.Column("reservation_id", sa.String(36), primary_key=True),
    # Empty if the reservation's servers couldn't be found.
    sa.Column("server_id", sa.String(36), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("project_id", _string(255), nullable=False),
    sa.Column("server_name", _string(255)),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("at", sa.DateTime, nullable=False),
    sa.Column("image_id", sa.String(36)),
    sa.Column("error", _text()),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("next_at", sa.DateTime),
    # Whether a notice has told what became of it.
    sa.Column("told", sa.Boolean, nullable=False),
)

sa.Index("ix_warre_snapshots_told", snapshots.c.told, snapshots.c.status)
sa.Index("ix_warre_snapshots_next", snapshots.c.next_at)

# The changes of reservations. A reservation's creation and deletion aren't here: its own row or its
# record has them.
changes = sa.Table(
    "warre_changes",
    metadata,
    sa.Column(
        "id",
        sa.BigInteger().with_variant(sa.Integer, "sqlite"),
        primary_key=True,
        autoincrement=True,
    ),
    # The id of Blazar's reservation. It isn't a foreign key, because changes are kept as long as
    # the reservation's record.
    sa.Column("reservation_id", sa.String(36), nullable=False),
    sa.Column("at", sa.DateTime, nullable=False),
    # NULL if no user asked for the change.
    sa.Column("user_id", sa.String(255)),
    # A kind of ``domain.records.changes``.
    sa.Column("kind", sa.String(16), nullable=False),
    # The changed values before and after the change, as JSON objects. NULL if the kind says all.
    sa.Column("before", _text()),
    sa.Column("after", _text()),
)

sa.Index("ix_warre_changes_reservation", changes.c.reservation_id, changes.c.id)
sa.Index("ix_warre_changes_at", changes.c.at)

# The channels by which managers tell what has happened. A notice is written once for each channel.
channels = sa.Table(
    "warre_channels",
    metadata,
    sa.Column("name", sa.String(64), primary_key=True),
    # Whether the channel gets the notices that bills are made from.
    sa.Column("billing", sa.Boolean, nullable=False),
)

# The notices that a channel hasn't sent yet. A notice is written in the transaction that makes the
# change, and deleted when it is sent.
outbox = sa.Table(
    "warre_outbox",
    metadata,
    sa.Column(
        "id",
        sa.BigInteger().with_variant(sa.Integer, "sqlite"),
        primary_key=True,
        autoincrement=True,
    ),
    sa.Column("channel", sa.String(64), nullable=False),
    # What the notice is about: the id of Blazar's reservation or of a lease. A channel sends the
    # notices about one subject in order.
    sa.Column("subject", sa.String(36), nullable=False),
    # A kind of ``domain.messages.notices``.
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("at", sa.DateTime, nullable=False),
    # The user who asked for the change. NULL if no user did.
    sa.Column("user_id", sa.String(255)),
    sa.Column("project_id", sa.String(255)),
    # The reservation as it was then, and what has changed: domain.messages.notices.Notice as JSON.
    # For notices about leases it is the payload of Blazar's notification.
    sa.Column("content", _long_text(), nullable=False),
    # The number of attempts that have failed, and when the next attempt is due. NULL: at once.
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("next_at", sa.DateTime),
    # When the channel gave up sending the notice, and the last error.
    sa.Column("given_up_at", sa.DateTime),
    sa.Column("error", _text()),
)

sa.Index("ix_warre_outbox_channel", outbox.c.channel, outbox.c.given_up_at, outbox.c.id)
sa.Index("ix_warre_outbox_subject", outbox.c.channel, outbox.c.subject, outbox.c.id)

# How long the instances of reservations had servers, as sampled in Nova. There is no foreign key,
# because the sums are kept as long as the reservation's record.
usage = sa.Table(
    "warre_usage",
    metadata,
    # The id of Blazar's reservation, and a day in UTC.
    sa.Column("reservation_id", sa.String(36), primary_key=True),
    sa.Column("day", sa.Date, primary_key=True),
    # The sum of the seconds for which each instance had a server.
    sa.Column("used_seconds", sa.BigInteger, nullable=False),
    # The last sample of this day that has found a server.
    sa.Column("used_at", sa.DateTime, nullable=False),
)

# The requests to book or to change a reservation that a rule has refused.
refusals = sa.Table(
    "warre_refusals",
    metadata,
    sa.Column(
        "id",
        sa.BigInteger().with_variant(sa.Integer, "sqlite"),
        primary_key=True,
        autoincrement=True,
    ),
    sa.Column("at", sa.DateTime, nullable=False),
    sa.Column("project_id", _string(255), nullable=False),
    sa.Column("user_id", _string(255)),
    # The code of the error that the user got.
    sa.Column("code", sa.String(64), nullable=False),
    # What was asked for. The flavor is NULL if the request's flavor isn't known; the reservation is
    # the one to change, or NULL if the request was a booking.
    sa.Column("flavor_id", _string(64)),
    sa.Column("reservation_id", sa.String(36)),
    sa.Column("instance_count", sa.Integer, nullable=False),
    sa.Column("start_date", sa.DateTime, nullable=False),
    sa.Column("end_date", sa.DateTime, nullable=False),
)

sa.Index("ix_warre_refusals_project", refusals.c.project_id, refusals.c.at)
sa.Index("ix_warre_refusals_at", refusals.c.at)

# How many requests of each project were refused on each day in UTC.
refusal_counts = sa.Table(
    "warre_refusal_counts",
    metadata,
    sa.Column("project_id", _string(255), primary_key=True),
    sa.Column("day", sa.Date, primary_key=True),
    # The code of the error, or db.records.refusals.ANY for all codes together.
    sa.Column("code", sa.String(64), primary_key=True),
    sa.Column("number", sa.Integer, nullable=False),
    # How many of them are in warre_refusals.
    sa.Column("kept", sa.Integer, nullable=False),
)

sa.Index("ix_warre_refusal_counts_day", refusal_counts.c.day)

# Whether users get messages about their reservations. A user without a row gets them.
message_settings = sa.Table(
    "warre_message_settings",
    metadata,
    sa.Column("user_id", sa.String(255), primary_key=True),
    sa.Column("enabled", sa.Boolean, nullable=False),
)

# The mailboxes whose owners have stopped messages about the reservations of others.
stopped_addresses = sa.Table(
    "warre_stopped_addresses",
    metadata,
    sa.Column("address", _string(255), primary_key=True),
    sa.Column("stopped_at", sa.DateTime, nullable=False),
)

# How many messages a channel has sent to a mailbox in the hour that begins at this time.
message_counts = sa.Table(
    "warre_message_counts",
    metadata,
    sa.Column("channel", sa.String(64), primary_key=True),
    sa.Column("address", _string(255), primary_key=True),
    sa.Column("hour", sa.DateTime, primary_key=True),
    sa.Column("sent", sa.Integer, nullable=False),
)

# Keys with which this package signs. The managers and the API share them.
secrets = sa.Table(
    "warre_secrets",
    metadata,
    sa.Column("name", sa.String(64), primary_key=True),
    # 32 random bytes, in hexadecimal digits.
    sa.Column("value", sa.String(64), nullable=False),
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

# How often things have happened that metrics count. Whoever counts something adds a row, so that
# nobody waits for anybody. Later, the rows of the same name and label are replaced by their sum.
tallies = sa.Table(
    "warre_tallies",
    metadata,
    sa.Column(
        "id",
        sa.BigInteger().with_variant(sa.Integer, "sqlite"),
        primary_key=True,
        autoincrement=True,
    ),
    # A value of ``domain.records.tallies.Name``.
    sa.Column("name", sa.String(32), nullable=False),
    sa.Column("label", sa.String(64), nullable=False),
    sa.Column("count", sa.BigInteger, nullable=False),
    # The sum of the measured values, such as seconds. 0 if nothing was measured.
    sa.Column("total", sa.Double, nullable=False),
)

# The keys with which clients mark requests that create something, so that a repeated request
# creates nothing again. A row is deleted after a day.
idempotency_keys = sa.Table(
    "warre_idempotency_keys",
    metadata,
    # A digest of the user's id and the key.
    sa.Column("id", sa.String(64), primary_key=True),
    # A digest of the request.
    sa.Column("request", sa.String(64), nullable=False),
    # The id for the item that the request creates. For a reservation it is the lease's id.
    sa.Column("item_id", sa.String(36), nullable=False),
    sa.Column("created_at", sa.DateTime, nullable=False),
)

sa.Index("ix_warre_idempotency_keys_created", idempotency_keys.c.created_at)

# Series of reservations: domain.series.series.BookedSeries.
series = sa.Table(
    "warre_series",
    metadata,
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
    # The local start of the first occurrence, in the time zone.
    sa.Column("start_date", sa.DateTime, nullable=False),
    sa.Column("timezone", sa.String(64), nullable=False),
    sa.Column("rrule", _string(255), nullable=False),
    sa.Column("minutes", sa.Integer, nullable=False),
    sa.Column("all_or_none", sa.Boolean, nullable=False),
    # How many occurrences of the rule were asked for, without and with those of the request that
    # is being fulfilled.
    sa.Column("planned", sa.Integer, nullable=False),
    sa.Column("tried", sa.Integer, nullable=False),
    # Increases with each reservation that is booked, so that a booking and whatever else writes
    # the row exclude each other.
    sa.Column("generation", sa.Integer, nullable=False),
    # A value of domain.series.series.SeriesStatus.
    sa.Column("status", sa.String(16), nullable=False),
    # The request that books, or has booked last. Nobody is shown it.
    sa.Column("work_id", sa.String(36), nullable=False),
    sa.Column("ends_running", sa.Boolean, nullable=False),
    # When somebody has last worked on the series, by the database's clock.
    sa.Column("touched_at", sa.DateTime, nullable=False),
    sa.Column("created_at", sa.DateTime, nullable=False),
)

sa.Index("ix_warre_series_project", series.c.project_id, series.c.created_at)
sa.Index("ix_warre_series_status", series.c.status)

# What projects want to book once there is room for it.
waits = sa.Table(
    "warre_waits",
    metadata,
    # Counts up, so that it says who has waited for longer.
    sa.Column(
        "number",
        sa.BigInteger().with_variant(sa.Integer, "sqlite"),
        primary_key=True,
        autoincrement=True,
    ),
    # Also the id of the lease that the wait gets. So it can't get two.
    sa.Column("id", sa.String(36), nullable=False, unique=True),
    sa.Column("project_id", sa.String(255), nullable=False),
    sa.Column("user_id", sa.String(255), nullable=False),
    # Either the only flavor, or a category of which any flavor will do.
    sa.Column("flavor_id", _string(64)),
    sa.Column("category", _string(64)),
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
    sa.Column("name", _string(255)),
    sa.Column("note", _text()),
    sa.Column("contact", _string(255)),
    sa.Column("timezone", sa.String(64)),
    sa.Column("created_at", sa.DateTime, nullable=False),
    # The last minute at which it is served.
    sa.Column("expires_at", sa.DateTime, nullable=False),
    # A value of ``domain.waits.WaitState``, and the reason for it.
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("status_reason", _text()),
    # What was booked, or told to be free.
    sa.Column("found_flavor_id", _string(64)),
    sa.Column("start_date", sa.DateTime),
    sa.Column("end_date", sa.DateTime),
    sa.Column("reservation_id", sa.String(36)),
    # When it was served, or ended otherwise.
    sa.Column("ended_at", sa.DateTime),
    sa.Index("ix_warre_waits_state", "state", "ended_at"),
    sa.Index("ix_warre_waits_project", "project_id", "state"),
)

maintenance_windows = sa.Table(
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

# The hosts that a maintenance window closes. The windows that overlap a booking are read with the
# hosts, and a new window increases the generation of each of its hosts.
window_hosts = sa.Table(
    "warre_window_hosts",
    metadata,
    sa.Column(
        "window_id",
        _string(64),
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

# The report of the last audit, as JSON. It has one row.
audits = sa.Table(
    "warre_audits",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("finished_at", sa.DateTime, nullable=False),
    sa.Column("report", _long_text(), nullable=False),
)
