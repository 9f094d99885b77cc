"""``warre-blazar-manage import-warre``: imports a Warre database, or undoes all imports."""

import dataclasses
import json
import sys
from collections.abc import Sequence
from typing import Any

from oslo_config import cfg
from oslo_db import options as db_options
from oslo_utils import timeutils

from warre_blazar import conf, warre_import
from warre_blazar.cmd import setup_errors, status
from warre_blazar.domain.wording import counted
from warre_blazar.warre_import import Report
from warre_blazar.warre_import.report import KINDS
from warre_blazar.warre_import.verdicts import Fate, Verdict

_HEADINGS = {
    Fate.TAKEN: "taken",
    Fate.PAST: "to the history",
    Fate.KNOWN: "there already",
    Fate.OLD: "too old",
    Fate.LEFT: "not taken",
}
_NOUNS = {
    "flavor": "flavors",
    "access": "access",
    "window": "maintenance windows",
    "reservation": "reservations",
}


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "import-warre",
        help="Take over flavors, access, maintenance windows and reservations from Warre 5.2, with "
        "their ids. The Blazar leases of Warre's reservations are converted in place. The command "
        "first prints what it takes and what it can't take. If it is run again, it takes what is "
        "new.",
    )
    parser.add_argument(
        "--connection",
        metavar="URL",
        help="URL of Warre's database, for instance mysql+pymysql://USER:PASSWORD@HOST/warre; the "
        "command only reads this database",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="print what would be taken, and write nothing"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--undo",
        action="store_true",
        help="restore every row as it was before the first import; refused if anything that was "
        "taken has been booked, started, ended or changed since",
    )
    parser.add_argument(
        "--needs-bot",
        action="store_true",
        help="list the leases that Blazar can't start, end or delete without the user as whom "
        "Warre has made them; keep this user and its roles as long as there is such a lease",
    )


def run(command: Any) -> str:
    """Import a Warre database, undo all imports, or list the leases that need Warre's user.

    :returns: the reason why the command failed, or an empty text if it succeeded.
    """
    db_options.set_defaults(cfg.CONF)
    conf.register(cfg.CONF)
    wrong = _misused(command)
    if wrong:
        return wrong
    try:
        if command.undo:
            return _undo(command)
        if command.needs_bot:
            return _needs_bot(command)
        return _import(command)
    except warre_import.Unreadable as error:
        return f"{error}. Nothing was written"
    except warre_import.ChangedSinceImport as error:
        return str(error)
    except setup_errors.DATABASE as error:
        return f"{setup_errors.database(error)}. Nothing was written"


def _misused(command: Any) -> str:
    alone = {"--undo": command.undo, "--needs-bot": command.needs_bot}
    given = [option for option, is_given in alone.items() if is_given]
    if len(given) > 1:
        return f"{given[0]} can't be combined with {given[1]}"
    if given and (command.dry_run or command.connection):
        return f"{given[0]} takes neither --connection nor --dry-run"
    if not given and not command.connection:
        return "--connection is needed: the URL of Warre's database"
    return ""


def _import(command: Any) -> str:
    now, days = timeutils.utcnow(), cfg.CONF.warre.history_days
    planned = warre_import.plan(command.connection, now, days)
    if not command.json:
        _print(planned)
    if command.dry_run:
        _end(command, planned, "Dry run: nothing was written", status.shortcomings())
        return ""
    done = warre_import.take_over(command.connection, now, days)
    if not command.json and not done.same_counts(planned):
        print("\nSomething changed after the plan was made. This was taken:\n")
        _print(done)
    _end(command, done, "Nothing was new" if done.is_empty() else "Taken over")
    return ""


