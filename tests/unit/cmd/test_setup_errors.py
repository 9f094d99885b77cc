"""If the configuration or database can't be used, commands print one line and no traceback."""

import pathlib
import subprocess
import sys

import pytest

from warre_blazar.cmd import manage

_DATABASE = "[database]\nconnection = {}\n"
_READ = "The configuration can't be read: "
_CASES = {
    "no file": (None, f"{_READ}Failed to find some config files"),
    "garbage": ("garbage\n", f"{_READ}Failed to parse"),
    "no text": ("\udcff", f"{_READ}'utf-8' codec can't decode"),
    "empty": ("", "[database] connection is not set"),
    "no URL": (_DATABASE.format("nonsense"), "[database] connection can't be used: Could not"),
    "no driver": (_DATABASE.format("mysql+no://h/d"), "[database] connection can't be used: Can't"),
    "no module": (_DATABASE.format("mysql+pyodbc://h/d"), "can't be used: No module named"),
    "no file of SQLite": (
        _DATABASE.format("sqlite:////no/where"),
        "Blazar's database can't be read: ",
    ),
    "a value": (_DATABASE.format("sqlite://") + "max_retries = many\n", "option max_retries from"),
    "no server": (
        _DATABASE.format("mysql+pymysql://127.0.0.1:1/d") + "max_retries = 0\n",
        "Blazar's database can't be read: ",
    ),
    "no answer": (
        _DATABASE.format("mysql+pymysql://127.0.0.1:1/d") + "max_retries = -1\n",
        "Blazar's database can't be read: ",
    ),
}


def _file(path: pathlib.Path, case: str) -> str:
    content = _CASES[case][0]
    if content is not None:
        path.write_text(content, errors="surrogateescape")
    return str(path)


@pytest.mark.parametrize("case", sorted(_CASES.keys() - {"a value", "no answer"}))
def test_manage_reports_the_error_in_one_line(
    case: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture
) -> None:
    path = _file(tmp_path / "blazar.conf", case)
    assert manage.main(["--config-file", path, "db", "current"]) == 1
    told = capsys.readouterr().err
    assert told.startswith("warre-blazar-manage: ")
    assert _CASES[case][1] in told
    assert len(told.splitlines()) == 1


def test_quota_register_reports_a_bad_configuration(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture
) -> None:
    path = _file(tmp_path / "blazar.conf", "garbage")
    assert manage.main(["--config-file", path, "quota", "register"]) == 1
    assert _CASES["garbage"][1] in capsys.readouterr().err


#: ``warre-blazar-manage`` reports them too, which is tested within this process.
_ALSO_OF_MANAGE = ("no file", "garbage", "empty", "no driver")


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    ["no answer", "a value", *(pytest.param(c, marks=pytest.mark.long) for c in _ALSO_OF_MANAGE)],
)
def test_upgrade_check_reports_the_error(case: str, tmp_path: pathlib.Path) -> None:
    path = _file(tmp_path / "blazar.conf", case)
    program = [sys.executable, "-W", "ignore", "-m", "warre_blazar.cmd.status"]
    done = subprocess.run(
        [*program, "--config-file", path, "upgrade", "check"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    shown = " ".join((done.stdout + done.stderr).replace("|", " ").split())
    assert "Traceback" not in shown
    assert done.returncode == 2
    assert _CASES[case][1] in shown
