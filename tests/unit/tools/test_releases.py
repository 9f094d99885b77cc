"""The sets of packages with which tools/test releases runs, and what it prints about them."""

import pathlib
import sys

import pytest
from devcloud_lib import package_sets, releases
from devcloud_lib.console import Failure
from devcloud_lib.package_sets import PackageSet
from devcloud_lib.releases import Column, Environment

from tests.unit import conftest
from warre_blazar import compat

HERE = pathlib.Path(__file__).parents[1]
PASSES = "def test_it():\n    pass\n"
FAILS = "def test_it():\n    assert False\n\n\ndef test_other():\n    pass\n"
HANGS = "def test_it():\n    __import__('time').sleep(999)\n"
BROKEN = "import nothing_of_this_name\n"


def majors() -> list[int]:
    """The major versions of Blazar of the sets that name one."""
    requirements = [chosen.blazar.partition("==")[2] for chosen in package_sets.SETS.values()]
    return [int(found.partition(".")[0]) for found in requirements if found]


def test_each_supported_blazar_is_in_a_set():
    oldest, newest = compat.OLDEST["blazar"][0], max(compat.TESTED)
    assert majors() == list(range(oldest, newest + 1))


def test_each_file_of_constraints_belongs_to_a_set():
    used = {chosen.constraints for chosen in package_sets.SETS.values() if chosen.constraints}
    assert used == set(HERE.parent.joinpath("constraints").iterdir())


@pytest.fixture
def environment(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Environment:
    """An environment for which nothing needs to be installed."""
    monkeypatch.setattr(Environment, "_install", lambda _: None)
    made = Environment(package_sets.MASTER, tmp_path)
    made.python = pathlib.Path(sys.executable)
    return made


def run(environment: Environment, tmp_path: pathlib.Path, code: str, minutes: float = 1) -> str:
    """What the table shows of a module of tests."""
    path = tmp_path / "test_it.py"
    path.write_text(code)
    environment.directory.mkdir(parents=True)
    tests = Column("unit", (str(path),), minutes)
    return environment.outcome(tests, f"--junitxml={tmp_path}/report.xml")


@pytest.mark.parametrize(
    ("code", "expected"),
    [(PASSES, "1 passed"), (FAILS, "FAILED: 1 of 2"), (BROKEN, "FAILED: 1 of 1")],
)
def test_outcome_counts_tests(
    environment: Environment, tmp_path: pathlib.Path, code: str, expected: str
):
    assert run(environment, tmp_path, code) == expected


@pytest.mark.slow
def test_tests_that_hang_are_ended(environment: Environment, tmp_path: pathlib.Path, capsys):
    assert run(environment, tmp_path, HANGS, 0.1) == "FAILED: 0 of 0"
    assert "master: unit still runs after 6 s, its limit: ended" in capsys.readouterr().out


def test_row_has_the_versions_of_what_is_installed(environment: Environment):
    row = environment.tested((), lambda: "")
    assert row["set"] == "master"
    assert row["Python"].startswith(f"{sys.version_info.major}.{sys.version_info.minor}.")
    assert row["Blazar"].split(".")[0] == str(compat.version("blazar")[0])
    assert row["installs"] == "yes"
    assert releases.passed([row])


def test_nothing_runs_in_an_environment_that_cannot_be_installed(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
):
    def fail(_: Environment) -> None:
        raise Failure("no such package")

    monkeypatch.setattr(Environment, "_install", fail)
    row = environment.tested((Column("unit", ("tests",), 1),), lambda: "")
    assert row == {"set": "master", "installs": "FAILED"}
    assert not releases.passed([row])


def test_table_has_a_line_for_each_set():
    rows = [
        {"set": "2026.1", "installs": "yes", "unit": "3 passed", "db": "FAILED: 1 of 12"},
        {"set": "newest", "installs": "FAILED"},
    ]
    assert releases.table(rows) == [
        "set     installs  unit      db",
        "2026.1  yes       3 passed  FAILED: 1 of 12",
        "newest  FAILED    not run   not run",
    ]


def test_missing_python_is_replaced_by_the_one_that_runs_the_tool():
    assert releases._python("3.99") == sys.executable


def test_sets_of_releases_have_constraints_for_their_requirements():
    """A requirement of a version could contradict constraints that list it as well."""
    for chosen in package_sets.SETS.values():
        text = chosen.constraints.read_text() if chosen.constraints else ""
        listed = {line.partition("===")[0].lower() for line in text.splitlines()}
        pinned = [each for each in (chosen.blazar, *chosen.services) if "==" in each]
        assert listed.isdisjoint(map(name_of, pinned))


def name_of(requirement: str) -> str:
    return requirement.partition("==")[0]


@pytest.mark.parametrize(
    ("path", "is_left_out"),
    [
        ("api", True),
        ("wsgi", True),
        ("tools", True),
        ("messengers/test_webhook.py", True),
        ("test_api_page.py", True),
        ("plugins/test_blazar_changes.py", True),
        ("messengers/test_smtp.py", False),
        ("domain", False),
        ("conftest.py", False),
        (".", False),
    ],
)
def test_tests_with_servers_are_left_out_with_eventlet(
    monkeypatch: pytest.MonkeyPatch, path: str, is_left_out: bool
):
    for version, expected in (((17, 0), is_left_out or None), ((18, 0), None)):
        monkeypatch.setattr(compat, "version", lambda _, found=version: found)
        assert conftest.pytest_ignore_collect(HERE / path) is expected


def test_eventlet_is_in_the_sets_whose_blazar_uses_it():
    uses: dict[int, PackageSet] = dict(zip(majors(), package_sets.SETS.values(), strict=False))
    for major, chosen in uses.items():
        assert chosen.eventlet is (major < compat.WITHOUT_EVENTLET)
