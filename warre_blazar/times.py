"""Every time that the server waits, remembers or looks ahead: one table, which the manual prints.

A number is a number of seconds, unless its name ends in another unit. The comment of each time says
what waits for it and, in fields, what happens if it is longer or shorter. The field ``option``
names the option whose default it is; a site changes the time there. All other times are fixed.

Times that must fit together are derived from each other. ``tests/unit/test_times.py`` shows the
relations that can't be written so.
"""

import datetime
import math

# Units

#: The resolution of the times in the database.
SECOND = datetime.timedelta(seconds=1)
#: Reservations start and end at full minutes. So a moment that is looked at lasts a minute.
MINUTE = datetime.timedelta(minutes=1)
#: Quotas, prices and lengths of reservations are in hours.
HOUR = datetime.timedelta(hours=1)
#: Flavors say in days how far ahead they can be booked.
DAY = datetime.timedelta(days=1)
#: No time at all.
NO_TIME = datetime.timedelta(0)

# Requests to other services

#: A request to Keystone, Nova or Placement waits this long for its answer.
#: :longer: A service that hangs blocks threads of the API and of managers longer.
#: :shorter: A busy service counts as unavailable, and starts and ends are tried again later.
#: :option: ``[warre] request_timeout``
REQUEST_TIMEOUT = MINUTE
#: A request to Keystone about a user or a project waits this long for its answer.
#: :longer: If Keystone hangs, users wait longer for a refusal, and messages hold up others longer.
#: :shorter: If Keystone is only slow, bookings for other projects, contacts and waits are refused,
#:     and messages come later.
PEOPLE_TIMEOUT = 5
#: The upgrade check waits this long for the answer of the public endpoint.
#: :longer: The check takes longer if the endpoint hangs.
#: :shorter: An endpoint that is only slow is reported as unreachable.
ENDPOINT_TIMEOUT = 10.0
#: An import waits this long for the connection to Warre's database.
#: :longer: A wrong address is noticed later.
#: :shorter: An import from a database that is far away may fail.
WARRE_CONNECT_TIMEOUT = 10
#: The API remembers this long whether Keystone has a project.
#: :longer: A project that was deleted can be named longer in requests.
#: :shorter: Keystone gets more requests.
PROJECT_KNOWN_FOR = 60.0
#: The API remembers a user's address in Keystone this long.
#: :longer: A user who has a new address can't name it as a contact until this time is over.
#: :shorter: Keystone gets more requests.
USER_KNOWN_FOR = 300.0
#: For a new wait, the API uses what Keystone has said about the user in the last seconds.
#: :longer: A user who was just disabled can still make a wait.
#: :shorter: Keystone is asked twice about the same user in one request.
USER_JUST_READ = 5.0
#: The API answers with a calendar that programs subscribe to from memory for this long.
#: :longer: Calendars show changes later, and the owner of an address who has lost the role can read
#:     the calendar for longer.
#: :shorter: A program that asks all the time costs more requests to Keystone and the database.
CALENDAR_KEPT = 60.0
#: The limits of a project are remembered this long. If such limits refuse a booking, Keystone is
#: asked again before the answer.
#: :longer: A lowered limit takes longer to have an effect.
#: :shorter: Keystone gets more requests.
LIMITS_CACHED_FOR = 30.0

#: A request to the credits service waits this long for the connection, and again for its answer.
#: :longer: If the service hangs, users wait longer for their booking or its refusal. A booking
#:     sends up to three requests, and is answered within ``[DEFAULT] rpc_response_timeout``.
#: :shorter: A service that is only slow counts as away.
#: :option: ``[enforcement] credits_timeout``
CREDITS_TIMEOUT = 10 * SECOND
#: The largest value in the option ``credits_timeout``.
#: :longer: A booking takes longer than its user is answered.
#: :shorter: Sites with a slow service can't wait for it.
CREDITS_TIMEOUT_LIMIT = MINUTE

# Requests to the API

