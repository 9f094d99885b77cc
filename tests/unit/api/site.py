"""Blazar as a whole in this process: its API, its manager, a database, a cloud.

The API is Blazar's own application, which loads our extension; the manager is Blazar's own service
with our plugin, on the other end of oslo.messaging's transport within a process.
"""

import collections
import configparser
import contextlib
import copy
import datetime
import logging
import pathlib
import threading
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from typing import Any, Self, TypeVar
from unittest import mock

import sqlalchemy as sa
from blazar import context, rpc
from oslo_config import cfg
from oslo_limit import limit as oslo_limit
from oslo_utils import timeutils

from tests.fakes.cloud import LOGIN_OPTIONS, Cloud
from tests.fakes.cyborg import Cyborg
from tests.fakes.glance import Glance
from tests.fakes.nova import Nova
from tests.fakes.placement import Placement
from tests.functional.db import databases, managers
from tests.unit.api import bus
from tests.unit.api.identity import Identity
from warre_blazar import conf, policy, timer, times
from warre_blazar.db import session
from warre_blazar.db import tables as models
from warre_blazar.db.hosts import kept_hosts
from warre_blazar.openstack import caches, limits, nova_quotas, people
from warre_blazar.plugins import monitor
from warre_blazar.services.booking.through_manager import calls, reservations
from warre_blazar.services.running.executor import Executor, Pools

T = TypeVar("T")
Rows = dict[str, list[tuple[Any, ...]]]

_OF_REFUSALS = (models.refusals.name, models.refusal_counts.name)

#: The present time in these tests.
NOW = datetime.datetime(2100, 1, 1, 12)

# Blazar's v1 doesn't answer unless this logger has the level INFO.
logging.getLogger("blazar.api.v1.request_log").setLevel(logging.INFO)
# Blazar makes a client of its own for every request, of which this complains each time.
logging.getLogger("oslo_messaging.rpc.client").setLevel(logging.ERROR)


class SiteCloud(Cloud):
    """The cloud with a Keystone that users can log in to."""

    keystone: Identity

    def __init__(self) -> None:
        self.keystone = Identity()
        self.glance = Glance(self.keystone)
        self.placement = Placement(self.keystone)
        self.nova = Nova(self.keystone, self.glance, self.placement)
        self.cyborg = Cyborg(self.keystone)
        self.services = (self.keystone, self.nova, self.glance, self.placement, self.cyborg)
        self.keystone.endpoints = {
            "identity": self.keystone.url + "/v3",
            "compute": self.nova.url + "/v2.1",
            "placement": self.placement.url,
            "image": self.glance.url,
            "reservation": "http://blazar.example/reservation/v1",
        }

    def clear(self) -> None:
        """Let all services work, and remove everything from them."""
        self.mend()
        self.clear_objects()

    def clear_objects(self) -> None:
        """Remove everything from all services."""
        self.remove_cyborg()
        self.keystone.forget()
        for objects in self._objects():
            objects.clear()
        self.nova.servers_stay = False

    def _objects(self) -> list[Any]:
        """The dicts and sets with the objects that reservations and hosts have in the cloud."""
        nova, placement = self.nova, self.placement
        kinds = (
            nova.flavors,
            nova.aggregates,
            nova.servers,
            nova.migrations,
            nova.hosts,
            nova.hypervisors,
            nova.servers_on,
            nova.quotas,
        )
        return [
            *kinds,
            self.glance.images,
            placement.classes,
            placement.traits,
            placement.providers,
            placement.allocations,
        ]

    def copied(self) -> list[Any]:
        """Copies of all objects, and of Keystone's trusts."""
        return copy.deepcopy([*self._objects(), self.keystone.trusts])

    def restore(self, copied: list[Any]) -> None:
        """Restore what ``copied`` has returned."""
        for objects, before in zip(
            [*self._objects(), self.keystone.trusts], copy.deepcopy(copied), strict=True
        ):
            objects.clear()
            objects.update(before)


class Clock(timer.Clock):
    """A clock on which time passes only while somebody waits. Waiting takes no real time."""

    def __init__(self) -> None:
        self._now = 0.0
        #: A function that is called each time somebody waits, unless it is being called already.
        self.meanwhile: Callable[[], None] = lambda: None
        self._busy = threading.Lock()

    def now(self) -> float:
        return self._now

    def sleep(self, seconds: float) -> None:
        self._now += seconds
        if self._busy.acquire(blocking=False):
            try:
                self.meanwhile()
            finally:
                self._busy.release()


class SlowExecutor(Executor):
    """An executor whose heartbeat stays young, however long a test takes."""

    def beat(self) -> None:
        super().beat()
        far = datetime.datetime(2200, 1, 1)
        session.change(lambda db: db.execute(models.managers.update().values(heartbeat=far)))


