"""This package's tables of what has happened, and of who is told."""

import sqlalchemy as sa

from warre_blazar.db.models import counted_id, long_text, metadata, string, text

# What ``warre-blazar-manage import-warre`` has imported, so that the import can be undone.
imported = sa.Table(
    "warre_imported",
    metadata,
    # The kinds are in warre_import.writing.
    sa.Column("kind", sa.String(16), primary_key=True),
    sa.Column("id", string(64), primary_key=True),
    # The values that Blazar's rows had before the import, as JSON. NULL if the import has added
    # rows and changed none.
    sa.Column("before", text()),
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
    sa.Column("project_id", string(255), nullable=False),
    sa.Column("server_name", string(255)),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("at", sa.DateTime, nullable=False),
    sa.Column("image_id", sa.String(36)),
    sa.Column("error", text()),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("next_at", sa.DateTime),
    # Whether a notice has told what became of it.
    sa.Column("told", sa.Boolean, nullable=False),
)

sa.Index("ix_warre_snapshots_told", snapshots.c.told, snapshots.c.status)
sa.Index("ix_warre_snapshots_next", snapshots.c.next_at)

# What has happened, to reservations above all. The entries that ``is_logged`` are the reservations'
# log: without their creation and deletion, which their own rows have. All others are only told,
# except the accounts of leases that a credits service charges (``db.credits``).
log_entries = sa.Table(
    "warre_log",
    metadata,
    counted_id("id"),
    # What the entry is about: the id of Blazar's reservation, of a lease or of a wait. It isn't a
    # foreign key, because the log is kept as long as the reservation's row.
    sa.Column("subject", sa.String(36), nullable=False),
    # A kind of ``domain.records.changes`` or of ``domain.messages.notices``.
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("at", sa.DateTime, nullable=False),
    # The user who asked for it. NULL if no user did.
    sa.Column("user_id", sa.String(255)),
    sa.Column("project_id", sa.String(255)),
    # The changed values before and after a change, as JSON objects. NULL if the kind says all.
    sa.Column("before", text()),
    sa.Column("after", text()),
    sa.Column("is_logged", sa.Boolean, nullable=False),
    # How far it is told: a value of ``db.messages.outbox.Telling``. NULL: nobody has to be told any
    # more. It is a mark of the entry and not the last id of a channel, because transactions don't
    # commit in the order of the ids that they write.
    sa.Column("telling", sa.String(8)),
    # The reservation as it was then: domain.messages.notices.Notice as JSON. NULL: nobody has to be
    # told any more. For entries about leases it is the payload of Blazar's notification.
    sa.Column("content", long_text()),
)

sa.Index("ix_warre_log_subject", log_entries.c.subject, log_entries.c.id)
sa.Index("ix_warre_log_at", log_entries.c.at)
sa.Index("ix_warre_log_telling", log_entries.c.telling, log_entries.c.id)

# The channels by which managers tell what has happened.
channels = sa.Table(
    "warre_channels",
    metadata,
    sa.Column("name", sa.String(64), primary_key=True),
    # Whether the channel gets the notices that bills are made from.
    sa.Column("billing", sa.Boolean, nullable=False),
)

# The notices that a channel hasn't sent yet: one for each entry of the log and each channel. A
# manager writes it soon after the entry, and deletes it when it is sent.
deliveries = sa.Table(
    "warre_deliveries",
    metadata,
    counted_id("id"),
    sa.Column("channel", sa.String(64), nullable=False),
    sa.Column("entry_id", sa.BigInteger, nullable=False),
    # The same as the entry has. A channel sends the notices about one subject in order, and lets
    # projects take turns.
    sa.Column("subject", sa.String(36), nullable=False),
    sa.Column("project_id", sa.String(255)),
    sa.Column("at", sa.DateTime, nullable=False),
    # The number of attempts that have failed, and when the next attempt is due. NULL: at once.
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("next_at", sa.DateTime),
    # When the channel gave up sending the notice, and the last error.
    sa.Column("given_up_at", sa.DateTime),
    sa.Column("error", text()),
)

_deliveries = deliveries.c
sa.Index(
    "ix_warre_deliveries_channel", _deliveries.channel, _deliveries.given_up_at, _deliveries.id
)
sa.Index("ix_warre_deliveries_subject", _deliveries.channel, _deliveries.subject, _deliveries.id)
sa.Index("ix_warre_deliveries_entry", _deliveries.entry_id)

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
    counted_id("id"),
    sa.Column("at", sa.DateTime, nullable=False),
    sa.Column("project_id", string(255), nullable=False),
    sa.Column("user_id", string(255)),
    # The code of the error that the user got.
    sa.Column("code", sa.String(64), nullable=False),
    # What was asked for. The flavor is NULL if the request's flavor isn't known; the reservation is
    # the one to change, or NULL if the request was a booking.
    sa.Column("flavor_id", string(64)),
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
    sa.Column("project_id", string(255), primary_key=True),
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
    sa.Column("address", string(255), primary_key=True),
    sa.Column("stopped_at", sa.DateTime, nullable=False),
)

# The addresses at which calendar programs read a project's reservations.
calendars = sa.Table(
    "warre_calendars",
    metadata,
    sa.Column("id", sa.String(36), primary_key=True),
    # The name that calendar programs show.
    sa.Column("name", string(255), nullable=False),
    sa.Column("project_id", sa.String(255), nullable=False),
    sa.Column("user_id", sa.String(255), nullable=False),
    sa.Column("created_at", sa.DateTime, nullable=False),
    sa.UniqueConstraint("user_id", "project_id", name="uniq_warre_calendars"),
)

# How many messages a channel has sent to a mailbox in the hour that begins at this time.
message_counts = sa.Table(
    "warre_message_counts",
    metadata,
    sa.Column("channel", sa.String(64), primary_key=True),
    sa.Column("address", string(255), primary_key=True),
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

# How often things have happened that metrics count. Whoever counts something adds a row, so that
# nobody waits for anybody. Later, the rows of the same name and label are replaced by their sum.
tallies = sa.Table(
    "warre_tallies",
    metadata,
    counted_id("id"),
    # A value of ``domain.records.tallies.Name``.
    sa.Column("name", sa.String(32), nullable=False),
    sa.Column("label", sa.String(64), nullable=False),
    sa.Column("count", sa.BigInteger, nullable=False),
    # The sum of the measured values, such as seconds. 0 if nothing was measured.
    sa.Column("total", sa.Double, nullable=False),
)

# The report of the last audit, as JSON. It has one row.
audits = sa.Table(
    "warre_audits",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("finished_at", sa.DateTime, nullable=False),
    sa.Column("report", long_text(), nullable=False),
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