#: The API waits this long until it can read what a manager has written. In a Galera cluster, the
#: API's node may be behind the manager's.
#: :longer: If a node lags, users wait longer for an answer that doesn't tell the outcome.
#: :shorter: More answers say that the outcome isn't known.
SEEN_WITHIN = 5.0
#: A repeated request with an idempotency key waits this long for the first one to create its lease.
#: :longer: A client that repeats a request waits longer.
#: :shorter: The repetition is told that nothing is there yet, and has to be sent again.
CREATED_WITHIN = 20.0
#: The pause between two looks of a request that waits for a manager.
#: :longer: Users wait longer than necessary.
#: :shorter: The database gets more queries.
PROBED_EVERY = 0.5
#: If a process serves one request at a time, a request waits at most this long for a manager.
#: :longer: A slow manager blocks all other users of the process longer.
#: :shorter: More users get the answer that the manager is still at work.
LONE_THREAD_WAIT = 5
#: An answer with the status 503 tells the client to repeat the request after this time.
#: :longer: Clients come back later than necessary.
#: :shorter: Clients that repeat keep a service busy that is unavailable.
RETRY_AFTER = 5
#: A dry run of a series, or a change of a maintenance window, waits this long for the lock of
#: long computations. Then it is refused, and can be repeated. Even if all 16 threads of a usual
#: process ask at once, the last one gets the lock.
#: :longer: Threads that wait can't serve other requests.
#: :shorter: More of these requests are refused at busy times.
LONG_REQUEST_WAIT = 20.0
#: An idempotency key is kept this long. Afterwards it stands for a new request.
#: :longer: The table of keys grows.
#: :shorter: A late repetition of a request books once more.
KEYS_KEPT = DAY
#: How often each manager deletes old idempotency keys.
#: :longer: Keys are kept a little longer.
#: :shorter: Managers search for old keys more often.
KEYS_DELETED_EVERY = 3600
#: A thread waits this long for a lock, for example to compute a list, or to ask Keystone for the
#: limits that another thread is asking for. Then it goes on without the lock. These locks only save
#: work.
#: :longer: One request that hangs stops other threads longer.
#: :shorter: More threads compute at the same time, and bookings take longer.
THREAD_LOCK_WAIT = 5.0

# What queries are about

#: The time in which free slots of a flavor are searched, if the query has no end.
#: :longer: The search takes longer.
#: :shorter: Users don't see free times that are later.
FREE_SLOTS_LENGTH = 365 * DAY
#: The searches for the next free time, for what a dry run could book instead, and for the longest
#: extension look this far beyond the wanted time.
#: :longer: The search takes longer.
#: :shorter: Fully booked flavors have no next free time to offer.
LOOK_AHEAD = 365 * DAY
#: How far from now the weekly hours of a flavor are computed. Reservations that must lie within
#: them end before.
#: :longer: A search for free slots over many years takes longer.
#: :shorter: Long reservations can't be made so far ahead.
WEEKLY_HOURS_KNOWN_FOR = 5 * LOOK_AHEAD
#: The time for which a flavor's capacity is shown, if the query has no end.
#: :longer: Answers get longer.
#: :shorter: Callers must name an end more often.
CAPACITY_LENGTH = 30 * DAY
#: The time for which hosts are listed, if the query has no end.
#: :longer: Answers get longer, with more reservations of each host.
#: :shorter: Operators must name an end more often.
HOSTS_LENGTH = 7 * DAY
#: The time in which offers are searched, if the query has no end.
#: :longer: The search takes longer.
#: :shorter: Users don't see offers that are later.
OFFERS_LENGTH = 90 * DAY
#: An offer is at least this long, if the query doesn't say how long the reservation must be. If
#: nothing as long as the query wants is free, the answer shows shorter offers down to this length.
#: :longer: Short gaps aren't offered.
#: :shorter: Answers fill with gaps that nobody needs.
SHORTEST_OFFER = HOUR
#: The time for which availability is counted, if the query has no end.
#: :longer: Answers get longer.
#: :shorter: Callers must name an end more often.
AVAILABILITY_LENGTH = 14 * DAY
#: The parts into which availability divides the time, if the query doesn't say.
#: :longer: Answers are shorter and coarser.
#: :shorter: Answers are longer.
AVAILABILITY_PART = DAY
#: The longest time whose usage can be asked for. By day, the answer has a row for each day.
#: :longer: One request can keep a process busy longer.
#: :shorter: Long reports need several requests.
USAGE_LENGTH_LIMIT = 3660 * DAY
#: What is held on a host this long before and after a booking decides which host the booking gets.
#: :longer: Choosing hosts reads more reservations.
#: :shorter: Hosts are filled with smaller gaps between reservations.
HOST_CHOICE_MARGIN = DAY

#: A process reads again what is booked on a host after at most this many seconds, even if it knows
#: of no change. So rows that somebody has written by hand are seen.
#: :longer: Rows that were written by hand are seen later.
#: :shorter: Decisions read more.
HOST_KEPT_FOR = 600

#: The answer about a reservation waits this long for Nova to tell the project's quota. Bookings and
#: changes don't wait for it at all.
#: :longer: Reservations are shown later if Nova is slow.
#: :shorter: The warning of a quota that is too small is missing more often.
NOVA_QUOTA_WAIT = 0.5
#: Nova is asked for a project's quota at most once in this time, in each process of the API.
#: :longer: A warning stays longer after the quota was raised.
#: :shorter: Nova gets more requests from clients that show a reservation again and again.
NOVA_QUOTA_KEPT = 20

# Heartbeats of managers

