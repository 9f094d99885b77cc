"""Private, throwaway database servers for tests.

    with databases.mariadb(home) as url: ...

gives the SQLAlchemy URL of an empty database `blazar` on a free port of loopback. Server and data
are removed afterwards. `start` and `stop` do the same for servers that outlive a command.
"""

import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from devcloud_lib import apt, processes, readiness
from devcloud_lib import mariadb as mariadb_server
from devcloud_lib import postgresql as postgresql_server
from devcloud_lib.console import Failure
from devcloud_lib.ports import free_port

DATABASE = "blazar"
KINDS = ("mariadb", "postgresql")
# The signal that ends each server at once. With SIGTERM, PostgreSQL would wait for its clients.
_STOP = {"mariadb": signal.SIGTERM, "postgresql": signal.SIGINT}


@contextmanager
def mariadb(home: Path) -> Iterator[str]:
    """Run a MariaDB server in `home` for the duration of the block."""
    yield from _throwaway("mariadb", home)


@contextmanager
def postgresql(home: Path) -> Iterator[str]:
    """Run a PostgreSQL server in `home` for the duration of the block."""
    yield from _throwaway("postgresql", home)


def install(home: Path) -> list[str]:
    """Install the servers' missing Debian packages, and return their names."""
    missing = [*mariadb_server.missing_packages(), *postgresql_server.missing_packages()]
    apt.install(missing, home / "log" / "apt.log")
    return missing


def start(kind: str, home: Path) -> str:
    """Start a server unless it runs. Return the URL of its database."""
    if processes.running(_pid_file(kind, home)) is None:
        port, log = free_port(), _log(kind, home)
        create, command, user = _recipe(kind, home, port, log)
        create()
        processes.start(command, _pid_file(kind, home), log, {}, str(port), user)
        try:
            readiness.wait_until(
                lambda: _accepts(kind, port),
                lambda: processes.running(_pid_file(kind, home)) is None,
                kind,
                seconds=60,
            )
        except Failure as failure:
            stop(kind, home)
            raise Failure(str(failure), log) from failure
    return url(kind, home)


def stop(kind: str, home: Path) -> bool:
    """Stop a server and remove its data. Return whether it was running."""
    ran = processes.stop([_pid_file(kind, home)], with_signal=_STOP[kind]) > 0
    if kind == "postgresql":
        postgresql_server.remove(home)
    else:
        shutil.rmtree(home / "mariadb", ignore_errors=True)
    return ran


def url(kind: str, home: Path) -> str:
    """Return the URL of a running server's database."""
    record = processes.running(_pid_file(kind, home))
    if record is None:
        raise Failure(f"no {kind} runs in {home}: run `up` first")
    port = int(record.fingerprint)
    if kind == "postgresql":
        return postgresql_server.url(port, DATABASE)
    return mariadb_server.url(port, DATABASE, charset="utf8")


def _recipe(
    kind: str, home: Path, port: int, log: Path
) -> tuple[Callable[[], None], tuple[str, ...], str | None]:
    """Return a function that makes the server's data, the server's command line, and its user."""
    if kind == "postgresql":
        user = postgresql_server.account()
        return (
            lambda: postgresql_server.create(home, DATABASE, log),
            postgresql_server.command(home, port),
            user,
        )
    directory = home / "mariadb"
    return (
        lambda: mariadb_server.create(directory, [DATABASE], log),
        mariadb_server.command(directory, port),
        None,
    )


def _accepts(kind: str, port: int) -> bool:
    if kind == "postgresql":
        return postgresql_server.accepts(port)
    return readiness.Tcp(port, greets=True).answers()


def _throwaway(kind: str, home: Path) -> Iterator[str]:
    home = home.absolute()
    try:
        yield start(kind, home)
    finally:
        stop(kind, home)


def _pid_file(kind: str, home: Path) -> Path:
    return home / "run" / f"{kind}.pid"


def _log(kind: str, home: Path) -> Path:
    return home / "log" / f"{kind}.log"
