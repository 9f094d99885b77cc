"""Builds a release, an sdist and a wheel, and tries the wheel in a clean environment.

The wheel is built from the sdist. It is installed with its extras ``server`` and ``cli`` and with
released packages only, and used from outside the repository. In a second environment it is
installed with its extra ``cli`` alone.
"""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from devcloud_lib import limits, shell
from devcloud_lib.console import say
from devcloud_lib.installer import Installer
from devcloud_lib.settings import REPOSITORY

_INSIDE = Path(__file__).resolve().parent / "inside"
_SMOKE, _LAPTOP = _INSIDE / "smoke.py", _INSIDE / "laptop.py"
_SETUP = REPOSITORY / "setup.cfg"
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
    installer.install(directory / "venv", f"{wheel}[server,cli]")
    shell.run([python, "-m", "pip", "check"], log)
    complete = _tried([python, "-I", "-W", "ignore", _SMOKE, _SETUP], directory)
    return _tried_on_laptop(wheel, directory, installer) and complete


def run_short(home: Path, builder: Path) -> bool:
    """Build a wheel, and try it in the environment of the tests. Return whether that succeeded.

    What the wheel holds takes the place of what that environment has. The commands alone are tried
    in an environment of their own.

    :param builder: the Python of that environment.
    """
    directory, log = home / "release-short", home / "log" / "release-short.log"
    shutil.rmtree(directory, ignore_errors=True)
    dist = directory / "dist"
    shell.run([builder, "-m", "build", "--wheel", "--outdir", dist, REPOSITORY], log)
    wheel = next(dist.glob("*.whl"))
    target = directory / "wheel"
    shell.run([builder, "-m", "zipfile", "-e", wheel, target], log)
    complete = _tried(
        [builder, "-W", "ignore", _SMOKE, _SETUP], directory, {"PYTHONPATH": str(target)}
    )
    return _tried_on_laptop(wheel, directory, Installer(home / "uv", log)) and complete


def _tried_on_laptop(wheel: Path, directory: Path, installer: Installer) -> bool:
    """Install a wheel with its extra ``cli`` alone, and run the checks of this environment."""
    installer.make(directory / "laptop")
    installer.install(directory / "laptop", f"{wheel}[cli]")
    return _tried([directory / "laptop" / "bin" / "python", "-I", _LAPTOP], directory)


def _tried(
    command: list[str | Path], directory: Path, variables: Mapping[str, str] | None = None
) -> bool:
    """Run the checks of a release outside the repository."""
    environment = {**os.environ, **(variables or {})}
    words = list(map(str, command))
    return limits.run(
        limits.Job("the release", words, _LIMIT, directory=directory, environment=environment)
    )
