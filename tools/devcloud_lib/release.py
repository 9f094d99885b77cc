"""What would be released: an sdist and a wheel, installed where nothing else of ours is.

The wheel is made from the sdist, then installed with its extra ``cli`` and released packages only,
and used from outside the repository.
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
    """Build, install, try; whether that went well.

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
    # The command line's own client is what an operator has there already.
    wanted = [f"{wheel}[cli]", "python-openstackclient"]
    installer.install(directory / "venv", *wanted)
    shell.run([python, "-m", "pip", "check"], log)
    command = [python, "-I", "-W", "ignore", _SMOKE]
    return subprocess.run(command, cwd=directory, check=False).returncode == 0
