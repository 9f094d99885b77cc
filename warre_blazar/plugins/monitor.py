"""The monitor plugin, which Blazar polls, and what each manager does regularly."""

import datetime
import functools
import inspect
import logging as stdlib_logging
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent import futures
from typing import Any, cast

import futurist
from blazar.plugins import base
from futurist import periodics
from oslo_config import cfg
from oslo_log import log as logging

from warre_blazar import times
from warre_blazar.db import clock, migration
from warre_blazar.errors import exceptions
from warre_blazar.plugins import notifications, telling
from warre_blazar.plugins.blazar_work import LeaseWorks
from warre_blazar.plugins.notifications import BlazarsOutside
from warre_blazar.services.booking import idempotency
from warre_blazar.services.flavors import shown_in_nova
from warre_blazar.services.hosts import host_refresh, unassigned
from warre_blazar.services.messages import delivery, reminders
from warre_blazar.services.messages.delivery import Channel
from warre_blazar.services.moves.opening import Opener
from warre_blazar.services.records import history, metrics, refusals, server_samples
from warre_blazar.services.running import (
    altered,
    backing,
    idle,
    mark,
    preemptible,
    room_look,
    snapshots,
)
from warre_blazar.services.running.executor import Executor, Pools
from warre_blazar.services.running.repair import Repairer
from warre_blazar.services.series import unattended
from warre_blazar.services.waits import serving
from warre_blazar.site_rules import conditions, wait_permits

LOG = logging.getLogger(__name__)


#: The number of requests to Nova, Placement and Keystone, one after the other, that are needed to
#: make or remove the backing of one reservation with a few hosts.
_REQUESTS = 10

_HostsOf = Callable[[str], Sequence[Mapping[str, Any]]]


def _held(
    spacing: float, *, run_immediately: bool = False
) -> Callable[[Callable[[Any], None]], Callable[[Any], None]]:
    """Decorate a method that is called periodically, but not while the gate is closed."""

    def decorate(method: Callable[[Any], None]) -> Callable[[Any], None]:
        @functools.wraps(method)
        def work(owner: Any) -> None:
            if mark.gate.is_open:
                method(owner)

        made: Any = periodics.periodic(spacing, run_immediately=run_immediately)(work)
        made.is_held = True
        return cast(Callable[[Any], None], made)

    return decorate


class SlotMonitor(base.BaseMonitorPlugin):
    """Looks regularly for work that is left to do on failed hosts, in Nova and in Placement."""

    def __init__(self, hosts_of: _HostsOf, heal: Callable[[], None] = lambda: None) -> None:
        """
        :param hosts_of: returns the hosts that a reservation is on, for Blazar's filters.
        :param heal: moves reservations off failed hosts. It is called at each poll.
        """
        self._hosts_of = hosts_of
        self._heal = heal
        self._threads: Threads | None = None

    def is_notification_enabled(self) -> bool:
        return False

    def get_notification_event_types(self) -> list[str]:
        return []

    def get_notification_topics(self) -> list[str]:
        return []

    def notification_callback(self, event_type: str, payload: Any) -> dict[str, Any]:
        return {}

    def is_polling_enabled(self) -> bool:
        return True

    def get_polling_interval(self) -> int:
        """The seconds between two polls.

        Blazar calls this once, in the process that polls. So this method starts the threads.

        :raises SystemExit: the tables aren't those of this release, or messages can't be sent as
            they are configured.
        """
        _check_tables()
        self._threads = Threads(self._hosts_of)
        self._threads.start()
        return times.RECONCILE_EVERY

    def poll(self) -> dict[str, Any]:
        """Move reservations off failed hosts, and let Nova have what it should have.

        :returns: an empty dictionary: Blazar has no flags of reservations to change.
        """
        # Healing comes first. For reservations that haven't begun, it needs no answers from Nova or
        # Placement.
        self._heal()
        backing.reconcile(opener().open)
        shown_in_nova.look()
        return {}

    def get_healing_interval(self) -> int:
        return 0

    def heal(self) -> dict[str, Any]:
        return {}


