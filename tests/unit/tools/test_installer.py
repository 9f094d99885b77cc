"""uv makes environments and is configured like pip; pip takes its place if uv fails."""

import pathlib
import sys

import pytest
from devcloud_lib import installer
from devcloud_lib.console import Failure
from devcloud_lib.installer import Installer

_ALWAYS = ["--index-strategy", "unsafe-best-match"]


def test_pip_variables_override_pip_sections():
    listing = """\
:env:.cert='/env.pem'
download.cert='/download.pem'
global.cert='/global.pem'
global.find-links='/a /b'
global.index-url='https://one/simple'
install.index-url='https://two/simple'
install.extra-index-url='\\nhttps://three/simple\\nhttps://four/simple'
"""
    assert installer.parse(listing) == {
        "cert": "/env.pem",
        "find-links": "/a /b",
        "index-url": "https://two/simple",
        "extra-index-url": "\nhttps://three/simple\nhttps://four/simple",
    }


@pytest.mark.parametrize(
    ("configuration", "expected"),
    [
        pytest.param({}, [], id="nothing"),
        pytest.param(
            {"index-url": "https://one/simple"},
            ["--default-index", "https://one/simple"],
            id="another-index",
        ),
        pytest.param(
            {"extra-index-url": "\nhttps://one/simple\nfile:///there"},
            ["--index", "https://one/simple", "--index", "file:///there"],
            id="more-indexes",
        ),
        pytest.param(
            {"find-links": "/missing /there file:///missing https://one/"},
            ["--find-links", "/there", "--find-links", "https://one/"],
            id="missing-directories-are-left-out",
        ),
        pytest.param({"no-index": "True"}, ["--no-index"], id="no-index"),
        pytest.param({"no-index": "false"}, [], id="no-index-unset"),
        pytest.param(
            {"trusted-host": "one two:8080"},
            ["--allow-insecure-host", "one", "--allow-insecure-host", "two:8080"],
            id="trusted-hosts",
        ),
        pytest.param({"disable-pip-version-check": "1"}, [], id="pips-own-affairs"),
    ],
)
def test_pip_configuration_becomes_uv_options(configuration: dict[str, str], expected: list[str]):
    assert installer.uv_arguments(configuration, "/there".__eq__) == [*_ALWAYS, *expected]


def test_pip_configuration_becomes_uv_variables():
    usual = installer.uv_environment({})
    assert "SSL_CERT_FILE" not in usual
    configuration = {"cert": "/a.pem", "proxy": "http://proxy", "default-timeout": "180"}
    assert installer.uv_environment(configuration) == usual | {
        "SSL_CERT_FILE": "/a.pem",
        "HTTP_PROXY": "http://proxy",
        "HTTPS_PROXY": "http://proxy",
        "UV_HTTP_TIMEOUT": "180",
    }


class Programs:
    """Stand-ins for Python, pip and uv that record how they were called."""

    def __init__(self, directory: pathlib.Path) -> None:
        self._calls = directory / "calls"
        self.uv_home, self.environment = directory / "uv", directory / "venv"
        self.installer = Installer(self.uv_home, directory / "log")

    def constrain(self, name: str) -> None:
        """Let the installer use a file of constraints."""
        log = self.uv_home.parent / "log"
        self.installer = Installer(self.uv_home, log, pathlib.Path(name))

    def add(self, path: pathlib.Path, script: str = "") -> str:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'#!/bin/sh\necho "{path.name} $*" >>"{self._calls}"\n{script}\n')
        path.chmod(0o755)
        return str(path)

    def add_uv(self, script: str = "") -> None:
        self.add(self.uv_home / "bin" / "uv", script)
        # As pip prints them, whatever is configured on this machine.
        self.add(self.uv_home / "bin" / "pip", "echo \"global.index-url='https://one/simple'\"")

    def calls(self) -> list[str]:
        calls = self._calls.read_text().splitlines()
        self._calls.unlink()
        return [call for call in calls if call != "pip config list"]


@pytest.fixture
def programs(tmp_path: pathlib.Path) -> Programs:
    found = Programs(tmp_path)
    found.add(found.environment / "bin" / "python")
    return found


