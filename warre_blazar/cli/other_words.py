"""What people type in place of the options of commands, and what does what they want.

Each word has one of these:

- options of the command, which are proposed if the command has the first of them,
- or a phrase that says what to do instead.

In both, ``{value}`` is what was typed after the word, and a place with a hyphen such as
``{flavor-list}`` is the name of a command.
"""

from collections.abc import Mapping, Sequence

from warre_blazar.fields.usage import KEYS

#: The words of all commands.
_EVERYWHERE = {
    "--instances": "--count",
    "--instance-count": "--count",
    "--amount": "--count",
    "--slots": "--count",
    "--from": "--start",
    "--shift": "--start",
    "--earliest": "--start {value}",
    "--latest": "--end {value}",
    "--until": "--end",
    "--to": "--end",
    "--duration": "--hours",
    "--for": "--hours {value}",
    "--minutes": "--length",
    "--extend": "--end +{value}",
    "--slot-count": "--slots",
    "--ram": "--memory",
    "--notify": "--contact",
    "--exdate": "--except",
    "--group-by": "--by",
    "--reason": "--code",
    "--disable": "--off",
    "--no-start-date": "--no-start",
    "--no-end-date": "--no-end",
}

_RULE = (
    "a rule says when, such as --rrule 'FREQ=WEEKLY;COUNT=6' or "
    "--rrule 'FREQ=WEEKLY;UNTIL=20270126'"
)
_WINDOWS = "each window is made by a command of its own: run this one again for each --start"
_BY_ID = "give the ID, which {reservation-list} --project {value} shows"
_SERIES_BY_ID = "give the ID, which {reservation-series-list} --project {value} shows"
_WAIT_BY_ID = "give the ID, which {reservation-wait-list} --project {value} shows"
_REPLACE = "give all that it shall close: --host and --flavor replace the present ones"
_NO_PRICE = "flavors have no price, so leave it out"
_ALL_WINDOWS = "windows that are over are listed too, so leave it out"
_OFFERS = "{reservation-offers} finds times of a length"
_UP_TO = "--to +{value}d"


def _each(words: Sequence[str], instead: str) -> dict[str, str]:
    return dict.fromkeys(words, instead)


#: The words by command: the name of its class, or what follows ``warre-blazar-manage``.
_BY_COMMAND: Mapping[str, Mapping[str, str]] = {
    "CreateReservation": {
        "--user": "whoever books is its user; --project alone books for another project",
    },
    "UpdateReservation": {"--project": _BY_ID},
    "DeleteReservation": {"--project": _BY_ID},
    "ShowReservation": {"--project": _BY_ID},
    "ListReservations": {
        "--series": "{reservation-series-show} lists those of a series",
        "--category": "give one --flavor; {flavor-list} --category {value} lists them",
        "--missing": "the column says it: -c id -c name -c missing_resources",
        "--days": _UP_TO,
    },
    "CreateSeries": _each(("--weekly", "--daily", "--repeat", "--times", "--until"), _RULE),
    "ExtendSeries": _each(("--count", "--times"), "--more {value}"),
    "UpdateSeries": {"--project": _SERIES_BY_ID},
    "ShowSeries": {"--project": _SERIES_BY_ID},
    "DeleteSeries": {
        "--project": _SERIES_BY_ID,
        "--from": "it ends the whole series; to delete later reservations alone, give their IDs, "
        "which {reservation-list} --from {value} shows, to {reservation-delete}",
    },
    "ShowWait": {"--project": _WAIT_BY_ID},
    "DeleteWait": {"--project": _WAIT_BY_ID},
    "CreateFlavor": {
        "--project": "{flavor-access-grant} FLAVOR PROJECT lets a project book a private flavor",
        "--price": _NO_PRICE,
    },
    "UpdateFlavor": {"--price": _NO_PRICE},
    "ShowFlavor": {"--limits": "they are shown without it; -c limits shows them alone"},
    "CreateWindow": {
        **_each(("--weekly", "--daily", "--repeat"), _WINDOWS),
        "--preview": "--bookings show",
        "--all-hosts": '--host "$({reservation-host-status} -f value -c host | paste -sd ,)"',
    },
    "UpdateWindow": _each(
        ("--add-host", "--remove-host", "--add-flavor", "--remove-flavor"), _REPLACE
    ),
    "ListWindows": _each(("--all", "--past", "--ended"), _ALL_WINDOWS),
    "ListAvailability": {**_each(("--hours", "--length"), _OFFERS), "--days": _UP_TO},
    "ShowUsage": {
        **{f"--by-{key}": f"--by {key}" for key in KEYS},
        "--month": "a month begins and ends with a day: --from 2026-11-01 --to 2026-12-01",
    },
    "ListRefusals": {"--by": "{reservation-usage} --by {value} counts them"},
    "ListDifferences": {"--kind": "pick the lines of a kind: -f csv | grep {value}"},
    "ShowLimits": {
        "--near": "sort by what is left: --all-projects --sort-column left",
    },
    "ListHosts": {"--all": "all hosts are shown if none is named, so leave it out"},
    "SetMessages": _each(
        ("--project", "--user"), "these are your own messages; other users set theirs themselves"
    ),
    "host drain": {"--note": "--reason {value}"},
    "host": {
        "undrain": "warre-blazar-manage host drain --undo HOST lets a host be booked again",
        "status": "openstack reservation host status shows hosts",
    },
    "metrics": {"--format": "metrics have the format of Prometheus, so leave it out"},
}


def of(*commands: str) -> dict[str, str]:
    """Return what people type in place of options of a command, with what to do instead.

    :param commands: the names of the command's class and of its bases, or what follows
        ``warre-blazar-manage``.
    """
    words = dict(_EVERYWHERE)
    for command in commands:
        words |= _BY_COMMAND.get(command, {})
    return words
