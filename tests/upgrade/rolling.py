"""Replaces the old version by the new one step by step, then back, then again."""

import threading
import time
from collections.abc import Callable

import sqlalchemy as sa

from tests.functional.cloud.waiting import until
from tests.upgrade.standing import Standing
from tests.upgrade.versions import ALL, API, MANAGERS, Site

#: Seconds of both versions beside each other, after each step. Something starts and ends in each
#: minute.
BESIDE = 40.0
_CLAIMED = """
SELECT m.host FROM warre_executions e JOIN warre_managers m ON m.id = e.manager_id
WHERE e.lease_id = :lease
"""


class Rolling:
    """A thread that takes the place of the torture test's outages.

    :ivar steps: each step that was done, with its seconds.
    :ivar back: how the old version came back: in the words of the table.
    """

    def __init__(
        self, site: Site, standing: Standing, database: str, resumed: Callable[[], None]
    ) -> None:
        """
        :param resumed: called when all services have been stopped, and are there again.
        """
        self._site, self._standing, self._database = site, standing, database
        self._resumed = resumed
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="rolling", daemon=True)
        self.failure: BaseException | None = None
        self.steps: list[tuple[str, float]] = []
        self.back = "not tried"

    def start(self) -> None:
        self._thread.start()

    def last(self, _seconds: float, over: threading.Event) -> None:
        """Return when all steps are done, or when it is over."""
        while self._thread.is_alive() and not over.is_set():
            self._thread.join(1)

    def stop(self) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            self._do_all()
        except BaseException as error:
            self.failure = error
            raise

    def _do_all(self) -> None:
        self._over.wait(BESIDE)
        first = self._interrupted()
        second = next(name for name in MANAGERS if name != first)
        self._forward(first, second)
        self._back(first, second)
        self._forward(first, second)

    def _forward(self, first: str, second: str) -> None:
        site = self._site
        self._step("tables, by the new version", site.upgrade_tables)
        for name in (first, API, second):
            self._step(f"{name} -> {site.new.name}", lambda n=name: site.replace(n, site.new))

    def _back(self, first: str, second: str) -> None:
        """Let the old version come back, one service after the other if it accepts the tables."""
        site = self._site
        check = "import sys; from warre_blazar.db import migration; migration.check(sys.argv[1])"
        site.current = site.old
        if site.runs(check, self._database):
            self.back = "one service after the other"
            for name in (API, second, first):
                self._step(f"{name} -> {site.old.name}", lambda n=name: site.replace(n, site.old))
            return
        revision = site.prints("from warre_blazar.db import migration; print(migration.head())")
        site.current = site.new
        self._step("all -> " + site.old.name, lambda: self._back_at_once(revision))
        self.back = f"all stopped for {self.steps[-1][1]:.0f} s, tables at {revision} again"

    def _back_at_once(self, revision: str) -> None:
        site = self._site
        with site.stopped():
            site.manage("warre-blazar-manage", "db", "downgrade", revision, "--yes")
            site.current = site.old
            site.start(ALL, site.old)
        self._resumed()

    def _step(self, name: str, do: Callable[[], None]) -> None:
        if self._over.is_set():
            return
        began = time.monotonic()
        do()
        self.steps.append((name, time.monotonic() - began))
        print(f"{time.strftime('%H:%M:%S')} {name}: {self.steps[-1][1]:.1f} s", flush=True)
        self._over.wait(BESIDE)

    def _interrupted(self) -> str:
        """Kill the manager that starts a reservation half way. Return the manager's name."""
        lease = self._standing.halves()["lease_id"]
        engine = sa.create_engine(self._database, poolclass=sa.NullPool)

        def claimed() -> str | None:
            with engine.connect() as db:
                return db.scalar(sa.text(_CLAIMED), {"lease": lease})

        name = f"blazar-{until('a manager to start it', claimed, pause=0.05)}"
        self._site.kill(name)
        print(f"{time.strftime('%H:%M:%S')} {name}: killed while it starts a lease", flush=True)
        return name
