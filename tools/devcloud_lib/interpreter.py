"""Chooses the Python that runs the tools, and with it that of the environments they make."""

import os
import sys
from pathlib import Path

#: Where distributions have their Pythons.
_PROGRAMS = Path("/usr/bin")


def use_the_distributions() -> None:
    """Run this program again with the distribution's Python, if it has one of the same version.

    A Python that pyenv has built usually lacks the optimizations that distributions build with.
    Then the tests and the services of a dev cloud take about 1.5 times as long.
    """
    words = _command(_PROGRAMS)
    if words:
        os.execv(words[0], words)


def _command(programs: Path) -> list[str]:
    """The command line that does so. Empty: this is the right Python, or there is no better one.

    A virtual environment is left as it is, because it may have what the program needs.
    """
    other = programs / f"python{sys.version_info.major}.{sys.version_info.minor}"
    is_environment = sys.prefix != sys.base_prefix
    if is_environment or not other.exists() or other.samefile(sys.executable):
        return []
    return [str(other), *sys.argv]
