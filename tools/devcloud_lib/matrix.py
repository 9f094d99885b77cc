"""Runs tests with several versions of Blazar and with each Python that is installed.

Blazar 16 and 17 use eventlet: importing their API replaces the sockets of the whole process.
Therefore the tests that run API, manager and fake services in one process can't run with these
versions. The other unit tests, and the database tests on SQLite, can.
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

#: The releases of Blazar, with the SQLAlchemy and Pecan that were current when each came out.
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
    """One combination of a Blazar release and a Python. ``program`` is the path of the Python."""

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
    """Yield each Blazar with the oldest Python here, and the newest Blazar with all Pythons."""
    installed = [(v, p) for v in _PYTHONS if (p := _python(v))]
    for blazar in _BLAZARS:
        for version, program in installed if blazar == max(_BLAZARS) else installed[:1]:
            yield Cell(blazar, version, program)


def _python(version: str) -> str | None:
    """Return the path of a Python of that version, or None.

    Each candidate is started once: pyenv's shims exist for versions that aren't selected, but fail.
    """
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
    """Run the tests of all cells. Return whether all passed."""
    results = {}
    for cell in cells():
        directory = home / "matrix" / cell.name
        results[cell.name] = _run(cell, directory, Installer(home / "uv", directory / "pip.log"))
    for name, outcome in results.items():
        say(f"{name}: {outcome}")
    return all("failed" not in outcome for outcome in results.values())


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
    passed = [
        _run_logged(
            [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words],
            directory / f"{words[0].replace('/', '-')}.log",
        )
        for words in tests
    ]
    parts = "unit tests without the API's, SQLite" if cell.on_eventlet else "unit tests, SQLite"
    return f"{parts}: {'passed' if all(passed) else 'failed'}; SQLAlchemy {_sqlalchemy(python)}"


def _run_logged(words: list[str | Path], log: Path) -> bool:
    # Tests find the programs of their own environment first.
    programs = Path(words[0]).parent
    env = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
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
