"""The configuration that Kolla-Ansible writes: its own roles, run on this machine."""

import getpass
import grp
import json
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from devcloud_lib import mariadb
from devcloud_lib.layout import Layout

from tests.deployers import environments
from tests.fakes.keystone import Keystone

CONTRIB = environments.CONTRIB / "kolla"
STOCK, OURS = "stock", "ours"
#: What a site has chosen besides, in the words of Kolla-Ansible. All services are on this machine.
SITE: dict[str, Any] = {
    "enable_blazar": True,
    "kolla_base_distro": "debian",
    "kolla_internal_vip_address": "127.0.0.1",
    "kolla_same_external_internal_vip": True,
    "network_interface": "lo",
    # Kolla-Ansible becomes root to write its files, which belong to root.
    "ansible_become": False,
    "config_owner_user": getpass.getuser(),
    "config_owner_group": grp.getgrgid(os.getgid()).gr_name,
}
_PASSWORD = "secret"


def where(layout: Layout, keystone: Keystone) -> dict[str, Any]:
    """The variables that lead services to these servers, and Keystone's users to Blazar."""
    return {
        "database_port": layout.ports.mariadb,
        "blazar_database_user": mariadb.USER,
        "blazar_database_password": mariadb.PASSWORD,
        "rabbitmq_port": layout.ports.rabbitmq,
        "rabbitmq_user": "guest",
        "rabbitmq_password": "guest",
        "keystone_internal_port": keystone.port,
        "keystone_public_port": keystone.port,
        "blazar_keystone_password": keystone.password,
        "blazar_api_port": layout.ports.blazar,
        "horizon_listen_port": layout.ports.dashboard,
    }


def render(version: str, directory: Path, site: Mapping[str, Any], service: str) -> dict[str, Path]:
    """Let a version of Kolla-Ansible write a service's configuration, stock and with our files.

    :param directory: an empty directory.
    :param site: variables that are added to ``SITE``.
    :returns: the directories with the written files, which have a subdirectory for each container.
    """
    kolla = environments.home() / f"kolla-ansible-{version}" / "share" / "kolla-ansible"
    (directory / "group_vars").symlink_to(kolla / "ansible" / "group_vars")
    # What is in this file takes precedence over the site's other variables.
    passwords = {name: value for name, value in site.items() if name.endswith("_password")}
    _write(directory / "passwords.yml", {**_passwords(kolla), **passwords})
    ours = yaml.safe_load((CONTRIB / "globals.yml").read_text())
    _write(directory / "globals.yml", {**SITE, **ours, **site})
    written = {name: directory / name / "etc" for name in (STOCK, OURS)}
    for name in written:
        (directory / name / "config").mkdir(parents=True)
        (directory / name / "etc").mkdir()
    shutil.copytree(CONTRIB / "config", directory / OURS / "config", dirs_exist_ok=True)
    _write(directory / "play.yml", _play(directory, service))
    _run(kolla, directory)
    return written


def _write(path: Path, value: Any) -> None:
    # Every JSON document is YAML.
    path.write_text(json.dumps(value, indent=1))


def _passwords(kolla: Path) -> dict[str, Any]:
    """A value for each password that ``kolla-genpwd`` would make."""
    listed = yaml.safe_load((kolla / "etc_examples" / "kolla" / "passwords.yml").read_text())
    return {name: value or _PASSWORD for name, value in listed.items()}


def _play(directory: Path, role: str) -> list[dict[str, Any]]:
    """A play that runs the tasks of a role that write its configuration."""
    facts = {"gather_subset": ["hardware", "network"]}
    tasks: list[dict[str, Any]] = [{"ansible.builtin.setup": facts}]
    for name in (STOCK, OURS):
        places = {
            "node_custom_config": str(directory / name / "config"),
            "node_config_directory": str(directory / name / "etc"),
        }
        include = {"name": role, "tasks_from": "config.yml"}
        tasks.append({"ansible.builtin.include_role": include, "vars": places})
    return [{"hosts": "localhost", "gather_facts": False, "tasks": tasks}]


def _run(kolla: Path, directory: Path) -> None:
    ansible, programs = kolla / "ansible", environments.home() / "ansible" / "bin"
    variables = {
        # Filters and tasks import modules of Kolla-Ansible.
        "PYTHONPATH": str(kolla.parents[1]),
        "ANSIBLE_ROLES_PATH": str(ansible / "roles"),
        "ANSIBLE_ACTION_PLUGINS": str(ansible / "action_plugins"),
        "ANSIBLE_FILTER_PLUGINS": str(ansible / "filter_plugins"),
        "ANSIBLE_LIBRARY": str(ansible / "library"),
        "ANSIBLE_LOCAL_TEMP": str(directory / "tmp"),
        "ANSIBLE_HOME": str(directory / "ansible"),
        # Run modules without copying each of them first.
        "ANSIBLE_PIPELINING": "true",
        "LC_ALL": "C.UTF-8",
    }
    environments.run(
        programs / "ansible-playbook",
        *("-i", ansible / "inventory" / "all-in-one", directory / "play.yml"),
        *("-e", f"@{directory / 'globals.yml'}", "-e", f"@{directory / 'passwords.yml'}"),
        *("-e", "kolla_action=config", "-e", f"ansible_python_interpreter={programs / 'python'}"),
        env=variables,
        cwd=directory,
    )


def settings(path: Path) -> list[str]:
    """The lines of an ini file that say something, each option with its group."""
    group, found = "", []
    for line in path.read_text().splitlines():
        if match := re.fullmatch(r"\[(.+)\]", line.strip()):
            group = match[1]
        elif line.strip() and not line.startswith("#"):
            found.append(f"[{group}] {line.strip()}")
    return found
