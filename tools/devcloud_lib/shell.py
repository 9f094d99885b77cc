"""Runs commands to their end, with their output in a log."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from devcloud_lib.console import Failure

Words = Sequence[str | Path]


def run(
    command: Words,
    log: Path,
    environment: Mapping[str, str] | None = None,
    accept: Sequence[int] = (0,),
    stdin: str = "",
    user: str | None = None,
) -> None:
    """Run a command; raise Failure unless its exit status is one of `accept`."""
    log.parent.mkdir(parents=True, exist_ok=True)
    words = [str(word) for word in command]
    with log.open("a") as output:
        output.write(f"$ {' '.join(words)}\n")
        output.flush()
        done = subprocess.run(
            words,
            input=stdin.encode(),
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(environment or {})},
            user=user,
            group=user,
            extra_groups=[] if user else None,
            cwd="/" if user else None,
            check=False,
        )
    if done.returncode not in accept:
        raise Failure(f"{Path(words[0]).name} ended with status {done.returncode}", log)


def as_root(command: Sequence[str]) -> list[str]:
    """Return the command line that runs a command as root: with sudo, unless the user is root."""
    return list(command) if os.geteuid() == 0 else ["sudo", *command]
