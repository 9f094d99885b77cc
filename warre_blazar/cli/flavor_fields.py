"""The fields of flavors, as arguments of commands and as values for the API."""

import argparse
import datetime
from collections.abc import Callable
from typing import Any

from warre_blazar.cli import arguments, base, sizes, time_display
from warre_blazar.client.types import Document

#: The optional fields of a flavor, each with the keyword arguments that define its option.
_OPTIONAL: dict[str, dict[str, Any]] = {
    "description": {"help": "description for people"},
    "properties": {
        "metavar": "JSON",
        "help": "the hosts that the flavor may use: an expression on host properties in Blazar's "
        'syntax, such as \'["==", "$gpu_model", "A100"]\'',
    },
    "category": {"help": "a word by which flavors are grouped"},
    "availability_zone": {
        "metavar": "ZONE",
        "help": "availability zone of the hosts that the flavor may use",
    },
}

_FIELDS = (
    "name",
    "vcpu",
    "memory_mb",
    "disk_gb",
    "ephemeral_gb",
    "slots",
    "max_length_hours",
    "extra_specs",
    "is_public",
    "active",
    *_OPTIONAL,
)

#: Sizes. Each has two options: one takes a number in the unit of the API, the other takes a size
#: with any unit.
_SIZES: dict[str, tuple[str, Callable[[str], int], Callable[[str], int], str]] = {
    "memory_mb": ("memory", sizes.memory_mb, sizes.memory, "memory of one instance in MiB"),
    "disk_gb": ("disk", sizes.disk_gb, sizes.disk, "disk of one instance in GiB"),
    "ephemeral_gb": (
        "ephemeral",
        sizes.disk_gb,
        sizes.disk,
        "ephemeral disk of one instance in GiB (default: 0)",
    ),
}

_FROM, _UNTIL = (
    "the flavor can be booked from this time on",
    "the flavor can be booked until this time",
)
_EXAMPLES = {"memory_mb": "64G or 512M", "disk_gb": "30G or 2T", "ephemeral_gb": "30G or 2T"}


def add_all(parser: argparse.ArgumentParser) -> None:
    """Add the options for all fields of a new flavor except its name."""
    parser.add_argument(
        "--vcpu", metavar="N", type=arguments.count, required=True, help="vCPUs of one instance"
    )
    for name in _SIZES:
        _add_size(parser, name, required=name != "ephemeral_gb")
    _add_terms(parser, required=True)
    for name, options in _OPTIONAL.items():
        parser.add_argument(_flag(name), dest=name, default=argparse.SUPPRESS, **options)
    arguments.add_start(parser, _FROM, absent=argparse.SUPPRESS)
    arguments.add_end(parser, _UNTIL, absent=argparse.SUPPRESS)


def add_changes(parser: argparse.ArgumentParser) -> None:
    """Add the options that change a flavor's fields, and the options that clear optional fields."""
    parser.add_argument("--name", default=argparse.SUPPRESS, help="its new name")
    _add_terms(parser, required=False)
    parser.add_argument(
        "--no-extra-specs",
        action="store_true",
        help="remove the present extra specs; if --extra-spec is given too, its extra specs "
        "replace them",
    )
    for name, options in _OPTIONAL.items():
        either = parser.add_mutually_exclusive_group()
        either.add_argument(_flag(name), dest=name, default=argparse.SUPPRESS, **options)
        _add_clearing(either, name)
    for name, add, text in (
        ("start", arguments.add_start, _FROM),
        ("end", arguments.add_end, _UNTIL),
    ):
        either = parser.add_mutually_exclusive_group()
        add(either, text, absent=argparse.SUPPRESS)
        _add_clearing(either, name)


def confirmed_values(command: base.ChangeCommand, parsed_args: argparse.Namespace) -> Document:
    """Return the given fields in the API's form, after the user has confirmed the times.

    :raises Failure: the user doesn't confirm.
    """
    values = {name: getattr(parsed_args, name) for name in _FIELDS if name in parsed_args}
    start, end = command.times(parsed_args)
    moments = {"start": start, "end": end}
    values |= {name: moments[name] for name in moments if name in parsed_args}
    plan = [
        f"bookable {word} {time_display.plain(moment, moment.tzinfo or command.where)}"
        for word, moment in (("from", start), ("until", end))
        if moment is not None
    ]
    typed = [getattr(parsed_args, name, None) for name in moments]
    command.confirm_times(", ".join(plan), typed, parsed_args)
    if "extra_specs" in values:
        values["extra_specs"] = dict(values["extra_specs"])
    return values


def phrase(values: Document, where: datetime.tzinfo) -> str:
    """Return the values as text: name=value, ..."""
    shown = {
        name: time_display.brief(value, where) if isinstance(value, datetime.datetime) else value
        for name, value in values.items()
    }
    return ", ".join(f"{name}={value}" for name, value in shown.items())


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _add_terms(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """Add the options for fields that each flavor has and that can be changed."""
    parser.add_argument(
        "--slots",
        metavar="N",
        type=arguments.count,
        required=required,
        default=argparse.SUPPRESS,
        help="number of instances that can be booked at the same time",
    )
    parser.add_argument(
        "--max-length-hours",
        metavar="N",
        type=arguments.count,
        required=required,
        default=argparse.SUPPRESS,
        help="the longest time of one reservation, in hours",
    )
    parser.add_argument(
        "--extra-spec",
        metavar="KEY=VALUE",
        dest="extra_specs",
        action="append",
        type=arguments.key_value,
        default=argparse.SUPPRESS,
        help="an extra spec of the Nova flavors that are made for reservations of the flavor "
        "(repeatable), such as resources:VGPU=1",
    )
    for name, yes, no in (
        (
            "is_public",
            ("--public", "all projects may book the flavor"),
            ("--private", "only projects with access may book the flavor"),
        ),
        (
            "active",
            ("--active", "the flavor can be booked"),
            ("--inactive", "the flavor can't be booked for now"),
        ),
    ):
        either = parser.add_mutually_exclusive_group()
        for value, (flag, text) in ((True, yes), (False, no)):
            either.add_argument(
                flag,
                dest=name,
                action="store_const",
                const=value,
                default=argparse.SUPPRESS,
                help=text + (" (default)" if required and value else ""),
            )


def _add_size(parser: argparse.ArgumentParser, name: str, *, required: bool) -> None:
    """Add the two options for a size: a number in the API's unit, or a size with any unit."""
    short, number, size, text = _SIZES[name]
    either = parser.add_mutually_exclusive_group(required=required)
    for flag, kind, metavar in ((_flag(name), number, "N"), (_flag(short), size, "SIZE")):
        either.add_argument(
            flag,
            dest=name,
            metavar=metavar,
            type=kind,
            default=argparse.SUPPRESS,
            help=text if metavar == "N" else f"the same with a unit, such as {_EXAMPLES[name]}",
        )


def _add_clearing(either: argparse._ActionsContainer, name: str) -> None:
    """Add the option ``--no-NAME``, which clears a field."""
    either.add_argument(
        _flag(f"no_{name}"),
        dest=name,
        action="store_const",
        const=None,
        default=argparse.SUPPRESS,
        help=f"remove its {name.replace('_', ' ')}",
    )
