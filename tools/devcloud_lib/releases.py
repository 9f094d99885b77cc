"""Installs the project with each set of packages, runs tests with it, and prints a table.

The unit tests and the database tests on SQLite run with a Python of the set's choice. The demo and
the recorded answers of Warre run on a dev cloud that has the set's packages. With a Blazar that
uses eventlet, ``tests/unit/conftest.py`` leaves out the tests that can't run with it.
"""

import dataclasses
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from devcloud_lib import limits, package_sets, ports, results, side_cloud, stamps, venv
from devcloud_lib.console import Failure, say
from devcloud_lib.installer import Installer
from devcloud_lib.package_sets import PackageSet
from devcloud_lib.settings import REPOSITORY

Report = Callable[[], str]
#: A row of the table, by column.
Row = dict[str, str]

_OFFSET = ports.BESIDE["releases"]
_CLOUD = (f"--port-offset={_OFFSET}", "--managers=1", "--api-workers=4", "--password-rounds=4")


@dataclasses.dataclass(frozen=True)
class Column:
    """Tests that have a column of the table: words for pytest, and a limit in minutes."""

    name: str
    words: tuple[str, ...]
    minutes: float


_UNIT = Column("unit", ("tests/unit",), 40)
_DB = Column("db", ("tests/functional/db", "-k", "sqlite"), 40)
_DEMO = Column(
    "demo",
    tuple(f"tests/functional/cloud/test_{name}.py" for name in ("conformance", "demo")),
    15,
)
#: The tests of the short form: imports of all modules, and some tests of calls by Blazar.
_SHORT = (
    Column("imports", ("--collect-only", "tests/unit", "tests/functional/db"), 5),
    Column(
        "some",
        (
            *(f"tests/unit/{name}" for name in ("enforcement", "errors", "plugins")),
            *(f"tests/functional/db/test_{name}.py" for name in ("plugin", "filters")),
            *("-k", "sqlite or not postgresql and not mariadb"),
        ),
        5,
    ),
)
_NOTE = (
    "With {name}, unit leaves out tests/unit/api, tests/unit/wsgi and other tests that serve HTTP "
    "in their own process, because Blazar uses eventlet. The demo on a cloud takes their place."
)


def run(home: Path, report: Report, exported: Callable[..., dict[str, str]]) -> bool:
    """Run all tests with each set of packages. Return whether all passed.

    :param home: the directory of the environments and the clouds.
    :param report: returns pytest's option for the report of a run.
    :param exported: returns the environment that a tool's ``env`` prints.
    """
    rows = []
    for chosen in package_sets.SETS.values():
        environment = Environment(chosen, home)
        row = environment.tested((_UNIT, _DB), report)
        if environment.installed:
            row |= _on_cloud(environment, report, exported)
        rows.append(row)
    for line in table(rows):
        say(line)
    for chosen in package_sets.SETS.values():
        if chosen.eventlet:
            say(_NOTE.format(name=chosen.name))
    return passed(rows)


def run_short(home: Path, report: Report) -> bool:
    """Run some tests with the oldest set of packages. Return whether they passed."""
    rows = [Environment(next(iter(package_sets.SETS.values())), home).tested(_SHORT, report)]
    for line in table(rows):
        say(line)
    return passed(rows)