def opener() -> Opener:
    """What opens reservations in a manager."""
    return Opener(conditions.of_service, notifications.tell_unusable)


def _check_tables() -> None:
    """End the process if this package's tables are those of another release.

    :raises SystemExit: Blazar only logs other exceptions, and would go on without the threads.
    """
    try:
        migration.check(cfg.CONF.database.connection)
    except migration.MigrationError as error:
        LOG.critical("%s", error)
        raise SystemExit(1) from error


def _channels() -> list[Channel]:
    """The channels of the outbox.

    :raises SystemExit: an option about them can't be used.
    """
    try:
        return telling.configured()
    except exceptions.Misconfigured as error:
        LOG.critical("%s", error)
        raise SystemExit(1) from error


def patience(reservations: int) -> float:
    """The seconds that work on a lease usually takes at most, by the configured timeouts.

    If Nova is slow, and a reservation has many hosts, the work can take longer. Then two managers
    may work on the lease, which does no harm, because every step can be repeated.

    :param reservations: how many reservations the lease has.
    """
    options = cfg.CONF.warre
    per_reservation = options.server_deletion_timeout + _REQUESTS * options.request_timeout
    return float(max(reservations, 1) * per_reservation)


class Threads:
    """A manager's threads, which start, end, delete and repair leases, and read hosts."""

    def __init__(self, hosts_of: _HostsOf) -> None:
        options = cfg.CONF.warre
        # Half of the starts and ends usually wait for the database or for servers to be deleted.
        threads = 2 * options.service_connections
        self._executor = Executor(
            host=cfg.CONF.host or socket.gethostname(),
            outside=BlazarsOutside(hosts_of),
            opening=opener(),
            patience=lambda: float(options.server_deletion_timeout),
            pools=Pools(
                events=futures.ThreadPoolExecutor(threads, "warre-event"),
                tidying=futures.ThreadPoolExecutor(2, "warre-tidy"),
                telling=futures.ThreadPoolExecutor(threads, "warre-tell"),
            ),
            # Work may also wait until one of the threads is free.
            time_limit=lambda reservations: 2 * patience(reservations),
            before_end=conditions.before_end(),
        )
        self._repairer = Repairer(patience)
        self._waits = serving.WaitServer(
            self._executor.manager_id, wait_permits.permit, conditions.of_users
        )
        self._lease_works: LeaseWorks | None = None
        #: Is set when the manager has a heartbeat.
        self._known = threading.Event()
        self._thorough_at: datetime.datetime | None = None
        self._refreshed_at = self._settling_read_at = -float("inf")

    def start(self) -> None:
        """Start the threads, which run until the process ends.

        If the process ends while it has lease claims, another manager's repairer releases them.

        :raises SystemExit: messages can't be sent as they are configured.
        """
        channels = _channels()
        mark.gate.begin()
        for target in (self._run_always, self._run_held):
            threading.Thread(target=target, name="warre-periodic", daemon=True).start()
        telling.start(channels, self._executor.manager_id, self._known)

    def _run_always(self) -> None:
        periodic_worker(self, held=False).start()

    def _run_held(self) -> None:
        mark.gate.opened.wait()
        periodic_worker(self, held=True).start()

    @periodics.periodic(times.BEAT_EVERY, run_immediately=True)
    def beat(self) -> None:
        """Write a heartbeat, and note which requests to this manager have been answered.

        This has a thread of its own, so that no other work delays the heartbeat. It also reads the
        database's clock, by which the manager decides what is due.
        """
        clock.read()
        self._executor.beat()
        if self._lease_works is None:
            # A note of a manager that has no heartbeat yet would count as a dead manager's note.
            self._lease_works = LeaseWorks(self._executor.manager_id)
            self._lease_works.register()
            self._known.set()
        self._lease_works.release()

    @periodics.periodic(times.MARK_LOOKED_AT_EVERY, run_immediately=True)
    def look_at_mark(self) -> None:
        """Find out whether the database is older than Placement, so that this manager is held."""
        # The machine's clock may be wrong.
        clock.read()
        mark.gate.look(self._executor.manager_id)

    @_held(times.CLAIM_EVERY, run_immediately=True)
    def claim(self) -> None:
        """Claim leases that will soon start or end, or must be deleted."""
        self._executor.claim(clock.utcnow())

    @_held(times.BEGIN_DUE_EVERY, run_immediately=True)
    def begin_due(self) -> None:
        """Execute the claimed starts and ends whose time has come."""
        self._executor.begin_due(clock.utcnow())

    @_held(times.REPAIR_EVERY, run_immediately=True)
    def repair(self) -> None:
        """Repair leases with unusual statuses. Once a minute, look at all flavor:slot leases."""
        now = clock.utcnow()
        thorough = (
            self._thorough_at is None or now - self._thorough_at >= times.THOROUGH_REPAIR_EVERY
        )
        if thorough:
            self._thorough_at = now
        self._repairer.look(now, thorough)

    @_held(times.MAKE_AHEAD_EVERY, run_immediately=True)
    def make_ahead(self) -> None:
        """Make the backings of reservations that begin soon."""
        backing.make_ahead(clock.utcnow())

    @_held(times.SERIES_EVERY, run_immediately=True)
    def go_on_with_series(self) -> None:
        """Lead series out of the middle of a request that has died."""
        unattended.look()

    @_held(times.LATE_SERVERS_DELETED_EVERY)
    def delete_late_servers(self) -> None:
        """Delete servers that Nova didn't list yet when their reservation ended."""
        backing.delete_late_servers(clock.utcnow())

    @_held(times.PREEMPTIBLE_LOOKED_AT_EVERY, run_immediately=True)
    def clear_hosts(self) -> None:
        """Delete or warn preemptible servers on hosts that are in use, or will be soon."""
        ahead = cfg.CONF.warre.preemption_warning_minutes * times.MINUTE
        preemptible.look(clock.utcnow(), self._executor.manager_id, ahead)

    @_held(times.NOVA_LOOKED_AT_EVERY)
    def make_again(self) -> None:
        """Make anew what somebody has deleted in Nova of running reservations."""
        altered.look(self._executor.manager_id)

    @_held(times.SNAPSHOTS_EVERY, run_immediately=True)
    def make_snapshots(self) -> None:
        """Make snapshots of servers whose reservations end soon."""
        snapshots.look(clock.utcnow(), self._executor.manager_id, conditions.before_end())

    @_held(times.RUNNING_TIME_EVERY, run_immediately=True)
    def tell_running_time(self) -> None:
        """Tell the running time of reservations, once for each full hour."""
        server_samples.tell_running_time(clock.utcnow(), self._executor.manager_id)

    @_held(times.USAGE_LOOKED_AT_EVERY)
    def sample_servers(self) -> None:
        """Sample which reservations have servers, every ``usage_interval`` seconds.

        Those with empty places may have lost their room to somebody since their start.
        """
        interval = cfg.CONF.warre.usage_interval * times.SECOND
        if interval:
            empty = server_samples.take(clock.utcnow(), self._executor.manager_id, interval)
            room_look.look_again(empty, clock.utcnow())

    @_held(times.IDLE_ENDED_EVERY)
    def end_idle(self) -> None:
        """Warn of reservations that run without a server, and end them early."""
        interval = cfg.CONF.warre.usage_interval * times.SECOND
        if interval:
            idle.look(clock.utcnow(), interval)

    @_held(times.REMINDERS_EVERY, run_immediately=True)
    def remind(self) -> None:
        """Write reminders of reservations whose end comes near."""
        hours = cfg.CONF.warre.remind_hours
        reminders.remind(clock.utcnow(), self._executor.manager_id, hours)

    @_held(times.REMINDERS_EVERY, run_immediately=True)
    def remind_of_quota(self) -> None:
        """Write reminders of reservations that begin soon, and for which Nova has no quota."""
        reminders.remind_of_quota(clock.utcnow(), self._executor.manager_id)

    @_held(times.SERVE_WAITS_EVERY)
    def serve_waits(self) -> None:
        """Book or tell those who wait, if there is room for them."""
        if self._known.is_set():
            self._waits.look(clock.utcnow())

    @_held(times.OUTBOX_TIDIED_EVERY)
    def tidy_outbox(self) -> None:
        """Give up notices that can't be sent."""
        delivery.tidy(clock.utcnow())

    @_held(times.TALLIES_MERGED_EVERY)
    def merge_tallies(self) -> None:
        """Keep the table of tallies small."""
        metrics.merge_tallies()

    @periodics.periodic(times.REFUSALS_COUNTED_EVERY)
    def count_refusals(self) -> None:
        """Write how many refused requests this process has only counted."""
        refusals.write_numbers()

    @_held(times.HISTORY_DELETED_EVERY, run_immediately=True)
    def forget(self) -> None:
        """Remove leases that ended more than ``history_days`` days ago, and records of that age."""
        days = cfg.CONF.warre.history_days
        if days:
            history.purge(clock.utcnow(), days)
            unattended.forget(clock.utcnow(), days)
            serving.forget(clock.utcnow(), days)

    @_held(times.KEYS_DELETED_EVERY, run_immediately=True)
    def forget_keys(self) -> None:
        """Delete idempotency keys that are older than a day."""
        idempotency.forget(clock.utcnow())

    @_held(times.HOSTS_LOOKED_AT_EVERY, run_immediately=True)
    def refresh_hosts(self) -> None:
        """Read the resource providers and zones of hosts.

        All hosts are read every ``provider_poll_interval`` seconds. Hosts that are new or have
        changed a short time ago are read more often. If ``provider_poll_interval`` is 0, no hosts
        are read.
        """
        pause, now, is_read = cfg.CONF.warre.provider_poll_interval, time.monotonic(), False
        if not pause:
            return
        if now - self._refreshed_at >= pause:
            self._refreshed_at = self._settling_read_at = now
            host_refresh.refresh(tell=notifications.tell_overbooked)
            is_read = True
        elif now - self._settling_read_at >= times.SETTLING_HOSTS_READ_EVERY:
            self._settling_read_at = now
            is_read = host_refresh.refresh_settling(notifications.tell_overbooked)
        if is_read:
            unassigned.assign(conditions.cleaning(), conditions.device_rules_of_stock())


def periodic_worker(owner: object, *, held: bool = False) -> periodics.PeriodicWorker:
    """Return a worker that calls the periodic methods of an object, each in a thread of its own.

    :param held: whether it calls those that are held while the gate is closed, or all others.

    futurist's debug messages are dropped, whatever level is configured. It would write one each
    time that it submits a method, with the intervals of ``Threads`` several hundred a minute.
    """
    log = stdlib_logging.getLogger(f"{__name__}.periodics")
    log.setLevel(stdlib_logging.INFO)
    methods: list[tuple[Any, tuple[()], dict[str, Any]]] = [
        (method, (), {})
        for _, method in inspect.getmembers(owner, periodics.is_periodic)
        if getattr(method, "is_held", False) == held
    ]
    return periodics.PeriodicWorker(
        methods,
        executor_factory=lambda: futurist.ThreadPoolExecutor(max_workers=len(methods)),
        on_failure=_log_failure,
        log=log,
    )


def _log_failure(call: Any, kind: str, spacing: float, failure: Any, traceback: Any = None) -> None:
    """Log that a periodic call has failed, for instance because the database is unavailable."""
    LOG.error("The periodic call %s failed, and will run again: %s", call.__name__, failure[1])
