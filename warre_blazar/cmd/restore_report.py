"""``warre-blazar-manage audit --after-restore``: says what a restored database doesn't know."""

import argparse
import datetime
from collections.abc import Iterator
from typing import Any

from oslo_utils import timeutils

from warre_blazar.cmd import setup_errors
from warre_blazar.db import session
from warre_blazar.domain.audit.restored import DumpedLease
from warre_blazar.domain.wording import counted
from warre_blazar.errors import exceptions
from warre_blazar.services.audit import restore
from warre_blazar.services.audit.restore import RebuildPlan, RestoreChoice, RestoreSight

#: The exit statuses. They mean the same as those of an audit without this option.
_NOT_HELD, _HELD, _BLIND = 0, 1, 2
_FORMAT = "%Y-%m-%d %H:%M"
_ACCEPT = "warre-blazar-manage audit --after-restore --accept"


def add_arguments(parser: Any) -> None:
    """Add the arguments about restored databases."""
    parser.add_argument(
        "--after-restore",
        action="store_true",
        help="say what a restored database doesn't know, and what would happen if managers "
        "went on with it. Exit status 0: managers aren't held; 1: they are held because the "
        "database is older than Placement; 2: a service or the database couldn't be read",
    )
    parser.add_argument(
        "--accept",
        action="store_true",
        help="with --after-restore: do what was printed, and let managers go on with the database",
    )
    parser.add_argument(
        "--until",
        type=_time,
        metavar="TIME",
        help='with --accept: the end, in UTC, such as "2030-05-17 18:00", of reservations that are '
        "rebuilt, and of those whose end has passed",
    )
    parser.add_argument(
        "--end-overdue",
        action="store_true",
        help="with --accept: end the reservations whose end has passed, and delete their servers",
    )


def _time(text: str) -> datetime.datetime:
    time = datetime.datetime.strptime(text, _FORMAT)
    if time <= timeutils.utcnow():
        raise argparse.ArgumentTypeError("expected a time in the future")
    return time


def misused(arguments: Any) -> str:
    """Why the arguments don't fit together. Empty: they do."""
    if (arguments.accept or arguments.until or arguments.end_overdue) and (
        not arguments.after_restore
    ):
        return "--accept, --until and --end-overdue need --after-restore"
    if arguments.after_restore and (arguments.fix or arguments.json):
        return "--after-restore can't be used with --fix or --json"
    return ""


def run(arguments: Any) -> int:
    """Print what was found and, with ``--accept``, do what was printed.

    :returns: the exit status.
    """
    now = timeutils.utcnow()
    choice = RestoreChoice(arguments.until, arguments.end_overdue)
    try:
        sight = restore.look(now)
        print("\n".join(_lines(sight, choice)))
        if not arguments.accept:
            if sight.can_be_accepted:
                print(_offer(sight))
            return _HELD if sight.is_older else _NOT_HELD
        if not sight.can_be_accepted:
            return setup_errors.fail(
                _BLIND, "managers aren't held, and one was at work a moment ago: stop them first"
            )
        if choice.until is None and sight.needs_until(end_overdue=choice.end_overdue):
            return setup_errors.fail(
                _BLIND, "say with --until TIME when these reservations end. Nothing was changed"
            )
        restore.accept(sight, choice, now)
    except exceptions.WarreError as error:
        return setup_errors.fail(_BLIND, error.message)
    except session.RowChanged:
        return setup_errors.fail(_BLIND, "the database has changed meanwhile; try again")
    except setup_errors.DATABASE as error:
        return setup_errors.fail(_BLIND, setup_errors.database(error))
    print(
        "Done. Start the managers, or restart those that ran before the restore. Then run "
        "warre-blazar-manage audit"
    )
    return _NOT_HELD