#: How often a manager writes its heartbeat and reads the database's clock.
#: :longer: Managers notice later that the clock was set, or that the database is away.
#: :shorter: The database gets more writes.
BEAT_EVERY = 1
#: A manager whose last heartbeat is older counts as dead. Other managers take over its work, and
#: requests are refused if no manager lives.
#: :longer: The leases of a dead manager start and end later.
#: :shorter: A manager that can't reach the database for a moment loses its work to another one.
DEAD_AFTER = 20
#: The row of a dead manager is deleted after this time.
#: :longer: Metrics show managers longer that won't come back.
#: :shorter: Operators can't see that a manager has died in the night.
MANAGER_FORGOTTEN_AFTER = DAY // SECOND

#: How often a manager looks at the mark of the database, which one of the managers increases each
#: minute.
#: :longer: A manager begins to work later after its start, or after a restore.
#: :shorter: The database gets more queries.
MARK_LOOKED_AT_EVERY = 5
#: If a manager has increased the mark within this time, the database is current, and a manager that
#: starts needn't wait for Placement.
#: :longer: A restored dump that is nearly as old isn't noticed.
#: :shorter: Managers that are restarted while Placement is away book nothing until it is back.
MARK_COUNTS_FOR = 3 * MINUTE
#: A request that comes before a manager knows whether its database is current waits this long.
#: :longer: If Placement is away, users wait longer for the refusal.
#: :shorter: Requests are refused while a manager starts on a busy machine.
GATE_WAITED_FOR = 10.0

# Starts and ends of reservations

#: How often a manager claims leases that are to be started, ended or deleted.
#: :longer: A claim may come after the moment at which the lease is due.
#: :shorter: The database gets more queries.
CLAIM_EVERY = 1
#: How often a manager looks whether a claimed start or end is due.
#: :longer: Reservations start and end later, by half of this time on average.
#: :shorter: A manager uses more processor time.
BEGIN_DUE_EVERY = 0.25
#: A manager claims a start this long before it is due, and prepares the start meanwhile. The lease
#: can't be changed or deleted during this time.
#: :longer: Users wait longer when they change a reservation just before its start.
#: :shorter: Preparing may not be done in time, so the reservation starts late.
START_LEAD = 10 * SECOND
#: What it takes to prepare one of many starts. If START_LEAD isn't enough for all starts of the
#: next minute, they are claimed earlier.
#: :longer: Reservations that start with many others can't be changed for a longer time before.
#: :shorter: Preparing may not be done in time, so many reservations that start together are late.
START_TAKES = 0.1 * SECOND
#: A start is claimed at most this long before it is due, however many there are.
#: :longer: Reservations that start with hundreds of others can't be changed for a longer time
#:     before.
#: :shorter: The last of hundreds of starts are late.
LONGEST_START_LEAD = MINUTE
#: A manager claims an end, or a repeated start, this long before it is due. Requests to extend the
#: reservation are refused during this time.
#: :longer: The last moment for an extension is earlier.
#: :shorter: The end may be late.
END_LEAD = 2 * SECOND
#: A change or a deletion waits this long for a manager that works on the lease.
#: :longer: Users wait longer for the refusal if a start, end or other change takes long.
#: :shorter: More changes just before a start are refused, and have to be repeated.
FREE_WITHIN = 2 * START_LEAD / SECOND
#: The pause after the first failed attempt at a start, an end or a snapshot. It doubles with each
#: further attempt.
#: :longer: A start that failed for a moment happens later.
#: :shorter: Services that are unavailable get more requests.
RETRY_FIRST_PAUSE = 2 * SECOND
#: The longest pause between two attempts at a start, an end or a snapshot.
#: :longer: Reservations start later after an outage.
#: :shorter: Services that are unavailable get more requests.
RETRY_LONGEST_PAUSE = MINUTE
#: An event of a lease that lies further in the future than this, after its start or end is due,
#: wasn't postponed by a failed attempt. The repairer corrects it.
#: :longer: A wrong event is corrected later.
#: :shorter: The event of an attempt that has just failed counts as wrong.
EVENT_POSTPONED_FOR = 2 * RETRY_LONGEST_PAUSE
#: The end of a reservation waits this long until Nova has deleted the servers. Then the reservation
#: ends all the same, and the rest is deleted in the background.
#: :longer: The hosts of a reservation are given on later if Nova deletes servers slowly.
#: :shorter: The next reservation may start while servers of the last one are still there.
#: :option: ``[warre] server_deletion_timeout``
SERVER_DELETION_TIMEOUT = 45 * SECOND
#: The first pause between two looks whether servers are deleted. It doubles with each look.
#: :longer: Ends take longer than the deletion does.
#: :shorter: Nova gets more requests.
DELETION_FIRST_POLL = 0.5
#: The longest pause between two looks whether servers are deleted.
#: :longer: Ends take longer than the deletion does.
#: :shorter: Nova gets more requests.
DELETION_LONGEST_POLL = 2.0
#: Placement may give back what a server took this long after Nova has forgotten the server. Until
#: then, a host from which a reservation has just gone doesn't count as lacking room.
#: :longer: If a host does lack room, the next reservation on it starts later.
#: :shorter: A reservation may be moved off a host that has room a moment later.
ROOM_GIVEN_BACK_WITHIN = 3.0
#: The pause between two looks whether the room is given back.
#: :longer: The reservation starts later than it could.
#: :shorter: Placement gets more requests.
ROOM_LOOKED_AT_EVERY = 0.5
#: The pause between two looks whether servers have been migrated.
#: :longer: ``host drain --running`` says later what has become of them.
#: :shorter: Nova gets more requests.
MIGRATION_POLL = 5.0
#: If Nova began to delete a server this long ago, and the server is still there, the deletion has
#: failed and is requested anew.
#: :longer: Servers whose deletion has failed stay longer.
#: :shorter: Nova gets a second request while it is still deleting the server.
NOVA_DELETION_FAILED_AFTER = 2 * MINUTE
#: The end of a reservation waits this long for the enforcement filters of the site.
#: :longer: A filter that hangs delays ends.
#: :shorter: A slow filter may be told of an end after the end.
FILTERS_WAIT = 5.0
#: How often managers look for servers that Nova didn't list yet when their reservation ended.
#: :longer: Such a server runs longer on hosts that others have booked.
#: :shorter: Nova gets more requests.
LATE_SERVERS_DELETED_EVERY = 60
#: A server that appears after the end of its reservation is looked for among the servers that have
#: changed within this time.
#: :longer: Nova's answer is longer.
#: :shorter: A server is missed if managers were away meanwhile.
LATE_SERVERS_WITHIN = 15 * MINUTE
#: How often managers move reservations off failed hosts, and compare what Nova and Placement hold
#: for reservations with the notes of it.
#: :longer: Reservations stay longer on a failed host, and leftovers stay longer in Nova.
#: :shorter: The database, Nova and Placement get more requests.
RECONCILE_EVERY = 20
#: What Nova and Placement need for a reservation (its backing) is made this long before the start.
#: :longer: More backings exist at a time, and more of them are made for reservations that are
#:     canceled.
#: :shorter: After an outage of Nova or Placement, reservations may start late.
MADE_AHEAD = 10 * MINUTE
#: How often managers look for backings to make.
#: :longer: Backings of reservations that were booked to begin soon are made later.
#: :shorter: The database gets more queries.
MAKE_AHEAD_EVERY = 5
#: A service may carry out a request this long after it was sent, although nobody waits for the
#: answer any more. So what was requested is looked for until then.
#: :longer: Notes of backings stay longer, and are checked again and again.
#: :shorter: A flavor or an aggregate that appears late stays in Nova.
ANSWER_MAY_BE_LATE = 10 * MINUTE
#: A manager leaves a backing this long to another manager that is making it.
#: :longer: If that manager has died, the backing is made later.
#: :shorter: Two managers make the same backing, which does no harm.
LEFT_TO_OTHER_MANAGER = MINUTE

