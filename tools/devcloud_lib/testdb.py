"""The command line of tools/testdb, which starts database servers that run until `down`."""

import argparse
from pathlib import Path

from devcloud_lib import console, databases, galera
from devcloud_lib.console import say


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="testdb", description="MariaDB and PostgreSQL servers for the database tests."
    )
    parser.add_argument("command", choices=("up", "down", "env", "kill", "leave", "rejoin"))
    parser.add_argument("--galera", action="store_true", help="three nodes of a Galera cluster")
    parser.add_argument(
        "node",
        nargs="?",
        type=int,
        choices=galera.NODES,
        help="the Galera node to kill, shut down (leave) or start again (rejoin)",
    )
    parser.add_argument(
        "--home",
        type=Path,
        default=Path.home() / ".cache/warre-blazar/testdb",
        help="directory of the servers' data",
    )
    options = parser.parse_args()
    home = options.home.expanduser().absolute()
    try:
        if options.command in ("kill", "leave", "rejoin"):
            if options.node is None:
                parser.error(f"{options.command} needs a node: 1, 2 or 3")
            getattr(galera, options.command)(home, options.node)
        else:
            commands = _GALERA if options.galera else _SINGLE
            commands[options.command](home)
    except console.Failure as failure:
        console.report(failure)
        return 1
    return 0


def up(home: Path) -> None:
    """Start MariaDB and PostgreSQL unless they run."""
    installed = databases.install(home)
    if installed:
        say(f"installed {' '.join(installed)}")
    for kind in databases.KINDS:
        say(f"{kind}: {databases.start(kind, home)}")


def down(home: Path) -> None:
    """Stop both servers and remove their data."""
    for kind in databases.KINDS:
        say(f"{kind}: {'stopped' if databases.stop(kind, home) else 'did not run'}")


def env(home: Path) -> None:
    """Print shell lines with the servers' URLs for the tests."""
    for kind in databases.KINDS:
        print(f"export WARRE_TEST_{kind.upper()}_URL='{databases.url(kind, home)}'")


def galera_up(home: Path) -> None:
    """Start the Galera cluster unless it runs."""
    installed = galera.install(home)
    if installed:
        say(f"installed {' '.join(installed)}")
    galera.start(home)
    say(f"galera: {' '.join(galera.urls(home))}")


def galera_down(home: Path) -> None:
    """Stop the Galera cluster and remove its data."""
    say(f"galera: {'stopped' if galera.stop(home) else 'did not run'}")


def galera_env(home: Path) -> None:
    """Print shell lines with the directory and the URLs of the Galera cluster for the tests."""
    urls = galera.urls(home)
    print(f"export WARRE_TEST_GALERA_HOME='{home}'")
    print(f"export WARRE_TEST_GALERA_URLS='{' '.join(urls)}'")


_SINGLE = {"up": up, "down": down, "env": env}
_GALERA = {"up": galera_up, "down": galera_down, "env": galera_env}
