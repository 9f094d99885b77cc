"""The site that is explored: Blazar's managers, a database and a cloud, all in this process.

A state is built once. Before each run, its rows and its objects are put back.
"""

import collections
import contextlib
import copy
import datetime
import functools
import pathlib
import sqlite3
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent import futures
from typing import Any, Self

import oslo_messaging as messaging
import sqlalchemy as sa
from blazar import context
from oslo_config import cfg
from oslo_limit import limit as oslo_limit
from oslo_messaging._drivers import common as driver_common
from oslo_utils import timeutils

from tests.explorer import scheduler
from tests.explorer.faults import Killed
from tests.explorer.telling import CHANNELS, Recorder
from tests.explorer.watching import Watch
from tests.fakes.cloud import LOGIN_OPTIONS
from tests.functional.db import databases, managers, warre_site
from tests.functional.db import world as parts
from tests.unit.api import identity
from tests.unit.api.site import Site
from warre_blazar import timer, times
from warre_blazar.db import session, tables
from warre_blazar.db.messages import deliveries
from warre_blazar.openstack import caches, host_trees, limits, manager
from warre_blazar.plugins import exact, lease_contexts
from warre_blazar.services.booking.through_manager import reservations
from warre_blazar.services.booking.through_manager.calls import Caller
from warre_blazar.services.moves.opening import Opener
from warre_blazar.services.running.executor import Executor, Pools

#: Managers beside each other, one for each task and one for who buys.
_MANAGERS = 4
#: ``[warre] moves_per_booking``
MOVES_PER_BOOKING = 5
#: Seconds. The fake Keystone's tokens are valid for an hour.
_LOGIN_LASTS = 1800.0
#: A flavor of Nova, as Blazar's plugin reads it.
PLAIN: dict[str, Any] = {
    **{"id": "plain", "name": "plain", "vcpus": 1, "ram": 512, "disk": 1},
    **{"OS-FLV-EXT-DATA:ephemeral": 0, "extra_specs": {}},
}
_DICTS = {
    "keystone": ("trusts", "limits", "registered", "gone"),
    "nova": (
        *("flavors", "aggregates", "servers", "migrations"),
        *("server_groups", "hosts", "last_id"),
    ),
    "placement": ("classes", "providers", "allocations", "projects"),
    "glance": ("images",),
}


#: No manager dies of a silence that is shorter, in seconds.
_UNDYING = 10**8


class Time(timer.Clock):
    """Time that passes only while a task waits. Then other tasks go on first."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> float:
        return self.seconds

    monotonic = now

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds
        here = scheduler.current()
        if here is not None and here[1].session is None:
            here[0].point(here[1], scheduler.WAITS, gives_way=True)


class Ids:
    """Makes ids. Those of a run are the same each time, so that runs can be compared."""

    def __init__(self) -> None:
        self.are_random = True
        self._random = uuid.uuid4
        self._made: collections.Counter[int] = collections.Counter()

    def begin(self) -> None:
        """Begin a run."""
        self.are_random = False
        self._made.clear()

    def make(self) -> uuid.UUID:
        """An id, which depends only on the task and on how many ids the task has made."""
        if self.are_random:
            return self._random()
        here = scheduler.current()
        task = here[1].number if here else _MANAGERS
        self._made[task] += 1
        return uuid.UUID(int=((task + 1) << 64) + self._made[task], version=4)


class Inline(futures.Executor):
    """A pool that runs every job at once, in the caller's thread."""

    def __init__(self, *_: Any) -> None:
        pass

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> "futures.Future[Any]":
        done: futures.Future[Any] = futures.Future()
        try:
            done.set_result(fn(*args, **kwargs))
        except Exception as error:
            done.set_exception(error)
        return done


class Client:
    """Calls a manager in this thread, and carries its failures as a message bus does."""

    def __init__(self, services: list[Any]) -> None:
        self._services = services

    def call(self, ctx: dict[str, Any], method: str, **values: Any) -> Any:
        """Call a method of the manager that belongs to this thread's task."""
        here = scheduler.current()
        number = here[1].number if here else len(self._services) - 1
        try:
            with _in_manager(), context.BlazarContext.from_dict(ctx):
                return getattr(self._services[number], method)(**copy.deepcopy(values))
        except Killed:
            if here is None:
                raise
            here[1].is_dead = False  # The API lives on.
            raise messaging.MessagingTimeout from None
        except Exception as error:
            failure = (type(error), error, error.__traceback__)
            text = driver_common.serialize_remote_exception(failure)
            raise driver_common.deserialize_remote_exception(text, manager._MODULES) from None


