"""Commands on flavors: what can be booked."""

import argparse
import datetime
from typing import Any

from blazarclient.exception import BlazarClientException
from osc_lib.cli import parseractions

from warre_blazar.cli import arguments, base
from warre_blazar.cli.client import Document

_SHORT = ("id", "name", "vcpu", "memory_mb", "disk_gb", "slots", "max_length_hours", "category")
_LONG = (
    *_SHORT,
    "ephemeral_gb",
    "extra_specs",
    "properties",
    "availability_zone",
    "start",
    "end",
    "is_public",
    "active",
    "description",
)

#: What a flavor has that needn't have a value: how it is asked for, and what it is.
_OPTIONAL: dict[str, dict[str, Any]] = {
    "description": {"help": "what it is, for people"},
    "properties": {
        "metavar": "JSON",
        "help": "hosts it may be on: a Blazar requirements expression on their properties, "
        'such as \'["==", "$gpu_model", "A100"]\'',
    },
    "start": {
        "metavar": "TIME",
        "type": arguments.time,
        "help": f"bookable from then on ({arguments.TIME_HELP})",
    },
    "end": {"metavar": "TIME", "type": arguments.time, "help": "bookable until then"},
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


class _Flavors(base.Command):
    noun = "flavor"
    nouns = "flavors"


class ListFlavors(_Flavors, base.ListCommand):
    """List flavors that can be booked."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "--all",
            action="store_true",
            help="inactive ones and other projects' private ones too (admin only)",
        )
        parser.add_argument("--category", help="only those of this category")
        parser.add_argument(
            "--availability-zone", metavar="ZONE", help="only those of this availability zone"
        )
        parser.add_argument("--long", action="store_true", help="all columns")
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        query = {"all_projects": "true"} if parsed_args.all else {}
        for name in ("category", "availability_zone"):
            if getattr(parsed_args, name) is not None:
                query[name] = getattr(parsed_args, name)
        columns = (*_SHORT, "is_public", "active") if parsed_args.all else _SHORT
        found = self.v2().list(self.nouns, query)
        return self.table(_LONG if parsed_args.long else columns, found)


class ShowFlavor(_Flavors, base.ShowCommand):
    """Show a flavor."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("flavor", metavar="FLAVOR", help="ID or name of the flavor")
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        return self.details(self.v2().get(self.nouns, parsed_args.flavor))


class CreateFlavor(_Flavors, base.ShowCommand):
    """Create a flavor that can be booked."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("name", metavar="NAME", help="name of the flavor, not yet taken")
        for name, unit in (("vcpu", ""), ("memory_mb", " in MiB"), ("disk_gb", " in GiB")):
            parser.add_argument(
                _flag(name),
                metavar="N",
                type=arguments.count,
                required=True,
                help=f"of one instance{unit}",
            )
        parser.add_argument(
            "--ephemeral-gb",
            metavar="N",
            type=int,
            default=argparse.SUPPRESS,
            help="ephemeral disk of one instance in GiB (default: 0)",
        )
        _add_terms(parser, required=True)
        for name, options in _OPTIONAL.items():
            _add_optional(parser, name, options)
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        return self.details(self.v2().create(self.nouns, _values(parsed_args)))


class UpdateFlavor(_Flavors):
    """Change a flavor; what is booked stays as it was booked."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("flavor", metavar="FLAVOR", help="ID or name of the flavor")
        parser.add_argument("--name", default=argparse.SUPPRESS, help="its new name")
        _add_terms(parser, required=False)
        parser.add_argument(
            "--no-extra-specs",
            action="store_true",
            help="drop the extra specs it has; those given with --extra-spec replace them",
        )
        for name, options in _OPTIONAL.items():
            either = parser.add_mutually_exclusive_group()
            _add_optional(either, name, options)
            either.add_argument(
                _flag(f"no_{name}"),
                dest=name,
                action="store_const",
                const=None,
                default=argparse.SUPPRESS,
                help=f"clear its {name.replace('_', ' ')}",
            )
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> None:
        v2 = self.v2()
        values = _values(parsed_args)
        if parsed_args.no_extra_specs:
            values.setdefault("extra_specs", {})
        elif "extra_specs" in values:
            # The API takes them as a whole.
            known = v2.get(self.nouns, parsed_args.flavor)["extra_specs"]
            values["extra_specs"] = {**known, **values["extra_specs"]}
        if not values:
            raise BlazarClientException("Nothing to change: give at least one option")
        v2.update(self.nouns, parsed_args.flavor, values)
        print(f"Updated flavor: {parsed_args.flavor}", file=self.app.stdout)


class DeleteFlavor(_Flavors, base.DeleteCommand):
    """Delete flavors whose reservations are all complete."""

    refs = "ID or name"


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
        action=parseractions.KeyValueAction,
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


def _add_optional(parser: argparse._ActionsContainer, name: str, options: dict[str, Any]) -> None:
    # The blazar CLI keeps an --end for itself: what works in both comes first.
    flags = [f"--{name}-date", f"--{name}"] if name in ("start", "end") else [_flag(name)]
    parser.add_argument(*flags, dest=name, default=argparse.SUPPRESS, **options)


def _values(parsed_args: argparse.Namespace) -> Document:
    """What was given, as the API takes it."""
    values = {name: getattr(parsed_args, name) for name in _FIELDS if name in parsed_args}
    for name, value in values.items():
        if isinstance(value, datetime.datetime):
            values[name] = value.isoformat()
    return values
