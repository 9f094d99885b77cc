"""Runs tests with several versions of Blazar and with each Python that is installed.

With Blazar 17, ``tests/unit/conftest.py`` leaves out the tests that can't run with eventlet.
"""

import dataclasses
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from devcloud_lib import limits, stamps, venv
from devcloud_lib.console import Failure, say
from devcloud_lib.installer import Installer
from devcloud_lib.settings import REPOSITORY

#: The releases of Blazar, with the SQLAlchemy and Pecan that were current when each came out.
_BLAZARS = {
    "17.0.0": ("SQLAlchemy>=2.0.43,<2.1", "pecan<1.8"),
    "18.0.0": (),
}
#: Words for pytest, and the minutes that the tests may take.
Tests = tuple[tuple[str, ...], int]

_PYTHONS = ("3.11", "3.12", "3.13", "3.14")
#: The tests of each environment.
_TESTS: tuple[Tests, ...] = ((("tests/unit",), 40), (("tests/functional/db", "-k", "sqlite"), 40))
#: Those of the short form: imports of all modules, and some tests of calls by Blazar.
_SHORT_TESTS: tuple[Tests, ...] = (
    (("--collect-only", "tests/unit", "tests/functional/db"), 5),
    (
        (
            *(f"tests/unit/{name}" for name in ("enforcement", "errors", "plugins")),
            *(f"tests/functional/db/test_{name}.py" for name in ("plugin", "filters")),
            *("-k", "sqlite or not postgresql and not mariadb"),
        ),
        5,
    ),
)


@dataclasses.dataclass(frozen=True)
class Cell:
    """One combination of a Blazar release and a Python. ``program`` is the path of the Python."""

    blazar: str
    python: str
    program: str

    @property
    def name(self) -> str:
        return f"blazar-{self.blazar}-python-{self.python}"


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


def run(home: Path, report: Callable[[], str]) -> bool:
    """Run the tests of all cells. Return whether all passed.

    :param report: returns pytest's option for the report of a run.
    """
    results = {cell: _run(cell, home, _TESTS, report) for cell in cells()}
    for cell, outcome in results.items():
        say(f"{cell.name}: {outcome}")
    return all("failed" not in outcome for outcome in results.values())


def run_short(home: Path, report: Callable[[], str]) -> bool:
    """Run some tests with the oldest Blazar. Return whether they passed."""
    outcome = _run(next(cells()), home, _SHORT_TESTS, report)
    say(outcome)
    return "failed" not in outcome


def _run(cell: Cell, home: Path, tests: Sequence[Tests], report: Callable[[], str]) -> str:
    directory = home / "matrix" / cell.name
    directory.mkdir(parents=True, exist_ok=True)
    say(f"{cell.name}, see {directory}")
    try:
        python = _environment(cell, directory, Installer(home / "uv", directory / "pip.log"))
    except Failure:
        return "failed to install"
    passed = []
    for words, minutes in tests:
        command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", report(), *words]
        path = next(word for word in words if not word.startswith("-"))
        job = limits.Job(
            f"{cell.name}: {path}",
            list(map(str, command)),
            60 * minutes,
            directory / f"{path.replace('/', '-')}.log",
            REPOSITORY,
            # Tests find the programs of their own environment first.
            {**os.environ, "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"},
        )
        passed.append(limits.run(job))
        if not passed[-1]:
            say(f"{job.name} failed, see {job.log}")
    return f"{'passed' if all(passed) else 'failed'}; SQLAlchemy {_sqlalchemy(python)}"


def _environment(cell: Cell, directory: Path, installer: Installer) -> Path:
    """Make the environment of a cell, unless it is current. Return the path of its Python."""
    requirements = REPOSITORY / "test-requirements.txt"
    wanted = [f"blazar=={cell.blazar}", *_BLAZARS[cell.blazar], "-r", str(requirements)]
    version = stamps.digest(*wanted, requirements, venv.project_version())
    done = stamps.Stamps(directory / "stamps")
    if not done.current("packages", version):
        installer.make(directory / "venv", cell.program)
        installer.install(directory / "venv", *wanted, "-e", f"{REPOSITORY}[server,cli,picture]")
        done.set("packages", version)
    return directory / "venv" / "bin" / "python"


def _sqlalchemy(python: Path) -> str:
    command = [str(python), "-c", "import sqlalchemy; print(sqlalchemy.__version__)"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
