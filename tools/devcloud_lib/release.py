"""Builds a release, an sdist and a wheel, and tries the wheel in a clean environment.

The wheel is built from the sdist. It is installed with its extra ``cli`` and with released packages
only, and used from outside the repository.
"""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from devcloud_lib import limits, shell
from devcloud_lib.console import say
from devcloud_lib.installer import Installer
from devcloud_lib.settings import REPOSITORY

_SMOKE = Path(__file__).resolve().parent / "inside" / "smoke.py"
#: Seconds for the checks.
_LIMIT = 300


def run(home: Path, builder: Path) -> bool:
    """Build, install and try a release. Return whether all of it succeeded.

    :param builder: a Python that has ``build``.
    """
    directory, log = home / "release", home / "log" / "release.log"
    shutil.rmtree(directory, ignore_errors=True)
    log.unlink(missing_ok=True)
    shell.run([builder, "-m", "build", "--outdir", directory / "dist", REPOSITORY], log)
    wheel = next((directory / "dist").glob("*.whl"))
    for path in sorted((directory / "dist").iterdir()):
        say(f"built {path.name}, {path.stat().st_size // 1024} KiB")
    installer = Installer(home / "uv", log)
    installer.make(directory / "venv")
    python = directory / "venv" / "bin" / "python"
    # Operators already have the openstack command, to which the wheel adds its commands.
    packages = [f"{wheel}[cli]", "python-openstackclient"]
    installer.install(directory / "venv", *packages)
    shell.run([python, "-m", "pip", "check"], log)
    return _tried([python, "-I", "-W", "ignore", _SMOKE], directory)


def run_short(home: Path, builder: Path) -> bool:
    """Build a wheel, and try it in the environment of the tests. Return whether that succeeded.

    What the wheel holds takes the place of what that environment has.

    :param builder: the Python of that environment.
    """
    directory, log = home / "release-short", home / "log" / "release-short.log"
    shutil.rmtree(directory, ignore_errors=True)
    dist = directory / "dist"
    shell.run([builder, "-m", "build", "--wheel", "--outdir", dist, REPOSITORY], log)
    wheel = next(dist.glob("*.whl"))
    target = directory / "wheel"
    shell.run([builder, "-m", "zipfile", "-e", wheel, target], log)
    return _tried([builder, "-W", "ignore", _SMOKE], directory, {"PYTHONPATH": str(target)})


def _tried(
    command: list[str | Path], directory: Path, variables: Mapping[str, str] | None = None
) -> bool:
    """Run the checks of a release outside the repository."""
    environment = {**os.environ, **(variables or {})}
    words = [*map(str, command), str(REPOSITORY / "setup.cfg")]
    return limits.run(
        limits.Job("the release", words, _LIMIT, directory=directory, environment=environment)
    )
