"""Runs a dev cloud that belongs to one part of tools/test, beside the one of tools/devcloud."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from devcloud_lib import package_sets, settings
from devcloud_lib.console import Failure
from devcloud_lib.settings import REPOSITORY

TOOL = REPOSITORY / "tools" / "devcloud"


@contextmanager
def running(home: Path, *options: str, release: str = package_sets.NEWEST.name) -> Iterator[None]:
    """Start a cloud in a directory, and stop it at the end.

    :param options: options of ``tools/devcloud up``, among them a ``--port-offset`` of its own.
    :param release: the name of the cloud's set of packages.
    """
    home.mkdir(parents=True, exist_ok=True)
    if release == package_sets.NEWEST.name:
        _share_programs(home / "venv")
    try:
        _devcloud(home, "up", "--release", release, *options)
        yield
    finally:
        _devcloud(home, "down")


def _share_programs(programs: Path) -> None:
    """Let a cloud run the programs of the cloud of tools/devcloud."""
    shared = settings.default_home() / "venv"
    programs.unlink(missing_ok=True)
    shared.mkdir(parents=True, exist_ok=True)
    programs.symlink_to(shared)


def register_hosts(home: Path) -> None:
    """Register all computes of the cloud in Blazar."""
    _devcloud(home, "hosts")


def wipe(home: Path) -> None:
    """Stop the cloud if it runs, and delete its data."""
    _devcloud(home, "down", "--wipe")


def _devcloud(home: Path, command: str, *options: str) -> None:
    words = [TOOL, command, "--home", home, *options]
    if subprocess.run(words, check=False).returncode != 0:
        raise Failure(f"devcloud {command} has failed")
