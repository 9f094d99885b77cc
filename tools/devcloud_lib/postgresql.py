"""A private PostgreSQL server in a directory of its own."""

import hashlib
import os
import pwd
import shutil
import subprocess
from pathlib import Path

from devcloud_lib import shell
from devcloud_lib.console import Failure

USER = "warre"
PACKAGE = "postgresql"
_PROGRAMS = Path("/usr/lib/postgresql")
# The account that Debian's package makes. It can reach its home directory.
_ACCOUNT = "postgres"


def missing_packages() -> list[str]:
    """Return the Debian packages that have to be installed."""
    return [] if _versions() else [PACKAGE]


def account() -> str | None:
    """Return the user that PostgreSQL runs as, or None for the current user.

    PostgreSQL refuses to run as root.
    """
    return _ACCOUNT if os.geteuid() == 0 else None


def data_directory(home: Path) -> Path:
    """Return the data directory of `home`: below it, unless another user has to reach the data."""
    if account() is None:
        return home / "postgresql"
    name = hashlib.sha256(str(home).encode()).hexdigest()[:12]
    return Path(pwd.getpwnam(_ACCOUNT).pw_dir) / f"warre-{name}"


def create(home: Path, database: str, log: Path) -> None:
    """Make the data directory with a database in it, unless it exists."""
    data = data_directory(home)
    if (data / "PG_VERSION").exists():
        return
    words: shell.Words = [
        _program("initdb"),
        f"--pgdata={data}",
        f"--username={USER}",
        # The server listens on loopback only and its data are disposable, so no password is needed.
        "--auth=trust",
        "--encoding=UTF8",
        "--locale=C",
        "--no-sync",
    ]
    shell.run(words, log, user=account())
    single: shell.Words = [_program("postgres"), "--single", "-D", data, "postgres"]
    shell.run(single, log, user=account(), stdin=f"CREATE DATABASE {database};\n")


def command(home: Path, port: int) -> tuple[str, ...]:
    """Return the command line that runs the server in the foreground."""
    data = data_directory(home)
    options = {
        "listen_addresses": "127.0.0.1",
        "unix_socket_directories": "",
        "max_connections": "300",
        # Nobody needs the data after a crash of the machine.
        "fsync": "off",
        "synchronous_commit": "off",
        "full_page_writes": "off",
        # It compiles statements for longer than small tables are read.
        "jit": "off",
    }
    words = [f"--{name}={value}" for name, value in options.items()]
    return (str(_program("postgres")), "-D", str(data), "-p", str(port), *words)


def accepts(port: int) -> bool:
    """Whether the server accepts clients. It opens its port before it does so."""
    words = [str(_program("pg_isready")), "--quiet", "--host=127.0.0.1", f"--port={port}"]
    return subprocess.run(words, check=False).returncode == 0


def remove(home: Path) -> None:
    """Remove the data."""
    shutil.rmtree(data_directory(home), ignore_errors=True)


def url(port: int, database: str) -> str:
    """Return SQLAlchemy's URL of a database."""
    return f"postgresql+psycopg2://{USER}@127.0.0.1:{port}/{database}"


def _versions() -> list[Path]:
    directories = [path.parent for path in _PROGRAMS.glob("*/bin/initdb")]
    return sorted(directories, key=lambda path: float(path.parent.name))


def _program(name: str) -> Path:
    if not _versions():
        raise Failure(f"no PostgreSQL under {_PROGRAMS}")
    return _versions()[-1] / name
