"""Private, throwaway database servers for tests.

    with databases.mariadb(home) as url: ...

yields the SQLAlchemy URL of an empty database `blazar` on a free port of loopback; server and
data are gone afterwards. `start` and `stop` do the same for servers that outlive a command.
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
# How each server ends at once: PostgreSQL's SIGTERM would wait for clients to leave.
_STOP = {"mariadb": signal.SIGTERM, "postgresql": signal.SIGINT}


@contextmanager
def mariadb(home: Path) -> Iterator[str]:
    """A MariaDB server in `home` for as long as the block runs."""
    yield from _throwaway("mariadb", home)


@contextmanager
def postgresql(home: Path) -> Iterator[str]:
    """A PostgreSQL server in `home` for as long as the block runs."""
    yield from _throwaway("postgresql", home)


def install(home: Path) -> list[str]:
    """Install the servers' Debian packages where missing; which were."""
    missing = [*mariadb_server.missing_packages(), *postgresql_server.missing_packages()]
    apt.install(missing, home / "log" / "apt.log")
    return missing


def start(kind: str, home: Path) -> str:
    """Start a server unless it runs; the URL of its database."""
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
    """End a server and remove its data; whether it ran."""
    ran = processes.stop([_pid_file(kind, home)], with_signal=_STOP[kind]) > 0
    if kind == "postgresql":
        postgresql_server.remove(home)
    else:
        shutil.rmtree(home / "mariadb", ignore_errors=True)
    return ran


def url(kind: str, home: Path) -> str:
    """The URL of a running server's database."""
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
    """How to make a server's data, how to run it, and as whom."""
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
