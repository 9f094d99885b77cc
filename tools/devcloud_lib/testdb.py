"""The command line of tools/testdb: database servers that stay until they are ended."""

import argparse
from pathlib import Path

from devcloud_lib import console, databases
from devcloud_lib.console import say


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="testdb", description="MariaDB and PostgreSQL servers for the database tests."
    )
    parser.add_argument("command", choices=("up", "down", "env"))
    parser.add_argument(
        "--home", type=Path, default=Path.home() / ".cache/warre-blazar/testdb", help="directory"
    )
    options = parser.parse_args()
    home = options.home.expanduser().absolute()
    try:
        {"up": up, "down": down, "env": env}[options.command](home)
    except console.Failure as failure:
        console.report(failure)
        return 1
    return 0


def up(home: Path) -> None:
    """Start both servers, where they do not run."""
    installed = databases.install(home)
    if installed:
        say(f"installed {' '.join(installed)}")
    for kind in databases.KINDS:
        say(f"{kind}: {databases.start(kind, home)}")


def down(home: Path) -> None:
    """End both servers and remove their data."""
    for kind in databases.KINDS:
        say(f"{kind}: {'ended' if databases.stop(kind, home) else 'did not run'}")


def env(home: Path) -> None:
    """Print the shell lines that lead the tests to the servers."""
    for kind in databases.KINDS:
        print(f"export WARRE_TEST_{kind.upper()}_URL='{databases.url(kind, home)}'")
