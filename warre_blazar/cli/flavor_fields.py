"""What flavors have, as arguments of commands and as values for the API."""

import argparse
import datetime
from collections.abc import Callable
from typing import Any

from warre_blazar.cli import arguments, base, display, sizes
from warre_blazar.client.types import Document

#: What a flavor has that needn't have a value: how it is asked for, and what it is.
_OPTIONAL: dict[str, dict[str, Any]] = {
    "description": {"help": "what it is, for people"},
    "properties": {
        "metavar": "JSON",
        "help": "hosts it may be on: a Blazar requirements expression on their properties, "
        'such as \'["==", "$gpu_model", "A100"]\'',
    },
    "category": {"help": "a word to group flavors by"},
    "availability_zone": {"metavar": "ZONE", "help": "of the hosts it may be on"},
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

#: Those that take sizes with a unit too, under a name without one, and what they are.
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

_FROM, _UNTIL = "bookable from then on", "bookable until then"
_EXAMPLES = {"memory_mb": "64G or 512M", "disk_gb": "30G or 2T", "ephemeral_gb": "30G or 2T"}


def add_all(parser: argparse.ArgumentParser) -> None:
    """Those of a new flavor, beside its name."""
    parser.add_argument(
        "--vcpu", metavar="N", type=arguments.count, required=True, help="of one instance"
    )
    for name in _SIZES:
        _add_size(parser, name, required=name != "ephemeral_gb")
    _add_terms(parser, required=True)
    for name, options in _OPTIONAL.items():
        parser.add_argument(_flag(name), dest=name, default=argparse.SUPPRESS, **options)
    arguments.add_start(parser, _FROM, absent=argparse.SUPPRESS)
    arguments.add_end(parser, _UNTIL, absent=argparse.SUPPRESS)


def add_changes(parser: argparse.ArgumentParser) -> None:
    """Those that can be changed; what needn't have a value can be cleared."""
    parser.add_argument("--name", default=argparse.SUPPRESS, help="its new name")
    _add_terms(parser, required=False)
    parser.add_argument(
        "--no-extra-specs",
        action="store_true",
        help="drop the extra specs it has; those given with --extra-spec replace them",
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


def given(command: base.ChangeCommand, parsed_args: argparse.Namespace) -> Document:
    """What was given, as the API takes it; its times have been agreed on.

    :raises Failure: they haven't.
    """
    values = {name: getattr(parsed_args, name) for name in _FIELDS if name in parsed_args}
    start, end = command.times(parsed_args)
    moments = {"start": start, "end": end}
    values |= {name: moments[name] for name in moments if name in parsed_args}
    plan = [
        f"bookable {word} {display.plain(moment, moment.tzinfo or command.where)}"
        for word, moment in (("from", start), ("until", end))
        if moment is not None
    ]
    typed = [getattr(parsed_args, name, None) for name in moments]
    command.agree(", ".join(plan), typed, parsed_args)
    if "extra_specs" in values:
        values["extra_specs"] = dict(values["extra_specs"])
    return values


def told(values: Document, where: datetime.tzinfo) -> str:
    """Values for people: name=value, ..."""
    shown = {
        name: display.brief(value, where) if isinstance(value, datetime.datetime) else value
        for name, value in values.items()
    }
    return ", ".join(f"{name}={value}" for name, value in shown.items())


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _add_terms(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """What every flavor has a value of, and can be changed; absent unless given."""
    parser.add_argument(
        "--slots",
        metavar="N",
        type=arguments.count,
        required=required,
        default=argparse.SUPPRESS,
        help="how many instances can be booked at once",
    )
    parser.add_argument(
        "--max-length-hours",
        metavar="N",
        type=arguments.count,
        required=required,
        default=argparse.SUPPRESS,
        help="how long one reservation can be",
    )
    parser.add_argument(
        "--extra-spec",
        metavar="KEY=VALUE",
        dest="extra_specs",
        action="append",
        type=arguments.key_value,
        default=argparse.SUPPRESS,
        help="an extra spec of its Nova flavors (repeatable), such as resources:VGPU=1",
    )
    for name, yes, no in (
        ("is_public", ("--public", "for all projects"), ("--private", "for projects with access")),
        ("active", ("--active", "can be booked"), ("--inactive", "can't be booked for now")),
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
    """A size as a number of the API's unit, or with a unit of its own."""
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
    """``--no-...``: the flavor's value is removed."""
    either.add_argument(
        _flag(f"no_{name}"),
        dest=name,
        action="store_const",
        const=None,
        default=argparse.SUPPRESS,
        help=f"clear its {name.replace('_', ' ')}",
    )