def _standing(sight: RestoreSight) -> Iterator[str]:
    mark, found = sight.mark, sight.found
    if mark.is_older:
        lost = f", which was lost after {_at(found.lost_at)}" if found.lost_at else ""
        yield (
            f"The database (mark {mark.number}) is older than the one that Placement has seen "
            f"(mark {mark.seen}){lost}. Managers are held"
        )
    else:
        yield "The database isn't older than Placement, so managers aren't held"
        if not sight.has_placement_a_mark:
            yield "But Placement has no mark, so nobody knows whether the database was restored"
        if sight.is_idle:
            yield "If it was restored, don't start managers before you have accepted what follows"


def _lines(sight: RestoreSight, choice: RestoreChoice) -> Iterator[str]:
    found = sight.found
    yield from _standing(sight)
    until = _at(choice.until) if choice.until else "the time of --until"
    running = {plan.unknown.reservation_id: plan for plan in sight.plans}
    for unknown in found.unknown:
        plan = running.get(unknown.reservation_id)
        yield f"unknown  {_unknown(unknown)}"
        yield f"    {_of_plan(plan, until)}"
    for each in found.gone:
        yield f"gone  {_lease(each)} should have begun, but has nothing in Nova and Placement"
        yield "    It ends in the tables"
    for each in found.overdue:
        yield f"overdue  {_lease(each)} is past its end{_servers(each.servers)}"
        end = "It ends at once, with its servers" if choice.end_overdue else f"It ends at {until}"
        yield f"    {end}"
    for each in found.starting:
        yield f"start  {_lease(each)} is past its start{_servers(each.servers)}"
        yield f"    It starts at once{', and its servers stay' if each.servers else ''}"
    for each in found.ending:
        yield f"ending  {_lease(each)} ends within a day{_servers(each.servers)}"
        yield "    It ends then, with its servers. If it was extended after the dump, do so again"
    for channel, number in sorted(found.waiting.items()):
        yield f"told  {counted(number, 'notice')} for {channel} may have been sent already"
        yield "    They aren't sent"
    if found.waits:
        yield f"wait  {counted(found.waits, 'wait')} may have been served already"
        yield "    They go on, and may be served again: delete those that shouldn't be"


def _offer(sight: RestoreSight) -> str:
    until = ' --until "YYYY-MM-DD HH:MM"' if sight.needs_until(end_overdue=False) else ""
    return f"With {_ACCEPT}{until}, this is done, and managers go on"


def _unknown(unknown: Any) -> str:
    backing = unknown.backing
    hosts = ", ".join(sorted(unknown.instances)) or "no host"
    flavor = f"Nova flavor {backing.flavor.id}" if backing.flavor else "no Nova flavor"
    return (
        f"Reservation {unknown.reservation_id} of project {unknown.project_id or '(not known)'} is "
        f"in no table, but in Nova or Placement: on {hosts}, {flavor}"
        f"{_servers(sorted(backing.servers or ()))}"
    )


def _of_plan(plan: RebuildPlan | None, until: str) -> str:
    if plan is None:
        return "It has no places on hosts, so it isn't rebuilt. Nothing is done about it"
    if plan.flavor is None:
        return (
            "It can't be rebuilt, because no flavor has its shape, or it has devices or a handle. "
            "Nobody can book its hosts any more until you run "
            "warre-blazar-manage host drain HOST --undo"
        )
    return f"It is rebuilt as a reservation of flavor {plan.flavor.name} that ends at {until}"


def _lease(each: DumpedLease) -> str:
    span = each.lease.span
    reservations = ", ".join(each.live) or each.lease.id
    return (
        f"Reservation {reservations} ({each.name}, project {each.project_id}, {_at(span.start)} to "
        f"{_at(span.end)})"
    )


def _servers(servers: Any) -> str:
    return f", {counted(len(servers), 'server')}: {', '.join(servers)}" if servers else ""


def _at(time: datetime.datetime | None) -> str:
    return f"{time:{_FORMAT}} UTC" if time else "an unknown time"