#: How often managers look whether Nova has the flavors and aggregates of running reservations.
#: :longer: After somebody has deleted one of them, no server can be booted for longer.
#: :shorter: Nova has to list its flavors and aggregates more often.
NOVA_LOOKED_AT_EVERY = 60

# Preemptible servers

#: How often managers look for preemptible servers on hosts of reservations.
#: :longer: A server that has come during a reservation is in its way longer, and warnings are late.
#: :shorter: Nova gets more requests, if it has flavors for preemptible servers.
PREEMPTIBLE_LOOKED_AT_EVERY = 60
#: Nova's flavors are read this often, to know whether some are for preemptible servers.
#: :longer: Servers of a new flavor of this kind stay longer beside reservations.
#: :shorter: Nova has to list all of its flavors more often.
PREEMPTIBLE_FLAVORS_KEPT = 300
#: A preemptible server that is beside a reservation this long after its start counts as one that
#: has come since. Then Nova's options aren't right.
#: :longer: The log warns later.
#: :shorter: The log warns of servers whose deletion takes long.
PREEMPTIBLE_GONE_WITHIN = 2 * MINUTE
#: Preemptible servers are warned this long before a reservation begins on their host. With no time,
#: they aren't warned.
#: :longer: Servers are warned of reservations that may still change.
#: :shorter: Servers have less time to save what they have computed.
#: :option: ``[warre] preemption_warning_minutes``
PREEMPTION_WARNED = NO_TIME
#: The longest time before a start at which preemptible servers can be warned.
#: :longer: Sites can warn earlier, of reservations that may still change.
#: :shorter: Sites can't give such servers much time.
PREEMPTION_WARNING_LIMIT = DAY

# Snapshots before the end

