"""Debian packages: what is missing is installed, and nothing is started by it."""

import os
import shutil
from pathlib import Path

from devcloud_lib import shell
from devcloud_lib.console import Failure, say

# Packages start their service when installed. Ours run privately, so while we install, the
# customary switch tells the maintainer scripts to start nothing.
_INSTALL = """
switch=/usr/sbin/policy-rc.d
if [ ! -e "$switch" ]; then
    trap 'rm -f "$switch"' EXIT
    printf '#!/bin/sh\\nexit 101\\n' > "$switch"
    chmod 755 "$switch"
fi
apt-get install --yes --no-install-recommends "$@"
"""


def find(program: str) -> Path | None:
    """A program, also in the directories that only root has in its PATH."""
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/local/sbin", "/usr/sbin", "/sbin"])
    found = shutil.which(program, path=path)
    return Path(found) if found else None


def program(name: str) -> Path:
    """A program that must be there by now."""
    found = find(name)
    if found is None:
        raise Failure(f"{name} is not installed, nor did apt-get bring it")
    return found


def install(packages: list[str], log: Path) -> None:
    """Install packages with apt-get, through sudo when not root."""
    if not packages:
        return
    say(f"apt-get install {' '.join(packages)}: begun")
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    try:
        shell.run(shell.as_root(["apt-get", "update"]), log, quiet)
        keep = ["env", "DEBIAN_FRONTEND=noninteractive"]
        shell.run(shell.as_root([*keep, "sh", "-ec", _INSTALL, "sh", *packages]), log, quiet)
    except FileNotFoundError as error:
        raise Failure(f"cannot install {packages}: {error.filename} not found") from error