@contextlib.contextmanager
def _in_manager() -> Iterator[None]:
    here = scheduler.current()
    if here is None:
        yield
        return
    here[1].in_manager = True
    try:
        yield
    finally:
        here[1].in_manager = False


def _log_in(_trust_id: str) -> context.BlazarContext:
    """Log in with the trust of a lease, which needs no request here."""
    catalog = lease_contexts._catalog(context.current())
    return context.BlazarContext(project_id=identity.project_id("alpha"), service_catalog=catalog)


class World(Site):
    """The site, with as many managers as there are tasks."""

    plugins = (
        "exact.physical.host.plugin,exact.virtual.instance.plugin,exact.flavor.instance.plugin,"
        "flavor.slot.plugin"
    )

    def __init__(self, directory: pathlib.Path, database: str = "sqlite") -> None:
        super().__init__(directory)
        self.database = database
        self.time = Time()
        self.ids = Ids()
        #: The units of each device, by host.
        self.devices: dict[str, tuple[int, ...]] = {}
        #: The reservations that a maintenance window has left where they were. None: there is no
        #: window, or whoever made it got no answer.
        self.window_left: set[str] | None = None
        #: The channel by which notices are delivered.
        self.recorder = Recorder()
        self.watch = Watch(self.cloud, fine=database != "sqlite")
        self._logged_in = -_LOGIN_LASTS
        self._states: dict[str, tuple[Any, Any, dict[str, Any], datetime.datetime]] = {}
        self._open = contextlib.ExitStack()

    def __enter__(self) -> Self:
        self._forget_caches()
        cfg.CONF(["--config-file", str(self._configuration())], project="blazar")
        url = self._open.enter_context(databases.made(self.database, self.directory))
        cfg.CONF.set_override("connection", url, group="database")
        cfg.CONF.set_override("moves_per_booking", MOVES_PER_BOOKING, group="warre")
        for service in self.cloud.services:
            service.stop()  # They are called without sockets.
        self.engine = self._open.enter_context(databases.connected())
        sa.event.listen(self.engine, "connect", self._set_up_connection)
        self.engine.dispose()
        tables.metadata.create_all(self.engine)
        self._start_manager()
        self._replace_seams()
        self._open.enter_context(self.watch.watching())
        self.clear()
        return self

    def _set_up_connection(self, connection: Any, _record: Any) -> None:
        cursor = connection.cursor()
        if self.database == "sqlite":
            cursor.execute("PRAGMA synchronous = OFF")
            cursor.execute("PRAGMA journal_mode = MEMORY")
        elif self.database == "mariadb":
            cursor.execute("SET innodb_lock_wait_timeout = 5")
        else:
            cursor.execute("SET lock_timeout = '5s'")
        cursor.close()

    def _start_manager(self) -> None:
        # It reads its options, and makes its plugins, when these are imported and made.
        from blazar import rpc  # noqa: PLC0415
        from blazar.manager import service  # noqa: PLC0415
        from blazar.notification import notifier  # noqa: PLC0415

        rpc.TRANSPORT = None
        notifier.init()
        self.managers = [service.ManagerService() for _ in range(_MANAGERS)]

    def _replace_seams(self) -> None:
        client = Client(self.managers)
        for module, name, value in (
            (manager, "_client", lambda: client),
            (timer, "clock", self.time),
            # A run may take long on a busy machine. Managers that are dead are said to be so.
            (times, "DEAD_AFTER", _UNDYING),
            # The tasks stand for several managers, which share no lock.
            (session, "claims_lock", contextlib.nullcontext()),
            (futures, "ThreadPoolExecutor", Inline),
            (uuid, "uuid4", self.ids.make),
            (lease_contexts, "_log_in", _log_in),
            (exact.ExactFlavorPlugin, "_get_flavor_details", lambda *_: ({}, {}, dict(PLAIN))),
        ):
            self._open.callback(setattr, module, name, getattr(module, name))
            setattr(module, name, value)

    def __exit__(self, *exc: object) -> None:
        self.cloud.__exit__(*exc)
        self._open.close()
        self._forget_caches()
        cfg.CONF.reset()
        cfg.CONF.clear_override("connection", group="database")
        cfg.CONF.clear_override("moves_per_booking", group="warre")
        for group in ("keystone_authtoken", "oslo_limit"):
            with contextlib.suppress(cfg.NoSuchGroupError):
                cfg.CONF.unregister_opts(LOGIN_OPTIONS, group=group)
        timeutils.clear_time_override()

    def clear(self) -> None:
        """Empty the database and the cloud, and set the time to the beginning."""
        self.ids.are_random = True
        databases.empty(self.engine)
        session.change(deliveries.set_channels, CHANNELS)
        self.recorder.notes.clear()
        for service in self.cloud.services:
            service.faults.clear()
        self.cloud.clear_objects()
        self.go_to(parts.NOW)
        forget_answers()

    def go_to(self, now: datetime.datetime) -> None:
        """Set the time."""
        self.now = now
        timeutils.set_time_override(now)

    def log_in(self, build: Callable[["World"], Any]) -> None:
        """Log in anew, some time before the logins expire.

        :param build: needs all of the services.
        """
        if time.monotonic() - self._logged_in < _LOGIN_LASTS:
            return
        caches.forget()
        oslo_limit._SDK_CONNECTION = None
        self.clear()
        build(self)
        self.run(self.new_executor(), self.now)
        self._logged_in = time.monotonic()

    # States.

    def restore(self, name: str, build: Callable[["World"], Any]) -> Any:
        """Put a state back, and return what ``build`` has returned about it."""
        if name not in self._states:
            self.clear()
            made = build(self)
            self._states[name] = (made, self._saved_rows(), self._saved_objects(), self.now)
        made, rows, objects, now = self._states[name]
        self.window_left = None
        self._put_rows(rows)
        for service, names in objects.items():
            for each, value in names.items():
                setattr(getattr(self.cloud, service), each, copy.deepcopy(value))
        for service in self.cloud.services:
            service.requests.clear()
        self.recorder.notes.clear()
        self.go_to(now)
        self.time.seconds = 0.0
        self.ids.begin()
        return made

    def _saved_objects(self) -> dict[str, Any]:
        return {
            service: {n: copy.deepcopy(getattr(getattr(self.cloud, service), n)) for n in names}
            for service, names in _DICTS.items()
        }

    def contents(self) -> int:
        """A digest of all rows and all objects."""
        rows = []
        with contextlib.closing(self.engine.raw_connection()) as raw:
            cursor = raw.cursor()
            for table in tables.metadata.tables:
                cursor.execute(f"SELECT * FROM {table}")
                rows.append(sorted(map(repr, cursor.fetchall())))
        objects = {
            service: [repr(getattr(getattr(self.cloud, service), name)) for name in names]
            for service, names in _DICTS.items()
        }
        return hash((repr(rows), repr(objects), repr(self.recorder.notes), self.now))

    def _saved_rows(self) -> Any:
        if self.database != "sqlite":
            return self.rows()
        copied = sqlite3.connect(":memory:", check_same_thread=False)
        with contextlib.closing(self.engine.raw_connection()) as raw:
            raw.driver_connection.backup(copied)
        return copied

    def _put_rows(self, rows: Any) -> None:
        if self.database == "sqlite":
            with contextlib.closing(self.engine.raw_connection()) as raw:
                rows.backup(raw.driver_connection)
            return
        databases.empty(self.engine)
        databases.put_back(self.engine, rows)

    def make_warre(self) -> warre_site.Warre:
        """Make a Warre with its flavors."""
        url = self._open.enter_context(databases.made("mariadb", self.directory))
        found = warre_site.Warre(sa.create_engine(url, poolclass=sa.NullPool))
        found.make_tables()
        found.run(*(s for s in warre_site._statements("example.sql", {}) if _is_of_flavors(s)))
        return found

    # Who acts.

    @functools.cache  # noqa: B019 - there is one world
    def caller(self, person: str = "alpha") -> Caller:
        """A user of the API."""
        roles = identity.PEOPLE[person]
        ctx = context.BlazarContext(
            user_id=identity.user_id(person),
            project_id=identity.project_id(person),
            auth_token=identity.token(person),
            roles=list(roles),
        )
        return Caller(identity.user_id(person), ctx.to_dict())

    @staticmethod
    def new_executor() -> Executor:
        """The executor of a manager that has just begun."""
        inline = Inline()
        pools = Pools(inline, inline, inline)
        return Executor("host", managers.Outside(), Opener(parts.conditions), lambda: 5.0, pools)

    @staticmethod
    def run(executor: Executor, now: datetime.datetime) -> None:
        """Do what a manager's executor does every second."""
        executor.beat()
        executor.claim(now)
        executor.begin_due(now)


def _is_of_flavors(statement: str) -> bool:
    return "`flavor`" in statement.partition("(")[0]


def forget_answers() -> None:
    """Drop what a process keeps of answers, because each run begins in new processes.

    The logins are kept. A task that logs in would make others wait, because all tasks share the
    session.
    """
    limits._remembered.clear()
    host_trees._read.clear()
    reservations._refused_until.clear()