#: The snapshots of a reservation's servers begin this long before its end.
#: :longer: Snapshots lack what was written later.
#: :shorter: Snapshots of large servers aren't finished at the end, and are lost.
#: :option: ``[warre] before_end_minutes``
BEFORE_END = 30 * MINUTE
#: How often managers look for snapshots to begin, and for finished ones.
#: :longer: Snapshots begin later, and are told later.
#: :shorter: Nova and Glance get more requests.
SNAPSHOTS_EVERY = 20
#: An image may become complete this long after the end. Nova uploads what it has read of the disk
#: even after the server is gone.
#: :longer: A snapshot that has failed is told later.
#: :shorter: A snapshot is told as failed although its image gets complete.
SNAPSHOT_FINISHED_WITHIN = HOUR

# Repairs and audits

#: How often managers look for leases with unusual statuses.
#: :longer: Such a lease is repaired later.
#: :shorter: The database gets more queries.
REPAIR_EVERY = 5
#: How often managers look at all leases of this package.
#: :longer: A lease that is wrong although its status is usual is repaired later.
#: :shorter: The database gets more queries, which read many rows.
THOROUGH_REPAIR_EVERY = MINUTE
#: A lease that nobody has written to for this long is quiet. Blazar sometimes writes several times
#: to a lease while its status is stable, at shorter intervals.
#: :longer: Leases are repaired later.
#: :shorter: A lease may be repaired while Blazar writes to it.
QUIET_AFTER = 5.0
#: The repairer reads ended leases this long after their end or their last write.
#: :longer: Each look at all leases reads more rows.
#: :shorter: What was left at an end isn't found after a long outage.
ENDED_LEASES_READ_FOR = DAY
#: Blazar's own plugins wait this long until the servers of a reservation are deleted.
#: :longer: Audits find leases later on which Blazar's plugins work no more.
#: :shorter: Audits find leases on which Blazar's plugins still work.
BLAZARS_SERVERS_WAIT = 600.0
#: An audit looks twice, with this pause, and reports what it has found both times.
#: :longer: Audits take longer.
#: :shorter: Audits report what a manager is just changing.
AUDIT_PAUSE = 3.0
#: An audit reports a start or an end that should have happened this long ago. By then, managers
#: have tried it several times.
#: :longer: Audits find late starts and ends later.
#: :shorter: Audits report starts and ends that are being tried again.
OVERDUE_IN_AUDIT_AFTER = 3 * RETRY_LONGEST_PAUSE
#: A manager may take this long after the end of a reservation to remove its backing.
#: :longer: Audits find leftovers later.
#: :shorter: Audits report backings that a manager is just removing.
AUDIT_LEAVES_ENDED = MINUTE
#: Managers may take this long after a maintenance window was made to move and end reservations.
#: :longer: Audits find reservations in windows later.
#: :shorter: Audits report reservations that a manager is just moving.
AUDIT_LEAVES_WINDOWS = MINUTE
#: Managers may take this long to drop a promise after it has become stale: the request that got it
#: is over.
#: :longer: Audits find stale promises later.
#: :shorter: Audits report promises that a manager is just dropping.
AUDIT_LEAVES_PROMISES = 60

# Series

#: The occurrences of a series are looked for in so many years from its start on.
#: :longer: A rule without an end takes longer to compute.
#: :shorter: Series that last longer are refused.
SERIES_YEARS = 5
#: The least time from the start of an occurrence to the start of the next one.
#: :longer: Series with several occurrences on one day are refused.
#: :shorter: One request can book many reservations that lie close together.
OCCURRENCES_APART = HOUR
#: How often managers look for series whose request has died.
#: :longer: Such a series stays longer between two states.
#: :shorter: The database gets more queries.
SERIES_EVERY = 10
#: A request that books occurrences counts as dead after this silence. One call to the manager may
#: take a minute. If the request lives after all, it can book nothing more.
#: :longer: What a dead request has booked is undone or kept later.
#: :shorter: A request that is only slow is broken off.
BOOKING_SERIES_DEAD_AFTER = 180
#: A request that deletes occurrences counts as dead after this silence.
#: :longer: What a dead request has left is deleted later.
#: :shorter: A manager deletes the same occurrences as the request, which does no harm.
DELETING_SERIES_DEAD_AFTER = 30

# Waits

#: A wait ends this long after its start, if the request names no end.
#: :longer: Waits that nobody needs any more are looked at longer.
#: :shorter: Users must name an end more often.
WAIT_LENGTH = 90 * DAY
#: How often managers look whether a change of the bookings has made room for those who wait.
#: :longer: Who books by hand is more often faster than who waits.
#: :shorter: The database gets more queries.
SERVE_WAITS_EVERY = 2
#: All waits are looked at after this time, even if no booking has changed.
#: :longer: Room that comes by the clock alone is noticed later.
#: :shorter: Managers compute more.
ALL_WAITS_EVERY = MINUTE
#: A wait that was served counts this long as one of its project's places in line.
#: :longer: Projects with many waits give way to others longer.
#: :shorter: One project can get everything that becomes free on one day.
SERVED_WAIT_COUNTS_FOR = DAY
#: After somebody was told that a flavor is free, the room is kept for their project for this long,
#: and nobody else is told.
#: :longer: Room stays unused if the first one doesn't want it.
#: :shorter: People who are told are too late.
TOLD_FIRST_FOR = 10 * MINUTE