def _end(
    command: Any, report: Report, ending: str, shortcomings: Sequence[str] | None = None
) -> None:
    """Print what is to be done next and how the command ended.

    :param shortcomings: for a dry run, what is missing before people can book.
    """
    if command.json:
        _print_json(report, shortcomings)
        return
    if shortcomings is not None:
        print("\nBefore the import:")
        for shortcoming in shortcomings:
            print(f"  {shortcoming}")
        print("  Run warre-blazar-manage audit, to know later which differences were there before.")
    if report.with_devices:
        print(
            "\nAfter the import, when you are sure that you won't undo it:\n"
            "  Run warre-blazar-manage flavor recount, which counts the devices of the flavors "
            "below, and\n"
            "  make these flavors active. Until then, nobody can book them. The recount changes "
            "them, so the\n"
            f"  import can't be undone afterwards: {', '.join(sorted(report.with_devices))}"
        )
    print(f"\n{ending}.")


def _undo(command: Any) -> str:
    counts = warre_import.undo()
    if command.json:
        json.dump({"put_back": counts}, sys.stdout, indent=2)
        print()
    elif not counts:
        print("Nothing was imported, so there is nothing to put back.")
    else:
        named = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
        print(f"Put back: {named}. All rows are as they were before the import.")
    return ""


def _needs_bot(command: Any) -> str:
    found = warre_import.needs_bot()
    if command.json:
        leases = [
            {**dataclasses.asdict(lease), "end": f"{lease.end.isoformat()}+00:00"}
            for lease in found.leases
        ]
        print(json.dumps({"leases": leases, "can_be_undone": found.can_be_undone}, indent=2))
        return ""
    if found.leases:
        print(
            "Blazar needs the user, its roles and its trusts to start, end, change and delete "
            "these leases:"
        )
    for lease in found.leases:
        print(
            f"  lease {lease.id} ({lease.name}), {lease.status}, of user {lease.user_id} in "
            f"project {lease.project_id}, until {lease.end} UTC"
        )
    if found.can_be_undone:
        print("The import can still be undone. After an undo, Warre needs its bot.")
    if not found.leases and not found.can_be_undone:
        print("No lease needs Warre's bot.")
    return ""


def _print(report: Report) -> None:
    width = max(len(noun) for noun in _NOUNS.values()) + 2
    print(" " * width + "  ".join(f"{heading:>14}" for heading in _HEADINGS.values()))
    for kind in KINDS:
        numbers = (report.count(kind, fate) for fate in _HEADINGS)
        print(f"{_NOUNS[kind]:<{width}}" + "  ".join(f"{number:>14}" for number in numbers))
    left = [verdict for verdict in report.notable if verdict.fate is Fate.LEFT]
    others = [verdict for verdict in report.notable if verdict.fate is not Fate.LEFT]
    _print_list("Not taken", left)
    _print_list("Taken, with remarks", others)
    if report.oversold:
        print(
            "\nFor these flavors, Warre has booked more instances than there are slots. The import "
            "takes over their reservations all the same:"
        )
    for flavor in report.oversold:
        print(
            f"  flavor {flavor.name} ({flavor.flavor_id}): {flavor.booked} instances are booked at "
            f"{flavor.at} UTC, and it has {counted(flavor.slots, 'slot')}"
        )


def _print_list(heading: str, verdicts: Sequence[Verdict]) -> None:
    if verdicts:
        print(f"\n{heading}:")
    for verdict in verdicts:
        name = f"{verdict.name} ({verdict.id})" if verdict.name else verdict.id
        for remark in verdict.remarks:
            print(f"  {verdict.kind} {name}: {remark}")


def _print_json(report: Report, shortcomings: Sequence[str] | None) -> None:
    document = {
        "dry_run": shortcomings is not None,
        "before": list(shortcomings or ()),
        "recount": sorted(report.with_devices),
        "counts": {
            kind: {fate.value: report.count(kind, fate) for fate in _HEADINGS} for kind in KINDS
        },
        "notable": [
            {
                "kind": verdict.kind,
                "id": verdict.id,
                "name": verdict.name,
                "fate": verdict.fate.value,
                "remarks": list(verdict.remarks),
            }
            for verdict in report.notable
        ],
        "oversold": [
            {
                "flavor_id": flavor.flavor_id,
                "name": flavor.name,
                "slots": flavor.slots,
                "booked": flavor.booked,
                "at": f"{flavor.at.isoformat()}+00:00",
            }
            for flavor in report.oversold
        ],
    }
    print(json.dumps(document, indent=2))
