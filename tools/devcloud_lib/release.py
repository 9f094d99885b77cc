"""Builds a release, an sdist and a wheel, and tries the wheel in a clean environment.

The wheel is built from the sdist. It is installed with its extra ``cli`` and with released packages
only, and used from outside the repository.
"""

import shutil
import subprocess
from pathlib import Path

from devcloud_lib import shell
from devcloud_lib.console import say
from devcloud_lib.installer import Installer
from devcloud_lib.settings import REPOSITORY

_SMOKE = Path(__file__).resolve().parent / "inside" / "smoke.py"


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
    command = [python, "-I", "-W", "ignore", _SMOKE]
    return subprocess.run(command, cwd=directory, check=False).returncode == 0
