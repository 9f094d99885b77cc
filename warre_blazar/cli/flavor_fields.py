"""The fields of flavors, as arguments of commands and as values for the API."""

import argparse
import datetime
import functools
from typing import Any

from warre_blazar.cli import arguments, base, sizes, time_display
from warre_blazar.client.types import Document
from warre_blazar.fields.declaration import Field, Use, given
from warre_blazar.fields.flavors import FlavorFields
from warre_blazar.fields.kinds import Boolean, Integer, TextMap, Word

_DECLARED = given(FlavorFields)
#: The options of times, which have names of their own.
_TIMES = {"start": arguments.add_start, "end": arguments.add_end}
_NAMES = [field.key for field in _DECLARED if field.key not in _TIMES]

#: Of each unit, the two functions that read a size, and examples. The first function takes a number
#: in the unit of the API, the second takes a size with any unit.
_SIZES = {
    "MiB": (sizes.memory_mb, sizes.memory, "64G or 512M"),
    "GiB": (sizes.disk_gb, sizes.disk, "30G or 2T"),
}

#: The options for true and for false, of fields whose options don't have the name of the field.
_WORDS = {"is_public": ("public", "private"), "active": ("active", "inactive")}


def add_all(parser: argparse.ArgumentParser) -> None:
    """Add the options for all fields of a new flavor except its name."""
    for field in _DECLARED:
        if field.key != "name":
            _add(parser, field, new=True)


def add_changes(parser: argparse.ArgumentParser) -> None:
    """Add the options that change a flavor's fields, and the options that clear optional fields."""
    for field in _DECLARED:
        if Use.FIXED not in field.use:
            _add(parser, field, new=False)


def fixed() -> list[str]:
    """Return the options for fields that a flavor keeps."""
    kept = [field for field in _DECLARED if Use.FIXED in field.use]
    return [_flag(name) for field in kept for name in _names(field)]


def confirmed_values(command: base.ChangeCommand, parsed_args: argparse.Namespace) -> Document:
    """Return the given fields in the API's form, after the user has confirmed the times.

    :raises Failure: the user doesn't confirm.
    """
    values = {name: getattr(parsed_args, name) for name in _NAMES if name in parsed_args}
    for name in _TIMES:
        if (getattr(parsed_args, name, None) or "").lower() == "none":
            setattr(parsed_args, name, None)
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


def _names(field: Field[Any]) -> list[str]:
    """Return the names of a field's options. A size also has an option without the unit."""
    has_unit = isinstance(field.kind, Integer) and field.kind.unit
    return [field.key, field.key.rpartition("_")[0]] if has_unit else [field.key]


def _help(field: Field[Any]) -> str:
    """Return the first sentence of a field's description, in the form of other help texts."""
    first = field.description.partition(". ")[0].removesuffix(".")
    return first[:1].lower() + first[1:]


def _add(parser: argparse.ArgumentParser, field: Field[Any], *, new: bool) -> None:
    """Add the options for a field of a new flavor, or for a change of the field."""
    kind = field.kind
    if isinstance(kind, Boolean):
        _add_either(parser, field, new=new)
    elif isinstance(kind, TextMap):
        _add_map(parser, field, new=new)
    elif isinstance(kind, Integer) and kind.unit:
        _add_size(parser, field, kind.unit, new=new)
    else:
        can_be_cleared = kind.nullable and not new
        either = parser.add_mutually_exclusive_group() if can_be_cleared else parser
        if field.key in _TIMES:
            _TIMES[field.key](either, _help(field), absent=argparse.SUPPRESS)
        elif isinstance(kind, Integer):
            _add_number(either, field, kind.minimum, required=new and field.mandatory)
        else:
            either.add_argument(
                _flag(field.key),
                metavar=field.metavar,
                choices=kind.words if isinstance(kind, Word) else None,
                required=new and field.mandatory,
                default=argparse.SUPPRESS,
                help=_help(field),
            )
        if can_be_cleared:
            _add_clearing(either, field.key)


def _add_number(
    parser: argparse._ActionsContainer, field: Field[Any], least: int, *, required: bool
) -> None:
    """Add an option for a number without a unit. The word none stands for null."""
    nullable, null = field.kind.nullable, field.description.partition("Null: ")[2].rstrip(".")
    read = arguments.count_or_none if nullable else arguments.count
    if field.key.endswith("_hours"):
        read = functools.partial(arguments.whole_hours, read)
    parser.add_argument(
        _flag(field.key),
        metavar="N",
        type=functools.partial(read, least=least),
        required=required,
        default=argparse.SUPPRESS,
        help=_help(field) + (f"; none: {null}" if nullable else ""),
    )


def _add_either(parser: argparse.ArgumentParser, field: Field[Any], *, new: bool) -> None:
    """Add an option for true and an option for false."""
    yes, no = map(_flag, _WORDS.get(field.key, (field.key, f"no_{field.key}")))
    either = parser.add_mutually_exclusive_group()
    for value, flag, text in (
        (True, yes, _help(field).removeprefix("whether ")),
        (False, no, f"the opposite of {yes}"),
    ):
        either.add_argument(
            flag,
            dest=field.key,
            action="store_const",
            const=value,
            default=argparse.SUPPRESS,
            help=text + (" (default)" if new and value is field.default else ""),
        )


def _add_map(parser: argparse.ArgumentParser, field: Field[Any], *, new: bool) -> None:
    """Add an option for one entry, and for a change the option that removes all entries."""
    flag = _flag(field.key).removesuffix("s")
    parser.add_argument(
        flag,
        metavar="KEY=VALUE",
        dest=field.key,
        action="append",
        type=arguments.key_value,
        default=argparse.SUPPRESS,
        help=f"one of {_help(field)} (repeatable)",
    )
    if not new:
        parser.add_argument(
            _flag(f"no_{field.key}"),
            action="store_true",
            help=f"remove the present ones; those that are given by {flag} too replace them",
        )


def _add_size(parser: argparse.ArgumentParser, field: Field[Any], unit: str, *, new: bool) -> None:
    """Add the two options for a size: a number in the API's unit, or a size with any unit."""
    number, size, examples = _SIZES[unit]
    default = "" if field.mandatory else f" (default: {field.default})"
    either = parser.add_mutually_exclusive_group(required=new and field.mandatory)
    options = (
        (number, "N", _help(field) + default),
        (size, "SIZE", f"the same with a unit, such as {examples}"),
    )
    for name, (kind, metavar, text) in zip(_names(field), options, strict=True):
        either.add_argument(
            _flag(name),
            dest=field.key,
            metavar=metavar,
            type=kind,
            default=argparse.SUPPRESS,
            help=text,
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
