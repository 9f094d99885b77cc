"""Installs missing Debian packages without starting their services."""

import os
import shutil
from pathlib import Path

from devcloud_lib import shell
from devcloud_lib.console import Failure, say

# Debian packages start their service when they are installed. The dev cloud runs its own instances
# instead, so a policy-rc.d script forbids starts during the installation. Of two apt-gets at the
# same time one fails ("update" knows no DPkg::Lock::Timeout), so tools that run beside each other
# take turns.
_INSTALL = """
exec 9> "$1"
shift
flock 9
apt-get update
switch=/usr/sbin/policy-rc.d
if [ ! -e "$switch" ]; then
    trap 'rm -f "$switch"' EXIT
    printf '#!/bin/sh\\nexit 101\\n' > "$switch"
    chmod 755 "$switch"
fi
apt-get -o DPkg::Lock::Timeout=600 install --yes --no-install-recommends "$@"
"""
#: Held while apt-get runs.
_LOCK = Path("/run/lock/warre-blazar-apt")


def find(program: str) -> Path | None:
    """Return a program's path, or None. Directories that only root has in PATH are searched too."""
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/local/sbin", "/usr/sbin", "/sbin"])
    executable = shutil.which(program, path=path)
    return Path(executable) if executable else None


def program(name: str) -> Path:
    """Return the path of a program that must be installed by now."""
    path = find(name)
    if path is None:
        raise Failure(f"{name} is not installed, although apt-get has run")
    return path


def install(packages: list[str], log: Path) -> None:
    """Install packages with apt-get, through sudo if the user isn't root."""
    if not packages:
        return
    say(f"apt-get install {' '.join(packages)}: started")
    script = ["env", "DEBIAN_FRONTEND=noninteractive", "sh", "-ec", _INSTALL, "sh", str(_LOCK)]
    try:
        shell.run(shell.as_root([*script, *packages]), log)
    except FileNotFoundError as error:
        raise Failure(f"cannot install {packages}: {error.filename} not found") from error