class Site:
    """The whole site. ``app`` is its WSGI application."""

    #: The manager's plugins. Everything else of this package follows from the first one.
    plugins = "flavor.slot.plugin"
    #: Options that aren't needed, but that a site may have set.
    filters = ""
    controllers = "oshosts,leases"
    #: The tables that the database has.
    tables: Collection[sa.Table] = models.metadata.sorted_tables

    def __init__(self, directory: pathlib.Path) -> None:
        self.cloud = SiteCloud()
        #: Has the file blazar.conf.
        self.directory = directory
        #: Isn't there unless a test writes it.
        self.policy_file = directory / "policy.yaml"
        self._remembered: dict[str, tuple[Any, Rows, list[Any]]] = {}
        #: The clock by which the whole package waits.
        self.clock = Clock()
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        self._forget_caches()
        cfg.CONF(["--config-file", str(self._configuration())], project="blazar")
        # The limits that a test sets hold at once.
        cached_for = mock.patch.object(times, "LIMITS_CACHED_FOR", 0)
        self._stack.enter_context(cached_for)
        self._stack.enter_context(bus.installed())
        self.engine = self._stack.enter_context(databases.connected())
        models.metadata.create_all(self.engine, self.tables)
        self._start_manager()
        self.app = self._make_app()
        return self

    @staticmethod
    def _make_app() -> Any:
        """What Blazar's own WSGI module serves."""
        # Blazar builds its controllers of v2 then, by the configuration.
        from blazar.api import app  # noqa: PLC0415

        return app.VersionSelectorApplication()

    def __exit__(self, *exc: object) -> None:
        self._manager._server.stop()
        self._manager._server.wait()
        self.cloud.__exit__(*exc)
        self._stack.close()
        self._forget_caches()
        cfg.CONF.reset()
        # Registered when somebody logged in, and required of all tests after.
        for group in ("keystone_authtoken", "oslo_limit"):
            cfg.CONF.unregister_opts(LOGIN_OPTIONS, group=group)

    def _configuration(self) -> pathlib.Path:
        conf.register(cfg.CONF)
        parser = configparser.RawConfigParser()
        parser.read_dict(
            {
                "DEFAULT": {"transport_url": "fake://", **self.cloud.options()},
                "database": {
                    "connection": f"sqlite:///{self.directory / 'blazar.sqlite'}",
                    "sqlite_synchronous": "false",
                },
                "manager": {"plugins": self.plugins},
                "enforcement": {"enabled_filters": self.filters},
                "api": {"api_v2_controllers": self.controllers},
                "oslo_policy": {"policy_file": str(self.policy_file)},
                **self.cloud.keystone.options(),
            }
        )
        path = self.directory / "blazar.conf"
        with path.open("w") as file:
            parser.write(file)
        return path

    def _start_manager(self) -> None:
        # It reads its options, and makes its plugins, when these are imported and made.
        from blazar.manager import service  # noqa: PLC0415
        from blazar.notification import notifier  # noqa: PLC0415

        rpc.TRANSPORT = None
        notifier.init()
        self._manager = service.ManagerService()
        self._manager._server.start()

    @staticmethod
    def _forget_caches() -> None:
        caches.forget()
        policy._enforcer.cache_clear()
        oslo_limit._SDK_CONNECTION = None

    def clear(self) -> None:
        """Empty the database and the cloud, and set the time to NOW."""
        databases.empty(self.engine)
        # Hypothesis seeds the dice, so hosts of two tests may have the same first generation.
        kept_hosts.forget()
        self.cloud.clear()
        limits._remembered.clear()
        people._read.clear()
        calls._alive.clear()
        reservations._refused_until.clear()
        nova_quotas._asked.clear()
        self.set_time(NOW)
        self.clock.meanwhile = self.execute
        self.outside = managers.Outside()
        inline = managers.Inline()
        pools = Pools(inline, inline, inline)
        self.executor = SlowExecutor("host", self.outside, monitor.opener(), lambda: 5.0, pools)

    @staticmethod
    def failures() -> collections.deque[BaseException]:
        """The exceptions with which the manager answered, newest last."""
        return bus.failures

    @staticmethod
    def set_time(now: datetime.datetime) -> None:
        """Set the time for the API and the manager."""
        timeutils.set_time_override(now)

    @staticmethod
    def settle() -> None:
        """Wait until the manager has handled all requests."""
        bus.settle()

    @staticmethod
    def without_manager() -> AbstractContextManager[None]:
        """A context in which no manager listens. Requests that are sent in it are lost."""
        return bus.without_listener()

    def execute(self) -> None:
        """Do what a manager's executor does every second."""
        now = timeutils.utcnow()
        self.executor.beat()
        self.executor.claim(now)
        self.executor.begin_due(now)

    def run_events(self) -> None:
        """Do what the manager does every ten seconds: start and end the leases that are due."""
        with context.BlazarContext():
            self._manager._process_events()

    def remembered(self, make: Callable[[], T]) -> T:
        """The result of ``make``. Later calls restore what the site had after the first one.

        The time is not restored.
        """
        key = f"{make.__module__}.{make.__qualname__}"
        if key not in self._remembered:
            self._remembered[key] = (make(), self.rows(), self.cloud.copied())
            return self._remembered[key][0]
        made, rows, objects = self._remembered[key]
        self.cloud.restore(objects)
        databases.empty(self.engine)
        databases.put_back(self.engine, rows)
        return made

    def rows(self) -> Rows:
        """All rows by table, for comparisons that show whether anything has changed.

        The notes of refused requests are left out, because a refusal changes nothing else.
        """
        rows = databases.dump(self.engine)
        return {name: found for name, found in rows.items() if name not in _OF_REFUSALS}
