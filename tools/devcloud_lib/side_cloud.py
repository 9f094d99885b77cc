"""Runs a dev cloud that belongs to one part of tools/test, beside the one of tools/devcloud."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from devcloud_lib import settings
from devcloud_lib.console import Failure
from devcloud_lib.settings import REPOSITORY

TOOL = REPOSITORY / "tools" / "devcloud"


@contextmanager
def running(home: Path, *options: str) -> Iterator[None]:
    """Start a cloud in a directory, and stop it at the end.

    :param options: options of ``tools/devcloud up``, among them a ``--port-offset`` of its own.
    """
    programs, shared = home / "venv", settings.default_home() / "venv"
    home.mkdir(parents=True, exist_ok=True)
    programs.unlink(missing_ok=True)
    # The clouds run the same programs.
    shared.mkdir(parents=True, exist_ok=True)
    programs.symlink_to(shared)
    try:
        _devcloud(home, "up", *options)
        yield
    finally:
        _devcloud(home, "down")


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