def table(rows: Sequence[Row]) -> list[str]:
    """Return the lines of a table, with a column for each key of any row."""
    columns = list(dict.fromkeys(column for row in rows for column in row))
    cells = [columns, *([row.get(column, "not run") for column in columns] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
        for line in cells
    ]


def passed(rows: Sequence[Row]) -> bool:
    """Return whether nothing has failed in any row."""
    return not any("FAILED" in cell for row in rows for cell in row.values())


class Environment:
    """The virtual environment with a set of packages in which the tests run.

    :ivar installed: whether everything has been installed.
    """

    def __init__(self, chosen: PackageSet, home: Path) -> None:
        self.chosen = chosen
        self.directory = home / "releases" / chosen.name
        self.python = self.directory / "venv" / "bin" / "python"
        self._installer = Installer(home / "uv", self.directory / "pip.log", chosen.constraints)
        self.installed = False

    def tested(self, tests: Sequence[Column], report: Report) -> Row:
        """Install the packages and run tests. Return the row of the table."""
        self.directory.mkdir(parents=True, exist_ok=True)
        say(f"{self.chosen.name}, see {self.directory}")
        row = {"set": self.chosen.name}
        try:
            self._install()
        except Failure as failure:
            say(str(failure))
            return row | {"installs": "FAILED"}
        self.installed = True
        row |= {**self._versions(), "installs": "yes"}
        return row | {one.name: self.outcome(one, report()) for one in tests}

    def outcome(self, tests: Column, report: str, variables: dict[str, str] | None = None) -> str:
        """Run tests in their time. Return what to print about them.

        :param report: pytest's option for the report of the run.
        :param variables: variables of the environment beside those of this process.
        """
        pytest = [str(self.python), "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        job = limits.Job(
            f"{self.chosen.name}: {tests.name}",
            [*pytest, report, *tests.words],
            60 * tests.minutes,
            self.directory / f"{tests.name}.log",
            REPOSITORY,
            # Tests find the programs of their own environment first.
            {
                **os.environ,
                **(variables or {}),
                "PATH": f"{self.python.parent}{os.pathsep}{os.environ['PATH']}",
            },
        )
        succeeded = limits.run(job)
        kinds = list(results.outcomes(Path(report.partition("=")[2])).values())
        if succeeded:
            return f"{kinds.count('passed')} passed" if kinds else "yes"
        say(f"{job.name} failed, see {job.log}")
        failed = kinds.count("failure") + kinds.count("error")
        return f"FAILED: {failed} of {len(kinds)}"

    def _install(self) -> None:
        """Make the environment, unless it is current."""
        requirements = REPOSITORY / "test-requirements.txt"
        program = _python(self.chosen.python)
        wanted = [self.chosen.blazar, "-r", str(requirements)]
        version = stamps.digest(
            *wanted,
            program,
            requirements,
            self.chosen.constraints or "",
            venv.project_version(),
        )
        done = stamps.Stamps(self.directory / "stamps")
        if done.current("packages", version):
            return
        shutil.rmtree(self.directory / "venv", ignore_errors=True)
        self._installer.make(self.directory / "venv", program)
        project = f"{REPOSITORY}[server,cli]"
        self._installer.install(self.directory / "venv", *wanted, "--editable", project)
        done.set("packages", version)

    def _versions(self) -> Row:
        """The versions that the table shows."""
        script = (
            "import importlib.metadata as m, platform; "
            "print(platform.python_version(), m.version('blazar'), m.version('SQLAlchemy'))"
        )
        command = [str(self.python), "-c", script]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return dict(zip(("Python", "Blazar", "SQLAlchemy"), done.stdout.split(), strict=True))


def _on_cloud(
    environment: Environment, report: Report, exported: Callable[..., dict[str, str]]
) -> Row:
    """Run the demo and the recorded answers on a cloud of the set. Return cells of the table."""
    home = environment.directory / "cloud"
    side_cloud.wipe(home)
    try:
        with side_cloud.running(home, *_CLOUD, release=environment.chosen.name):
            cloud = exported(str(side_cloud.TOOL), "env", "--home", str(home))
            return {_DEMO.name: environment.outcome(_DEMO, report(), cloud)}
    except Failure as failure:
        say(str(failure))
        return {_DEMO.name: "FAILED: no cloud"}


def _python(version: str) -> str:
    """Return the path of a Python of that version, or of the one that runs this if there is none.

    Each candidate is started once: pyenv's shims exist for versions that aren't selected, but fail.
    """
    return next(_candidates(version), sys.executable)


def _candidates(version: str) -> Iterator[str]:
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    names = [
        sys.executable if sys.version.startswith(f"{version}.") else None,
        shutil.which(f"python{version}"),
        *sorted(map(str, pyenv.glob(f"versions/{version}.*/bin/python"))),
    ]
    return (name for name in names if name and _starts(name))


def _starts(program: str) -> bool:
    return subprocess.run([program, "-c", ""], capture_output=True, check=False).returncode == 0
