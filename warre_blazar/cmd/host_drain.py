"""``warre-blazar-manage host drain``: moves a host's reservations to other hosts."""

import dataclasses
import functools
import getpass
import json
import os
from typing import Any

from oslo_utils import timeutils

from warre_blazar.cmd import asking, host_report, setup_errors
from warre_blazar.cmd.host_report import EMPTY, FAILED, LEFT, HostReport
from warre_blazar.domain.hosts.host_marks import Drain
from warre_blazar.errors import exceptions
from warre_blazar.services.moves import drained_hosts, emptying, server_migrations
from warre_blazar.services.moves.opening import Opener
from warre_blazar.site_rules import conditions

__all__ = ["EMPTY", "FAILED", "LEFT", "add_parser", "run"]


_fail = functools.partial(setup_errors.fail, FAILED)


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
        "--running",
        action="store_true",
        help="move running reservations too, live-migrate their servers, and wait for this",
    )
    parser.add_argument(
        "--no-migrate",
        action="store_true",
        help="with --running: print the servers instead of migrating them",
    )
    parser.add_argument("--yes", action="store_true", help="with --running: don't ask")
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
        return _drain(command)
    except setup_errors.DATABASE as error:
        return _fail(setup_errors.database(error))
    except exceptions.WarreError as error:
        return _fail(error.message)


def _drain(command: Any) -> int:
    if not command.running and (command.no_migrate or command.yes):
        return _fail("--no-migrate and --yes need --running")
    if command.running and not (command.yes or command.dry_run):
        how = "" if command.no_migrate else ", and their servers are live-migrated"
        what = f"The reservations that run on host {command.host} get other hosts{how}"
        if refusal := asking.refusal(what):
            return _fail(refusal)
    do = drained_hosts.foresee if command.dry_run else drained_hosts.drain
    now = timeutils.utcnow()
    drain = Drain(_operator(), now.replace(microsecond=0), command.reason)
    emptied = do(command.host, drain, conditions.of_service(), now, running=command.running)
    report = HostReport(emptied, command.dry_run)
    if command.running:
        if not command.dry_run:
            unopened = emptying.open_moved(emptied.to_open, Opener(conditions.of_service).open)
            report = dataclasses.replace(report, unopened=unopened)
        servers = server_migrations.to_move(emptied)
        report = dataclasses.replace(report, servers=servers)
    return _tell(command, report)


def _tell(command: Any, report: HostReport) -> int:
    """Print what has become of everything, while servers are being migrated."""
    migrates = command.running and not (command.no_migrate or command.dry_run)
    servers = report.servers
    projects = host_report.project_names(report.reservations, servers)
    if migrates:
        report = dataclasses.replace(report, servers=())
    if command.dry_run and not command.json:
        print(f"Dry run, nothing was changed: host {command.host} would be closed for bookings")
    if not command.json:
        for line in report.lines(projects):
            print(line, flush=True)
    if migrates:

        def tell(each: server_migrations.Attempt) -> None:
            if not command.json:
                print(host_report.attempt(each, projects), flush=True)

        attempts = server_migrations.migrate(report.reservations.host_id, servers, tell)
        report = dataclasses.replace(report, attempts=attempts)
    if command.json:
        document = {**report.document(projects), "draining": not command.dry_run}
        print(json.dumps(document, indent=2))
    elif command.dry_run:
        print(f"Reservations that would be {report.counts()}")
    else:
        counts = report.counts()
        print(f"Host {command.host} is closed for bookings. Reservations that were {counts}")
    return report.status


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
