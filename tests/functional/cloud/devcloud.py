"""The dev cloud from the outside: its services, programs and configuration."""

import configparser
import contextlib
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator

_TOOLS = pathlib.Path(__file__).resolve().parents[3] / "tools"
_TOOL = _TOOLS / "devcloud"
MANAGERS = "blazar-manager*"


def home() -> pathlib.Path:
    """The cloud's directory."""
    return pathlib.Path(os.environ["WARRE_DEVCLOUD_HOME"])


def database_url() -> str:
    """Blazar's database."""
    parser = configparser.RawConfigParser(strict=False)
    parser.read(home() / "etc" / "blazar" / "blazar.conf")
    return parser["database"]["connection"]


def _tool(*words: str) -> None:
    done = subprocess.run([_TOOL, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"devcloud {' '.join(words)}: {done.stdout}{done.stderr}"


def stop(service: str, *, kill: bool = False) -> None:
    """End a service, or those that a pattern names."""
    _tool("stop", service, *(["--kill9"] if kill else []))


def start(service: str) -> None:
    """Start what of them doesn't run, and wait until it answers."""
    _tool("start", service)


@contextlib.contextmanager
def away(service: str) -> Iterator[None]:
    """A service that is away for a while, and back afterwards whatever happened."""
    stop(service)
    try:
        yield
    finally:
        start(service)


@contextlib.contextmanager
def two_managers() -> Iterator[None]:
    """A second manager for a while."""
    _tool("up", "--managers", "2")
    try:
        yield
    finally:
        _tool("up", "--managers", "1")


@contextlib.contextmanager
def enforcing(options: dict[str, str]) -> Iterator[None]:
    """Other options of usage enforcement for the one manager."""
    path = home() / "etc" / "blazar" / "manager1.conf"
    usual = path.read_text()
    lines = [f"{name} = {value}" for name, value in options.items()]
    try:
        path.write_text("\n".join([usual, "[enforcement]", *lines, ""]))
        _tool("restart", MANAGERS)
        yield
    finally:
        path.write_text(usual)
        _tool("restart", MANAGERS)


@contextlib.contextmanager
def nova_refusing(rule: str) -> Iterator[None]:
    """Let Nova's policy allow something to nobody; Nova reads that file again when it changes."""
    path = home() / "etc" / "nova" / "policy.yaml"
    path.write_text(f'"{rule}": "!"\n')
    try:
        yield
    finally:
        # Nova would fail, were the file away again.
        path.write_text("{}\n")


def environment(directory: pathlib.Path, *packages: str) -> pathlib.Path:
    """Make a virtual environment with released packages, as the tools make theirs; its ``bin``."""
    sys.path.insert(0, str(_TOOLS))
    try:
        from devcloud_lib.installer import Installer  # noqa: PLC0415
    finally:
        sys.path.remove(str(_TOOLS))
    installer = Installer(home() / "uv", directory / "log")
    installer.make(directory / "venv")
    installer.install(directory / "venv", *packages)
    return directory / "venv" / "bin"


def run(program: str, *words: str, user: str) -> str:
    """What a client program of the cloud's environment prints."""
    env = {
        **os.environ,
        "OS_USERNAME": user,
        "OS_PROJECT_NAME": user,
        "OS_AUTH_TYPE": "password",
    }
    command = [home() / "venv" / "bin" / program, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, f"{program} {' '.join(words)}: {done.stdout}{done.stderr}"
    return done.stdout
