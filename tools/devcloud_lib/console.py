"""Prints progress and failures."""

import sys
import threading
import time
from pathlib import Path

_TAIL_LINES = 30
_started = time.monotonic()
_lock = threading.Lock()


class Failure(Exception):
    """A failure that a person must look at. `log` is the file with the details."""

    def __init__(self, message: str, log: Path | None = None) -> None:
        super().__init__(message)
        self.log = log


def say(text: str) -> None:
    """Print a line that begins with the seconds since the command was started."""
    with _lock:
        print(f"[{time.monotonic() - _started:6.1f} s] {text}", flush=True)


def tail(path: Path, lines: int = _TAIL_LINES) -> str:
    """Return the last lines of a file, or "" if there is no such file."""
    if not path.exists():
        return ""
    return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])


def report(failure: Failure) -> None:
    """Print a failure and the end of its log on standard error."""
    with _lock:
        sys.stdout.flush()
        if failure.log is not None:
            print(f"--- the end of {failure.log}", file=sys.stderr)
            print(tail(failure.log), file=sys.stderr)
            print("---", file=sys.stderr)
        print(f"failed: {failure}", file=sys.stderr)
