"""A private MariaDB server in a directory of its own."""

import getpass
from pathlib import Path

from devcloud_lib import apt, shell

USER = "warre"
PASSWORD = "secret"
PACKAGE = "mariadb-server-core"


def missing_packages() -> list[str]:
    """Return the Debian packages to install. The core package doesn't start the server."""
    programs = ("mariadbd", "mariadb-install-db")
    return [] if all(apt.find(name) for name in programs) else [PACKAGE, "mariadb-client-core"]


def create(directory: Path, databases: list[str], log: Path) -> None:
    """Make the data directory unless it exists, and the SQL that the server runs at each start."""
    _temporary(directory).mkdir(parents=True, exist_ok=True)
    _init_file(directory).write_text("".join(f"{line}\n" for line in _statements(databases)))
    if (directory / "data" / "mysql").exists():
        return
    words: shell.Words = [
        apt.program("mariadb-install-db"),
        "--no-defaults",
        f"--datadir={directory / 'data'}",
        f"--user={getpass.getuser()}",
        "--auth-root-authentication-method=normal",
        "--skip-test-db",
    ]
    # As for the server, not the usual /tmp: others may be installed or started at this moment.
    shell.run(words, log, {"TMPDIR": str(_temporary(directory))})


def command(directory: Path, port: int) -> tuple[str, ...]:
    """Return the command line that runs the server in the foreground."""
    return (
        str(apt.program("mariadbd")),
        "--no-defaults",
        f"--user={getpass.getuser()}",
        f"--datadir={directory / 'data'}",
        # Relative to the data directory, because a socket's path can't exceed 107 characters.
        "--socket=mariadb.sock",
        f"--pid-file={directory / 'mariadb.pid'}",
        # Not the usual /tmp: a server that starts deletes the temporary tables that it finds there,
        # and another server that uses one of them crashes.
        f"--tmpdir={_temporary(directory)}",
        f"--init-file={_init_file(directory)}",
        f"--port={port}",
        "--bind-address=127.0.0.1",
        "--max-connections=1000",
        "--skip-log-bin",
        # Commits survive if the server is killed. A machine's crash may lose everything. Nobody
        # needs it then, and waiting for the disk is most of what a new table takes.
        "--innodb-flush-log-at-trx-commit=2",
        "--innodb-flush-method=nosync",
        "--debug-no-sync",
        # The default is too small for the benchmarks' larger tables. Operators' servers have more.
        "--innodb-buffer-pool-size=512M",
    )


def url(port: int, database: str, charset: str = "utf8mb4") -> str:
    """Return SQLAlchemy's URL of a database.

    Without TLS: PyMySQL would read the system's certificates for each connection.
    """
    server = f"{USER}:{PASSWORD}@127.0.0.1:{port}"
    return f"mysql+pymysql://{server}/{database}?charset={charset}&ssl_disabled=true"


def _temporary(directory: Path) -> Path:
    return directory / "tmp"


def _init_file(directory: Path) -> Path:
    return directory / "init.sql"


def _statements(databases: list[str]) -> list[str]:
    # utf8mb3, because some projects' indexes are too long with four bytes for each character.
    statements = [
        f"CREATE DATABASE IF NOT EXISTS {name} CHARACTER SET utf8mb3;" for name in databases
    ]
    for host in ("%", "localhost"):
        statements.append(
            f"CREATE USER IF NOT EXISTS '{USER}'@'{host}' IDENTIFIED BY '{PASSWORD}';"
        )
        statements.append(f"GRANT ALL ON *.* TO '{USER}'@'{host}';")
    return statements
