"""``warre-blazar-manage host fail``: moves reservations off a failed host at once."""

import datetime
import functools
import json
from typing import Any

from oslo_config import cfg
from oslo_utils import timeutils

from warre_blazar import times
from warre_blazar.cmd import asking, host_report, setup_errors
from warre_blazar.cmd.host_report import EMPTY, FAILED, HostReport
from warre_blazar.errors import exceptions
from warre_blazar.services.moves import emptying, failed_hosts
from warre_blazar.services.moves.opening import Opener
from warre_blazar.site_rules import conditions

cfg.CONF.import_group("physical:host", "blazar.plugins.oshosts.host_plugin")


_fail = functools.partial(setup_errors.fail, FAILED)


def add_parser(actions: Any) -> None:
    """Add the action and its arguments."""
    parser = actions.add_parser(
        "fail",
        help="Treat a host as failed, as Blazar's host monitor does at its next look: no new "
        "bookings on it, and its reservations get other hosts, also those that run. When the "
        "command has ended, their servers can be evacuated. If the monitor is enabled, it lets the "
        "host be booked again when Nova says that the host is up and enabled. Exit status 0: no "
        "reservation of the next [physical:host] healing_interval minutes is left; 1: something is "
        "left; 2: the command failed.",
    )
    parser.add_argument("host", metavar="HOST", help="id or hypervisor hostname")
    parser.add_argument("--yes", action="store_true", help="don't ask for confirmation")
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="print what would be moved and what would be left, and change nothing",
    )
    parser.add_argument(
        "--undo",
        action="store_true",
        help="let the host be used again, if the host monitor isn't enabled and Nova says that the "
        "host is up and enabled; move nothing back",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(command: Any) -> int:
    """Run the action.

    :returns: the exit status.
    """
    try:
        return _undo(command) if command.undo else _run(command)
    except setup_errors.DATABASE as error:
        return _fail(setup_errors.database(error))
    except exceptions.WarreError as error:
        return _fail(error.message)


def _run(command: Any) -> int:
    if not (command.yes or command.dry_run):
        what = f"Host {command.host} is taken out of use, and its reservations get other hosts"
        if refusal := asking.refusal(what):
            return _fail(refusal)
    do = failed_hosts.foresee if command.dry_run else failed_hosts.fail
    now = timeutils.utcnow()
    emptied = do(command.host, conditions.of_service(), now, _until(now))
    unopened = []
    if not command.dry_run:
        unopened = emptying.open_moved(emptied.to_open, Opener(conditions.of_service).open)
    report = HostReport(emptied, command.dry_run, unopened)
    _tell(command, report)
    return report.status


def _until(now: datetime.datetime) -> datetime.datetime:
    minutes = cfg.CONF["physical:host"].healing_interval
    return now + minutes * times.MINUTE if minutes else datetime.datetime.max


def _tell(command: Any, report: HostReport) -> None:
    projects = host_report.project_names(report.reservations)
    later = report.reservations.later
    if command.json:
        document = {
            **report.document(projects),
            "failed": not command.dry_run,
            "later": later,
        }
        print(json.dumps(document, indent=2))
        return
    if command.dry_run:
        print(f"Dry run, nothing was changed: host {command.host} would be taken out of use")
    for line in report.lines(projects):
        print(line)
    verb = "would be" if command.dry_run else "were"
    begins = "" if command.dry_run else f"Host {command.host} is out of use. "
    print(f"{begins}Reservations that {verb} {report.counts()}, begin later and stay: {later}")


def _undo(command: Any) -> int:
    host_id = failed_hosts.use_again(command.host, is_dry_run=command.dry_run)
    if command.json:
        print(json.dumps({"host_id": host_id, "failed": command.dry_run}))
    elif command.dry_run:
        print(f"Dry run, nothing was changed: host {command.host} would be used again")
    else:
        print(f"Host {command.host} can be used again")
    return EMPTY
