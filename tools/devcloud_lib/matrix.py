"""Tests with each version of Blazar, and each Python, that are at hand.

Blazar 16 and 17 run on eventlet: importing their API replaces the sockets of the whole process, so
the tests that have API, manager and a cloud in one process can't run with them. Unit tests other
than these, and the database tests on SQLite, do.
"""

import dataclasses
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from devcloud_lib.console import Failure, say
from devcloud_lib.installer import Installer
from devcloud_lib.settings import REPOSITORY

#: Releases with what was current when each came out: SQLAlchemy, Pecan.
_BLAZARS = {
    "16.0.0": ("SQLAlchemy>=2.0.38,<2.1", "pecan<1.6"),
    "17.0.0": ("SQLAlchemy>=2.0.43,<2.1", "pecan<1.8"),
    "18.0.0": (),
}
_PYTHONS = ("3.11", "3.12", "3.13", "3.14")
_ON_EVENTLET = ("16", "17")
_LIMIT = 900


@dataclasses.dataclass(frozen=True)
class Cell:
    """One of the matrix."""

    blazar: str
    python: str
    program: str

    @property
    def name(self) -> str:
        return f"blazar-{self.blazar}-python-{self.python}"

    @property
    def on_eventlet(self) -> bool:
        return self.blazar.split(".")[0] in _ON_EVENTLET


def cells() -> Iterator[Cell]:
    """Every Blazar on the first Python that is there, the newest one on all."""
    there = [(v, p) for v in _PYTHONS if (p := _python(v))]
    for blazar in _BLAZARS:
        for version, program in there if blazar == max(_BLAZARS) else there[:1]:
            yield Cell(blazar, version, program)


def _python(version: str) -> str | None:
    """A Python of that version that starts: pyenv's own name for one it isn't set to doesn't."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    names = [
        sys.executable if sys.version.startswith(f"{version}.") else None,
        shutil.which(f"python{version}"),
        *sorted(map(str, pyenv.glob(f"versions/{version}.*/bin/python"))),
    ]
    return next((name for name in names if name and _starts(name)), None)


def _starts(program: str) -> bool:
    return subprocess.run([program, "-c", ""], capture_output=True, check=False).returncode == 0


def run(home: Path) -> bool:
    """All cells; whether all passed."""
    results = {}
    for cell in cells():
        directory = home / "matrix" / cell.name
        results[cell.name] = _run(cell, directory, Installer(home / "uv", directory / "pip.log"))
    for name, said in results.items():
        say(f"{name}: {said}")
    return all("failed" not in said for said in results.values())


def _run(cell: Cell, directory: Path, installer: Installer) -> str:
    directory.mkdir(parents=True, exist_ok=True)
    say(f"{cell.name}, see {directory}")
    python = directory / "venv" / "bin" / "python"
    pins = [f"blazar=={cell.blazar}", *_BLAZARS[cell.blazar]]
    needed = ["-r", REPOSITORY / "test-requirements.txt", "-e", f"{REPOSITORY}[cli,picture]"]
    try:
        installer.make(directory / "venv", cell.program)
        installer.install(directory / "venv", *pins, *needed)
    except Failure:
        return "failed to install"
    tests = [["tests/unit"], ["tests/functional/db", "-k", "sqlite"]]
    if cell.on_eventlet:
        tests[0] += ["--ignore=tests/unit/api", "--ignore=tests/unit/wsgi"]
    ended = [
        _quietly(
            [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words],
            directory / f"{words[0].replace('/', '-')}.log",
        )
        for words in tests
    ]
    what = "unit tests without the API's, SQLite" if cell.on_eventlet else "unit tests, SQLite"
    return f"{what}: {'passed' if all(ended) else 'failed'}; SQLAlchemy {_sqlalchemy(python)}"


def _quietly(words: list[str | Path], log: Path) -> bool:
    # The programs that tests start are those of the environment.
    first = Path(words[0]).parent
    env = {**os.environ, "PATH": f"{first}{os.pathsep}{os.environ['PATH']}"}
    with log.open("w") as output:
        try:
            done = subprocess.run(
                list(map(str, words)),
                cwd=REPOSITORY,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                timeout=_LIMIT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return False
    return done.returncode == 0


def _sqlalchemy(python: Path) -> str:
    command = [str(python), "-c", "import sqlalchemy; print(sqlalchemy.__version__)"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
