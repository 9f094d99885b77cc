"""Which Python the tools run with."""

import pathlib
import sys

import pytest
from devcloud_lib import interpreter

NAME = f"python{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture
def outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the program run outside virtual environments."""
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    monkeypatch.setattr(sys, "argv", ["tools/test", "unit"])


@pytest.mark.usefixtures("outside")
def test_distributions_python_runs_the_program_again(tmp_path: pathlib.Path):
    (tmp_path / NAME).touch()
    assert interpreter._command(tmp_path) == [str(tmp_path / NAME), "tools/test", "unit"]


@pytest.mark.usefixtures("outside")
def test_no_other_python_is_needed(tmp_path: pathlib.Path):
    # None of the same version, and then this one by another name.
    (tmp_path / "python3.2").touch()
    assert interpreter._command(tmp_path) == []
    (tmp_path / NAME).symlink_to(sys.executable)
    assert interpreter._command(tmp_path) == []


@pytest.mark.usefixtures("outside")
def test_environment_is_left_as_it_is(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / NAME).touch()
    monkeypatch.setattr(sys, "prefix", "/an/environment")
    assert interpreter._command(tmp_path) == []
