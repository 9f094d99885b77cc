"""Runs playbooks that use the collection in ``contrib/ansible``."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import yaml
from devcloud_lib.programs import program

SOURCE = Path(__file__).resolve().parents[2] / "contrib" / "ansible"


def run(*words: str | Path, **env: str) -> str:
    """Run a program of Ansible, and return what it prints."""
    done = subprocess.run(
        [program(str(words[0])), *words[1:]],
        env={**os.environ, "ANSIBLE_DEPRECATION_WARNINGS": "0", **env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def install_collection(directory: Path) -> Path:
    """Build the collection and install it into a directory, which is returned."""
    run("ansible-galaxy", "collection", "build", SOURCE, "--output-path", directory)
    (archive,) = directory.glob("*.tar.gz")
    run("ansible-galaxy", "collection", "install", archive, "-p", directory, "--offline")
    return directory


def task(module: str, **options: Any) -> dict[str, Any]:
    """A task of the collection. Options that are None are left out."""
    wanted = {name: value for name, value in options.items() if value is not None}
    return {f"warre.blazar.{module}": {"cloud": "mycloud", **wanted}}


def play(
    directory: Path,
    collections: Path,
    cloud: dict[str, Any],
    *tasks: dict[str, Any],
    check: bool = False,
) -> list[dict[str, Any]]:
    """Run a playbook. Return what its tasks have registered. Later tasks follow one that fails.

    :param directory: where the playbook and its files are written.
    :param cloud: how to log in, as in ``clouds.yaml``.
    :param check: whether to use Ansible's check mode.
    """
    (directory / "clouds.yaml").write_text(yaml.safe_dump({"clouds": {"mycloud": cloud}}))
    results = directory / "results.json"
    names = [f"r{number}" for number in range(len(tasks))]
    listed = ", ".join(names)
    copy = {"content": f"{{{{ [{listed}] | to_json }}}}", "dest": str(results)}
    registered = [
        {"ignore_errors": True, **each, "register": name}
        for each, name in zip(tasks, names, strict=True)
    ]
    book = {
        "hosts": "localhost",
        "connection": "local",
        "gather_facts": False,
        "vars": {"ansible_python_interpreter": program("python")},
        "tasks": [*registered, {"ansible.builtin.copy": copy, "check_mode": False}],
    }
    (directory / "book.yaml").write_text(yaml.safe_dump([book]))
    run(
        "ansible-playbook",
        *(["--check"] if check else []),
        "--diff",
        directory / "book.yaml",
        ANSIBLE_COLLECTIONS_PATH=str(collections),
        ANSIBLE_HOME=str(directory / "ansible"),
        OS_CLIENT_CONFIG_FILE=str(directory / "clouds.yaml"),
        PYTHONWARNINGS="ignore",
    )
    found: list[dict[str, Any]] = json.loads(results.read_text())
    return found
