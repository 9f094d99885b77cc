"""The programs print no warnings of libraries, about which an operator can do nothing."""

import os
import pathlib
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

_ROOT = pathlib.Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("module", "words"),
    [
        pytest.param("api", ["--help"], id="api"),
        pytest.param("status", ["--help"], id="status"),
        pytest.param("manage", ["--help"], id="manage"),
        pytest.param("manage", ["--config-file", "blazar.conf", "db", "history"], id="a command"),
    ],
)
def test_program_prints_no_warnings(module: str, words: list[str], tmp_path: pathlib.Path) -> None:
    (tmp_path / "blazar.conf").write_text("[database]\nconnection = sqlite:///blazar.sqlite\n")
    env = {name: value for name, value in os.environ.items() if name != "PYTHONWARNINGS"}
    env["PYTHONPATH"] = str(_ROOT)
    done = subprocess.run(
        [sys.executable, "-m", f"warre_blazar.cmd.{module}", *words],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert done.stdout
    assert done.stderr == ""
