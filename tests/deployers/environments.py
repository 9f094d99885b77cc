"""The environments that ``tools/test deployers`` has made, and the files in ``contrib/``."""

import os
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path

from devcloud_lib import deployers

REPOSITORY = Path(__file__).resolve().parents[2]
CONTRIB = REPOSITORY / "contrib"


def home() -> Path:
    """The directory of the environments."""
    if deployers.VARIABLE not in os.environ:
        raise RuntimeError("run these tests by 'tools/test deployers', which makes what they need")
    return Path(os.environ[deployers.VARIABLE])


def run(*words: str | Path, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> str:
    """Run a program that must succeed. Return what it has printed."""
    command = [str(word) for word in words]
    done = subprocess.run(
        command,
        env={**os.environ, **(env or {})},
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{shlex.join(command)}\n{done.stdout}"
    return done.stdout
