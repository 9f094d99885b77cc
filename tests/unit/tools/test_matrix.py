"""The environments of tools/test matrix, and what they leave out."""

import pathlib
import sys

import pytest
from devcloud_lib import matrix

from tests.unit import conftest
from warre_blazar import compat

HERE = pathlib.Path(__file__).parents[1]


def test_each_supported_blazar_has_an_environment():
    majors = [int(cell.blazar.split(".")[0]) for cell in matrix.cells()]
    assert set(majors) == set(range(compat.OLDEST["blazar"][0], max(compat.TESTED) + 1))
    assert majors == sorted(majors)


@pytest.mark.parametrize(("test", "passes"), [("pass", True), ("__import__('time').sleep(999)", 0)])
def test_environment_whose_tests_hang_fails(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys, test: str, passes: bool
):
    monkeypatch.setattr(matrix, "_environment", lambda *_: pathlib.Path(sys.executable))
    path = tmp_path / "test_it.py"
    path.write_text(f"def test_it():\n    {test}\n")
    tests = [((str(path),), 1.0 if passes else 0.2)]
    cell = next(matrix.cells())
    outcome = matrix._run(cell, tmp_path, tests, lambda: f"--junitxml={tmp_path}/report.xml")
    assert outcome.startswith("passed" if passes else "failed")
    said = f"{cell.name}: {path} still runs after 12 s, its limit: ended" in capsys.readouterr().out
    assert said is not bool(passes)


@pytest.mark.parametrize(
    ("path", "is_left_out"),
    [
        ("api", True),
        ("wsgi", True),
        ("messengers/test_webhook.py", True),
        ("tools/test_devcloud_hosts.py", True),
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