def test_uv_makes_environment_and_installs(programs: Programs, capsys: pytest.CaptureFixture[str]):
    programs.add_uv()
    programs.installer.make(programs.environment, "python3.99")
    programs.installer.install(programs.environment, "--editable", "project")
    programs.installer.uninstall(programs.environment, "project")
    where = f"--python {programs.environment}/bin/python"
    index = "--index-strategy unsafe-best-match --default-index https://one/simple"
    assert programs.calls() == [
        "uv venv --quiet --seed --allow-existing --python python3.99 "
        f"{programs.environment} {index}",
        f"uv pip install --quiet {where} --editable project {index}",
        f"uv pip uninstall --quiet {where} project",
    ]
    assert capsys.readouterr().out == ""


def test_existing_environment_of_the_same_python_is_kept(programs: Programs):
    programs.add_uv()
    programs.add(programs.environment / "bin" / "pip")
    python = programs.environment / "bin" / "python"
    programs.installer.make(programs.environment, str(python))
    assert not (programs.environment.parent / "calls").exists()


@pytest.mark.parametrize("is_shared", [False, True])
def test_environment_of_another_python_is_made_anew(
    programs: Programs, tmp_path: pathlib.Path, is_shared: bool
):
    programs.add_uv()
    programs.add(programs.environment / "bin" / "pip")
    made = tmp_path / "linked" if is_shared else programs.environment
    if is_shared:
        made.symlink_to(programs.environment)
    programs.installer.make(made, programs.add(tmp_path / "python3.99"))
    assert len(programs.calls()) == 1
    # All of it was removed.
    assert list(programs.environment.iterdir()) == []


def test_user_variables_for_uv_take_precedence(programs: Programs, monkeypatch: pytest.MonkeyPatch):
    programs.add_uv('[ "$UV_HTTP_TIMEOUT $UV_COMPILE_BYTECODE" = "7 true" ]')
    monkeypatch.setenv("UV_HTTP_TIMEOUT", "7")
    programs.installer.install(programs.environment, "project")
    assert len(programs.calls()) == 1


def test_constraints_are_used_beside_those_that_are_configured(
    programs: Programs, monkeypatch: pytest.MonkeyPatch
):
    programs.add_uv('[ "$UV_CONSTRAINT" = "usual.txt release.txt" ]')
    monkeypatch.setenv("UV_CONSTRAINT", "usual.txt")
    programs.constrain("release.txt")
    programs.installer.install(programs.environment, "project")
    assert len(programs.calls()) == 1


def test_pip_uses_constraints_too(programs: Programs):
    programs.add_uv("exit 2")
    programs.constrain("release.txt")
    programs.installer.install(programs.environment, "project")
    expected = "python -m pip install --quiet --constraint release.txt project"
    assert programs.calls()[-1] == expected


def test_failing_uv_is_replaced_by_pip(programs: Programs, capsys: pytest.CaptureFixture[str]):
    programs.add_uv("exit 2")
    python = programs.add(programs.environment.parent / "python3.99")
    programs.installer.make(programs.environment, python)
    programs.installer.install(programs.environment, "project")
    programs.installer.uninstall(programs.environment, "project")
    calls = [call for call in programs.calls() if not call.startswith("uv ")]
    assert calls == [
        f"python3.99 -m venv {programs.environment}",
        "python -m pip install --quiet project",
        "python -m pip uninstall --quiet --yes project",
    ]
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1
    assert "uv ended with status 2" in lines[0]


def test_uv_that_cannot_be_installed_is_replaced_by_pip(
    programs: Programs, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    failing = programs.add(programs.environment.parent / "python3.99", "exit 1")
    monkeypatch.setattr(sys, "executable", failing)
    programs.installer.install(programs.environment, "project")
    assert programs.calls() == [
        f"python3.99 -m venv {programs.uv_home}",
        "python -m pip install --quiet project",
    ]
    assert "pip takes its place" in capsys.readouterr().out


def test_incomplete_uv_environment_is_replaced_by_pip(programs: Programs):
    programs.add(programs.uv_home / "bin" / "uv")
    programs.installer.install(programs.environment, "project")
    assert programs.calls() == ["python -m pip install --quiet project"]


def test_failure_of_uv_and_pip_raises(programs: Programs):
    programs.add_uv("exit 2")
    programs.add(programs.environment / "bin" / "python", "exit 1")
    with pytest.raises(Failure, match="python ended with status 1"):
        programs.installer.install(programs.environment, "project")
