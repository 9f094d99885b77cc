"""Control of the dev cloud: its services, programs and configuration."""

import configparser
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping

from tests.functional.cloud.waiting import until

_TOOLS = pathlib.Path(__file__).resolve().parents[3] / "tools"
_TOOL = _TOOLS / "devcloud"
MANAGERS = "blazar-manager*"


def home() -> pathlib.Path:
    """The cloud's directory."""
    return pathlib.Path(os.environ["WARRE_DEVCLOUD_HOME"])


def database_url() -> str:
    """The URL of Blazar's database."""
    return option("database", "connection")


def option(group: str, name: str) -> str:
    """An option of Blazar's configuration."""
    parser = configparser.RawConfigParser(strict=False)
    parser.read(home() / "etc" / "blazar" / "blazar.conf")
    return parser[group][name]


def _tool(*words: str) -> None:
    done = subprocess.run([_TOOL, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"devcloud {' '.join(words)}: {done.stdout}{done.stderr}"


def stop(service: str, *, kill: bool = False) -> None:
    """Stop a service, or all services whose names match a pattern."""
    _tool("stop", service, *(["--kill9"] if kill else []))


def start(service: str) -> None:
    """Start those of the services that don't run, and wait until they answer."""
    _tool("start", service)


def restart(service: str) -> None:
    """Stop a service and start it again."""
    _tool("restart", service)


def hang_up(manager: str = "blazar-manager1") -> None:
    """Send SIGHUP to a manager, and wait until another process of it works."""
    main = json.loads((home() / "run" / f"{manager}.pid").read_text())["pid"]
    before = _children(main)
    os.kill(main, signal.SIGHUP)
    until("a new process of the manager", lambda: _children(main) - before)


def _children(pid: int) -> set[str]:
    """The ids of the processes that a process has started."""
    tasks = pathlib.Path(f"/proc/{pid}/task").glob("*/children")
    return {child for task in tasks for child in task.read_text().split()}


@contextlib.contextmanager
def away(service: str) -> Iterator[None]:
    """Stop a service while the block runs, and start it again afterwards."""
    stop(service)
    try:
        yield
    finally:
        start(service)


@contextlib.contextmanager
def two_managers() -> Iterator[None]:
    """Run a second manager while the block runs."""
    _tool("up", "--managers", "2")
    try:
        yield
    finally:
        _tool("up", "--managers", "1")


@contextlib.contextmanager
def enforcing(options: dict[str, str]) -> Iterator[None]:
    """Run the manager with other options of usage enforcement while the block runs."""
    with manager_options("enforcement", options):
        yield


@contextlib.contextmanager
def manager_options(group: str, options: dict[str, str]) -> Iterator[None]:
    """Run the manager with other options of a group while the block runs."""
    path = home() / "etc" / "blazar" / "manager1.conf"
    usual = path.read_text()
    lines = [f"{name} = {value}" for name, value in options.items()]
    try:
        path.write_text("\n".join([usual, f"[{group}]", *lines, ""]))
        restart(MANAGERS)
        yield
    finally:
        path.write_text(usual)
        restart(MANAGERS)


@contextlib.contextmanager
def options(groups: Mapping[str, Mapping[str, str]]) -> Iterator[None]:
    """Run all managers with other options while the block runs.

    :param groups: the options of each group.
    """
    path = home() / "etc" / "blazar" / "blazar.conf"
    usual = path.read_text()
    lines = [
        line
        for group, values in groups.items()
        for line in (f"[{group}]", *(f"{name} = {value}" for name, value in values.items()))
    ]
    try:
        path.write_text("\n".join([usual, *lines, ""]))
        restart(MANAGERS)
        yield
    finally:
        path.write_text(usual)
        restart(MANAGERS)


@contextlib.contextmanager
def scheduler_options(options: Mapping[str, str]) -> Iterator[None]:
    """Run Nova's scheduler with other options of its group ``scheduler`` while the block runs."""
    path = home() / "etc" / "nova" / "nova.conf"
    usual = path.read_text()
    lines = [f"{name} = {value}" for name, value in options.items()]
    try:
        path.write_text("\n".join([usual, "[scheduler]", *lines, ""]))
        restart("nova-scheduler")
        yield
    finally:
        path.write_text(usual)
        restart("nova-scheduler")


@contextlib.contextmanager
def nova_refusing(rule: str) -> Iterator[None]:
    """Let Nova's policy deny a rule to everybody while the block runs.

    Nova reads its policy file again when the file changes.
    """
    path = home() / "etc" / "nova" / "policy.yaml"
    path.write_text(f'"{rule}": "!"\n')
    try:
        yield
    finally:
        # Nova would fail if the file were deleted.
        path.write_text("{}\n")


def environment(directory: pathlib.Path, *packages: str) -> pathlib.Path:
    """Make a virtual environment with released packages, and return its ``bin`` directory."""
    sys.path.insert(0, str(_TOOLS))
    try:
        from devcloud_lib.installer import Installer  # noqa: PLC0415
    finally:
        sys.path.remove(str(_TOOLS))
    installer = Installer(home() / "uv", directory / "log")
    installer.make(directory / "venv")
    installer.install(directory / "venv", *packages)
    return directory / "venv" / "bin"


def manage_host(verb: str, host: str, *options: str) -> tuple[int, str]:
    """Run ``warre-blazar-manage host VERB``. Return its exit status and what it prints."""
    config = home() / "etc" / "blazar" / "blazar.conf"
    program = home() / "venv" / "bin" / "warre-blazar-manage"
    words = [program, "--config-file", config, "host", verb, host, *options]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def run(program: str, *words: str, user: str) -> str:
    """Run a client program of the cloud's environment as a user, and return what it prints."""
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