# Notifications and messages

#: The pause between two looks of a channel into the outbox.
#: :longer: Notifications and messages come later.
#: :shorter: The database gets more queries.
OUTBOX_READ_EVERY = 1.0
#: A manager sends a batch of notices for at most this long. Then it writes which are sent.
#: :longer: A manager that is killed has sent more notices that are sent again, and what users have
#:     chosen since the batch was read is heeded later.
#: :shorter: If the mail server is slow, it gets more connections, and the database more writes.
BATCH_SENT_FOR = 10.0
#: If a channel doesn't work, its first pause. The pause doubles with each further attempt.
#: :longer: After a short outage, messages come later.
#: :shorter: The mail server or the message bus gets more attempts.
CHANNEL_FIRST_PAUSE = 2.0
#: If a channel doesn't work, its longest pause.
#: :longer: After an outage, messages come later.
#: :shorter: The mail server or the message bus gets more attempts.
CHANNEL_LONGEST_PAUSE = 30.0
#: If one notice can't be sent, its first pause. The pause doubles with each further attempt.
#: :longer: The notice, and those about the same reservation, come later.
#: :shorter: There are more attempts that fail.
NOTICE_FIRST_PAUSE = SECOND
#: If one notice can't be sent, its longest pause.
#: :longer: The notice, and those about the same reservation, come later.
#: :shorter: There are more attempts that fail.
NOTICE_LONGEST_PAUSE = 10 * MINUTE
#: A notice that couldn't be sent for so long is given up.
#: :longer: More notices wait during a long outage, and people get old news after it.
#: :shorter: An outage in the night loses messages, and what bills are made from.
NOTICE_GIVEN_UP_AFTER = DAY
#: What a person deletes, or changes in a series, is told once the person has done no more of it for
#: so long. Then one message tells what one command has done.
#: :longer: People hear later that others have deleted or changed their reservations.
#: :shorter: A command that names several reservations causes several messages, if it asks before
#:     each of them or waits for servers.
COMMAND_GATHERED_FOR = 20 * SECOND
#: A deletion or change is told after this time, even if the person goes on.
#: :longer: While somebody deletes very many reservations, people hear later of the first ones.
#: :shorter: One command causes more messages if it deletes or changes very many reservations.
COMMAND_TOLD_AFTER = 5 * MINUTE
#: Audits show notices that were given up for this long.
#: :longer: The outbox keeps more rows.
#: :shorter: Operators may not see that notices were lost.
LOST_NOTICES_SHOWN_FOR = 7 * DAY
#: How often managers give up notices that can't be sent.
#: :longer: The outbox grows more during an outage.
#: :shorter: The database gets more queries.
OUTBOX_TIDIED_EVERY = 60
#: How many messages an address has got in an hour is kept this long.
#: :longer: The table of these numbers grows.
#: :shorter: An address may get more messages in an hour than its limit.
MESSAGE_COUNTS_KEPT = 2 * HOUR
#: A manager may take this long to book or change a lease that it has charged. If it takes longer,
#: it has died, and other managers give back what the lease doesn't owe.
#: :longer: If a manager dies, credits are given back later.
#: :shorter: Credits of a booking that takes very long are given back, and charged again afterwards.
CREDITS_LEFT_TO_REQUEST = 10 * MINUTE
#: The charge of a lease that is just being changed is looked at again after this time.
#: :longer: Credits are given back later.
#: :shorter: The database gets more queries.
CREDITS_LOOKED_AT_EVERY = 10 * SECOND
#: A reservation is reminded of these times before its end.
#: :longer: Reminders come earlier, when users may not know yet whether they need more time.
#: :shorter: Users have less time to extend the reservation.
#: :option: ``[warre] remind_hours``
REMINDERS = (DAY, HOUR)
#: The largest value in the option ``remind_hours``.
#: :longer: Reminders come so early that nobody remembers them at the end.
#: :shorter: Sites with long reservations can't remind their users early enough.
REMINDER_LIMIT = 365 * DAY
#: This long before the start of a reservation, a manager asks Nova whether its quota is enough.
#: :longer: The quota may still change until the start.
#: :shorter: Operators have less time to raise the quota.
NOVA_QUOTA_REMINDED = DAY
#: How often a manager looks whether reminders are due.
#: :longer: Reminders may come later.
#: :shorter: The database gets more queries.
REMINDERS_EVERY = 5
#: All managers together write reminders that are due after this time.
#: :longer: Reminders come later.
#: :shorter: The database gets more writes.
REMINDED_EVERY = 30 * SECOND
#: How often a manager looks whether the running time of the last hour is told.
#: :longer: The running time is told later after each hour.
#: :shorter: The database gets more queries.
RUNNING_TIME_EVERY = 5
#: A manager waits this long for each answer of the mail server.
#: :longer: A mail server that hangs stops all mail longer.
#: :shorter: If the mail server is slow, mails may be sent twice.
#: :option: ``[warre_messages] smtp_timeout``
SMTP_TIMEOUT = 10 * SECOND
#: The largest value of the option ``smtp_timeout``.
#: :longer: One mail could take longer than a manager may keep its turn silently.
#: :shorter: Sites with a slow mail server can send no mail.
SMTP_TIMEOUT_LIMIT = 30 * SECOND
#: The connection for a mail is broken off after this time, however slowly the server answers.
#: :longer: A mail server that answers very slowly stops all mail longer.
#: :shorter: Mails aren't sent although the mail server would accept them.
SMTP_BROKEN_OFF_AFTER = 45
#: A manager waits this long for the receiver of a webhook: for the connection, and for the answer.
#: :longer: A receiver that hangs stops all messages longer.
#: :shorter: If the receiver is slow, messages may be sent twice.
#: :option: ``[warre_messages] webhook_timeout``
WEBHOOK_TIMEOUT = 10 * SECOND
#: The largest value of the option ``webhook_timeout``.
#: :longer: One message could take longer than a manager may keep its turn silently.
#: :shorter: Sites with a slow receiver can send no messages.
WEBHOOK_TIMEOUT_LIMIT = 25 * SECOND
#: A call of a project's webhook is broken off after this time, whatever its receiver and the DNS of
#: its host do. The receiver is called again later.
#: :longer: A receiver that hangs stops the webhooks of all projects longer.
#: :shorter: A receiver that is only slow is called several times.
PROJECT_WEBHOOK_TIMEOUT = 5 * SECOND
#: A receiver that hasn't answered in time isn't called by the same project for this long.
#: :longer: A receiver that was slow once is told later.
#: :shorter: Receivers that hang stop the webhooks of all projects more often.
PROJECT_WEBHOOK_PAUSE = MINUTE
#: A message is sent, or fails, within this time. Keystone answers up to four questions about
#: people. At the limit of ``smtp_timeout``, the mail server then accepts a connection, greets, and
#: is given up.
#: :longer: A manager that hangs while it sends a message keeps its turn longer.
#: :shorter: A mail server that works, but slowly, sends no mail.
SENT_WITHIN = 4 * PEOPLE_TIMEOUT + 2 * (SMTP_TIMEOUT_LIMIT // SECOND) + SMTP_BROKEN_OFF_AFTER
#: A manager that sends notices says again after this time that it has the turn. A turn is what one
#: manager does at a time, such as sending the notices of a channel.
#: :longer: Another manager takes over later from a thread that hangs.
#: :shorter: The database gets more writes.
TURN_RENEWED_AFTER = 20
#: A living manager that is silent for longer loses its turn to another manager: its thread may
#: hang. It is silent while it sends one message.
#: :longer: A thread that hangs stops the work longer.
#: :shorter: Two managers may send the same message.
TURN_LOST_AFTER = TURN_RENEWED_AFTER + SENT_WITHIN

# Hosts

#: The resource providers and zones of all hosts are read after this time.
#: :longer: Bookings notice later that a host has lost or gained resources.
#: :shorter: Placement and Nova get more requests: two for each host and reading.
#: :option: ``[warre] provider_poll_interval``
HOSTS_READ_EVERY = 300 * SECOND
#: How often a manager looks whether a reading of hosts is due.
#: :longer: Readings begin later.
#: :shorter: A manager uses more processor time.
HOSTS_LOOKED_AT_EVERY = 1
#: A host is settling this long after its first reading and after each change. Nova reports the
#: processors and the memory of a new host first, and the devices later.
#: :longer: Placement gets more requests after each change.
#: :shorter: Devices that Nova reports late are noticed only by the next reading of all hosts.
HOST_SETTLES_FOR = 10 * MINUTE
#: Settling hosts are read after this time.
#: :longer: The devices of a new host can be booked later.
#: :shorter: Placement gets more requests.
SETTLING_HOSTS_READ_EVERY = 30
#: A host that Placement has lost has left Nova if Placement doesn't have it after this time either.
#: It is looked for again ``SETTLING_HOSTS_READ_EVERY`` seconds after it was missed.
#: :longer: The reservations on a host that has left Nova get other hosts later.
#: :shorter: Two managers that look at almost the same moment count as two looks.
HOST_LEAVES_AFTER = 20 * SECOND
#: A request waits this long until new hosts are read. Then it goes on with what Blazar's tables say
#: about them.
#: :longer: Users wait longer if Placement hangs.
#: :shorter: A booking may be refused, although a new host has the devices for it.
NEW_HOSTS_WAIT = 5.0
#: If a new host couldn't be read, requests try it again after this time.
#: :longer: After an outage of Placement, new hosts can't be used fully for longer.
#: :shorter: Placement gets more requests during its outage.
NEW_HOSTS_READ_AGAIN_AFTER = 60.0

# Usage and records

#: One of the managers asks Nova for all servers after this time, and notes which reservations have
#: servers.
#: :longer: Usage is less exact.
#: :shorter: Nova has to list all servers more often.
#: :option: ``[warre] usage_interval``
USAGE_SAMPLED_EVERY = 300 * SECOND
#: The largest value of the option ``usage_interval``.
#: :longer: Usage gets less exact than the full hours in which it is told.
#: :shorter: Sites with a slow Nova must list servers more often than they want.
USAGE_INTERVAL_LIMIT = HOUR
#: A sample of usage stands for the time since the last sample, but at most for so many intervals.
#: After that, nobody knows what was in use, and no reservation is ended as idle.
#: :longer: Usage tells what nobody has seen.
#: :shorter: A single sample that failed leaves a gap in the usage.
USAGE_KNOWN_FOR_INTERVALS = 2
#: How often a manager looks whether a sample of usage is due.
#: :longer: Samples are taken later.
#: :shorter: A manager uses more processor time.
USAGE_LOOKED_AT_EVERY = 5
#: How often managers warn of reservations without servers, and end them early.
#: :longer: Warnings and early ends come later.
#: :shorter: The database gets more queries.
IDLE_ENDED_EVERY = 30
#: Ended reservations, deleted ones and other records are kept this long.
#: :longer: The tables grow.
#: :shorter: Usage and lists reach back less far.
#: :option: ``[warre] history_days``
HISTORY_KEPT = 365 * DAY
#: How often managers delete old records.
#: :longer: Records are kept a little longer, and more of them are deleted at once.
#: :shorter: The database gets more queries.
HISTORY_DELETED_EVERY = 3600
#: If the manager has refused a booking, the API looks for room itself for this time, before it asks
#: the manager for the same project and flavor again.
#: :longer: More of the bookings that are possible again are decided twice.
#: :shorter: Whoever tries again and again keeps the manager busy.
REFUSED_LATELY = 10.0
#: The API writes the numbers of refused requests that it has counted in memory after this time.
#: :longer: A process that is killed loses more of these numbers.
#: :shorter: The database gets more writes while somebody sends many requests that are refused.
REFUSALS_WRITTEN_EVERY = 1.0
#: How often a manager writes such numbers of its own.
#: :longer: A manager that is killed loses more of these numbers.
#: :shorter: The database gets more writes.
REFUSALS_COUNTED_EVERY = 5
#: Metrics count a start or an end as overdue after this time.
#: :longer: Alerts come later.
#: :shorter: A start that is tried a second time causes an alert.
OVERDUE_IN_METRICS_AFTER = MINUTE
#: Metrics show the use of slots now and so many days later.
#: :longer: Metrics show bookings that may still change often.
#: :shorter: Operators see later that a flavor gets full.
SLOT_USE_DAYS = (0, 1, 3, 7)
#: Metrics show how many starts and ends were at most this late.
#: :longer: If the limits are larger, metrics don't tell short delays apart.
#: :shorter: If the limits are smaller, metrics don't tell long delays apart.
DELAY_BUCKETS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0, 7200.0, math.inf)
#: How often managers merge the rows in which starts, ends and repairs are counted.
#: :longer: Metrics read more rows.
#: :shorter: The database gets more writes.
TALLIES_MERGED_EVERY = 60

# The database

#: The first pause before a transaction that has lost a race is tried again. The pause doubles with
#: each attempt, and is made longer or shorter by up to half, at random.
#: :longer: Users wait longer when several book at the same moment.
#: :shorter: The next attempt meets the same rivals.
RACE_FIRST_PAUSE = 0.02
#: The longest pause before a transaction that has lost a race is tried again.
#: :longer: Users wait longer at busy moments.
#: :shorter: All attempts may fail at busy moments, so that users must repeat their requests.
RACE_LONGEST_PAUSE = 0.5


def doubled(
    first: datetime.timedelta, failed: int, longest: datetime.timedelta
) -> datetime.timedelta:
    """The pause before the next attempt, which doubles with each failed attempt.

    :param first: the pause if only the first attempt has failed.
    :param failed: how many further attempts have failed.
    :param longest: the pause never gets longer.
    """
    # Attempts may go on for a day. A pause that is doubled so often is longer than any date.
    return min(first * 2 ** min(failed, 20), longest)
