"""The two versions of Blazar and this package on the cloud, and how one replaces the other."""

import contextlib
import dataclasses
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import sqlalchemy as sa
from devcloud_lib import content, readiness
from devcloud_lib.layout import Layout
from devcloud_lib.service import Service

from tests.torture.calm import Absences
from tests.torture.outages import Services

API, MANAGERS = "blazar-api", ("blazar-manager1", "blazar-manager2")
ALL = (*MANAGERS, API)


@dataclasses.dataclass(frozen=True)
class Version:
    """A version, and the virtual environment in which it is installed."""

    name: str
    venv: Path
    #: The threads of each process of its API. None: as many as the cloud's settings say.
    threads: int | None = None

    @property
    def programs(self) -> Path:
        return self.venv / "bin"


class Site:
    """The cloud whose version is replaced.

    :ivar current: the version of the commands that an operator runs now.
    """

    def __init__(
        self, layout: Layout, services: Services, absences: Absences, old: Version, new: Version
    ) -> None:
        self._layout, self._services, self._absences = layout, services, absences
        self.old, self.new = old, new
        self.current = new
        self.config = layout.etc("blazar", "blazar.conf")

    def begin(self) -> None:
        """Let the old version make a database of its own, and start all of Blazar's services."""
        for name in ALL:
            self._service(name).stop()
        # With the tables goes their mark in Placement, beside which new tables would be older ones.
        words = ("downgrade", "base", "--yes", "--with-reservations")
        self.manage("warre-blazar-manage", "db", *words)
        url = sa.make_url(self._layout.database("blazar", charset="utf8"))
        engine = sa.create_engine(url.set(database=""), poolclass=sa.NullPool)
        with engine.begin() as db:
            db.execute(sa.text("DROP DATABASE blazar"))
            db.execute(sa.text("CREATE DATABASE blazar CHARACTER SET utf8mb3"))
        self.current = self.old
        self.manage("blazar-db-manage", "upgrade", "head")
        self.manage("warre-blazar-manage", "setup")
        self.start(ALL, self.old)
        content.register_hosts(self._layout)

    def manage(self, program: str, *words: str) -> str:
        """Run a command of the current version. Return what it prints.

        :raises AssertionError: it fails.
        """
        done = self.tried(program, *words)
        assert done.returncode == 0, f"{program} {' '.join(words)}: {done.stdout}{done.stderr}"
        return done.stdout

    def tried(self, program: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command of the current version, whatever becomes of it."""
        command = [self.current.programs / program, "--config-file", self.config, *words]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def runs(self, script: str, *words: str) -> bool:
        """Whether a line of Python succeeds in the current version, and not in this directory."""
        command = [self.current.programs / "python", "-I", "-c", script, *words]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    def prints(self, script: str) -> str:
        """What a line of Python prints in the current version."""
        command = [self.current.programs / "python", "-I", "-c", script]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def upgrade_tables(self) -> None:
        """Upgrade Blazar's tables and this package's, by the commands of the new version."""
        self.current = self.new
        self.manage("blazar-db-manage", "upgrade", "head")
        self.manage("warre-blazar-manage", "db", "upgrade")

    def replace(self, name: str, version: Version) -> None:
        """Stop a service, and start it in a version."""
        with self._away(name, "replaced"):
            self._service(name).stop()
            self.start([name], version)

    @contextlib.contextmanager
    def stopped(self) -> Iterator[None]:
        """Stop all services, and note that they are away while the block runs."""
        with contextlib.ExitStack() as stack:
            for name in reversed(ALL):
                stack.enter_context(self._away(name, "stopped"))
                self._service(name).stop()
            yield

    def kill(self, name: str) -> None:
        """Kill a manager. It counts as away until the other managers have noticed."""
        absence = self._absences.begin(name, "killed", time.time())
        self._service(name).stop(kill=True)
        absence.back = time.time()

    def start(self, names: Sequence[str], version: Version) -> None:
        """Start services that don't run, and wait until they answer."""
        services = [self._of(name, version) for name in names]
        for service in services:
            service.start()
        self._services.wait(services, readiness.TIMEOUT_SECONDS)

    def _service(self, name: str) -> Service:
        (service,) = self._services.matching(name)
        return service

    def _of(self, name: str, version: Version) -> Service:
        service, usual = self._service(name), str(self._layout.venv)
        words = tuple(word.replace(usual, str(version.venv)) for word in service.command)
        if version.threads is not None:
            threads = f"--threads={version.threads}"
            words = tuple(threads if word.startswith("--threads=") else word for word in words)
        return dataclasses.replace(service, command=words)

    @contextlib.contextmanager
    def _away(self, name: str, how: str) -> Iterator[None]:
        absence = self._absences.begin(name, how, time.time())
        try:
            yield
        finally:
            absence.back = time.time()
