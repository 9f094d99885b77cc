"""``warre-blazar-manage host drain``: moves a host's future reservations to other hosts."""

import contextlib
import getpass
import json
import os
import sys
from collections.abc import Mapping
from typing import Any

from oslo_utils import timeutils

from warre_blazar.cmd import setup_errors
from warre_blazar.domain.hosts.host_marks import Drain, OnHost
from warre_blazar.domain.wording import counted
from warre_blazar.errors import exceptions
from warre_blazar.openstack import people
from warre_blazar.services.moves import drained_hosts
from warre_blazar.services.moves.drained_hosts import DrainResult
from warre_blazar.site_rules import conditions

#: The exit statuses: nothing is left on the host, something is left on it, or the command failed.
EMPTY, LEFT, FAILED = 0, 1, 2


def add_parser(actions: Any) -> None:
    """Add the action and its arguments."""
    parser = actions.add_parser(
        "drain",
        help="Book no more flavor:slot reservations on a host. Reservations on the host that "
        "haven't begun get other hosts, and keep their time. Print what is left on the host, and "
        "why. Exit status 0: nothing is left, and you can delete the host in Blazar; 1: something "
        "is left; 2: the command failed.",
    )
    parser.add_argument("host", metavar="HOST", help="id or hypervisor hostname")
    parser.add_argument(
        "--reason", metavar="TEXT", help="why; openstack reservation host status shows it"
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="print what would be moved and what would be left, and change nothing",
    )
    parser.add_argument(
        "--undo", action="store_true", help="let the host be booked again, and move nothing back"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(command: Any) -> int:
    """Run the action.

    :returns: the exit status.
    """
    try:
        if command.undo:
            return _undo(command)
        do = drained_hosts.foresee if command.dry_run else drained_hosts.drain
        now = timeutils.utcnow()
        drain = Drain(_operator(), now.replace(microsecond=0), command.reason)
        result = do(command.host, drain, conditions.of_service(), now)
    except setup_errors.DATABASE as error:
        return _fail(setup_errors.database(error))
    except exceptions.WarreError as error:
        return _fail(error.message)
    projects = _project_names(result)
    if command.json:
        _print_json(result, projects, draining=not command.dry_run)
    else:
        _print(command.host, result, projects, dry_run=command.dry_run)
    return LEFT if result.left else EMPTY


def _operator() -> str:
    """The name by which the operator has logged in to this machine."""
    return os.environ.get("SUDO_USER") or getpass.getuser()


def _undo(command: Any) -> int:
    host_id, drain = drained_hosts.drain_of(command.host)
    if drain is not None and not command.dry_run:
        drained_hosts.resume(command.host)
    if command.json:
        still = drain is not None and command.dry_run
        print(json.dumps({"host_id": host_id, "draining": still}))
    elif drain is None:
        print(f"Host {command.host} isn't drained, so there is nothing to undo")
    elif command.dry_run:
        print(f"Dry run, nothing was changed: host {command.host} would be booked again")
    else:
        print(f"Host {command.host} can be booked again")
    return EMPTY


def _fail(message: str) -> int:
    print(f"warre-blazar-manage: {message}", file=sys.stderr)
    return FAILED


def _project_names(result: DrainResult) -> dict[str, str]:
    """The names of the reservations' projects by id, as far as Keystone tells them."""
    names: dict[str, str] = {}
    moved, left = (each.on_host for each in result.moved), (each.on_host for each in result.left)
    ids = {on_host.project_id for on_host in (*moved, *left)}
    with contextlib.suppress(exceptions.WarreError):
        for project_id in sorted(ids):
            if project := people.find_project(project_id):
                names[project_id] = project["name"]
    return names


def _print(host: str, result: DrainResult, projects: Mapping[str, str], *, dry_run: bool) -> None:
    if dry_run:
        print(f"Dry run, nothing was changed: host {host} would be closed for bookings")
    for each in result.moved:
        print(
            f"{'would move' if dry_run else 'moved'}  {_line(each.on_host, projects)}, to "
            f"{', '.join(each.new_hosts)}"
        )
    for left in result.left:
        print(f"{'would stay' if dry_run else 'left '}  {_line(left.on_host, projects)}")
        print(f"    {left.why}")
    moved, stayed = len(result.moved), len(result.left)
    if dry_run:
        print(f"Reservations that would be moved: {moved}, left: {stayed}")
        return
    print(
        f"Host {host} is closed for bookings. Reservations that were moved: {moved}, left: {stayed}"
    )


def _line(each: OnHost, projects: Mapping[str, str]) -> str:
    of_flavor = f" of {each.flavor_name}" if each.flavor_name else ""
    return (
        f"{each.shown_id}  {each.start:%Y-%m-%d %H:%M} to {each.end:%Y-%m-%d %H:%M} UTC, "
        f"{counted(each.instances, 'instance')}{of_flavor}, "
        f"project {projects.get(each.project_id, each.project_id)}"
    )


def _print_json(result: DrainResult, projects: Mapping[str, str], *, draining: bool) -> None:
    document = {
        "host_id": result.host_id,
        "draining": draining,
        "moved": [
            {**_document(each.on_host, projects), "new_hosts": each.new_hosts}
            for each in result.moved
        ],
        "left": [{**_document(left.on_host, projects), "why": left.why} for left in result.left],
    }
    print(json.dumps(document, indent=2))


def _document(each: OnHost, projects: Mapping[str, str]) -> dict[str, Any]:
    return {
        "reservation_id": each.shown_id,
        "resource_type": each.resource_type,
        "flavor": each.flavor_name,
        "project": projects.get(each.project_id),
        "project_id": each.project_id,
        "status": each.status,
        "instances": each.instances,
        "start": each.start.isoformat(timespec="seconds") + "+00:00",
        "end": each.end.isoformat(timespec="seconds") + "+00:00",
    }
