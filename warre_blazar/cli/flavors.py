"""Commands on flavors: what can be booked."""

import argparse
import datetime
from typing import Any

from warre_blazar.cli import advice, arguments, base, times
from warre_blazar.cli.failures import Failure
from warre_blazar.client import errors, lookup
from warre_blazar.client.types import Document, Span

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
        "help": f"bookable from then on: {arguments.TIME_HELP}",
    },
    "end": {"metavar": "TIME", "help": "bookable until then"},
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

#: Of a flavor's capacity, what a table has room for.
_CAPACITY = ("instances", "bookable", "booked_now", "booked_peak", "utilisation", "sharing")


def _add_capacity(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--capacity",
        action="store_true",
        help="how many instances its hosts hold when empty, how many can be booked, are booked now "
        "and at most in the year to come, how much of that year is booked, and which flavors "
        "share its hosts (admin only)",
    )


def _times(document: Document) -> Document:
    """When it may be booked, not the time that its capacity is of."""
    return {name: document[name] for name in ("start", "end")}


class _Flavors(base.Command):
    noun = "flavor"
    nouns = "flavors"

    def advice(self, error: errors.ClientError, parsed_args: argparse.Namespace) -> str:
        ref = getattr(parsed_args, "flavor", None)
        return on_flavor(self, error, ref) if ref else super().advice(error, parsed_args)

    def with_capacity(self, ref: str) -> Document:
        """A flavor's document with what its capacity is, flat; hosts with what each holds."""
        document = dict(self.v2.flavors.get(ref, capacity=True).document)
        capacity = document.pop("capacity")
        hosts = {host["name"]: host["instances"] for host in capacity["hosts"]}
        sharing = [other["name"] for other in capacity["sharing"]]
        return {**document, **{**capacity, "hosts": hosts, "sharing": sharing}, **_times(document)}


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
        _add_capacity(parser)
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        found = self.v2.flavors.list(
            all_projects=parsed_args.all,
            category=parsed_args.category,
            availability_zone=parsed_args.availability_zone,
        )
        columns: tuple[str, ...] = _LONG if parsed_args.long else _SHORT
        if parsed_args.all and not parsed_args.long:
            columns = (*_SHORT, "is_public", "active")
        documents = [flavor.document for flavor in found]
        if parsed_args.capacity:
            columns = (*columns, *_CAPACITY)
            documents = [self.with_capacity(flavor.id) for flavor in found]
        return self.table(columns, documents)


class ShowFlavor(_Flavors, base.ShowCommand):
    """Show a flavor."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("flavor", metavar="FLAVOR", help="ID or name of the flavor")
        _add_capacity(parser)
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        if parsed_args.capacity:
            return self.details(self.with_capacity(parsed_args.flavor))
        return self.details(self.v2.flavors.get(parsed_args.flavor).document)


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
        arguments.add_timezone(parser)
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        return self.details(self.v2.flavors.create(**_values(self, parsed_args)).document)


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
        arguments.add_timezone(parser)
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> None:
        values = _values(self, parsed_args)
        if parsed_args.no_extra_specs:
            values.setdefault("extra_specs", {})
        elif "extra_specs" in values:
            # The API takes them as a whole.
            known = self.v2.flavors.get(parsed_args.flavor).extra_specs
            values["extra_specs"] = {**known, **values["extra_specs"]}
        if not values:
            raise Failure("Nothing to change: give at least one option")
        self.v2.flavors.update(parsed_args.flavor, **values)
        print(f"Updated flavor: {parsed_args.flavor}", file=self.app.stdout)


class DeleteFlavor(_Flavors, base.DeleteCommand):
    """Delete flavors whose reservations are all complete."""

    refs = "ID or name"

    def remove(self, ref: str, parsed_args: argparse.Namespace) -> bool:
        self.v2.flavors.delete(ref)
        return True


class ListFreeSlots(_Flavors, base.ListCommand):
    """List the times a flavor is free: what lies within one of them can be booked."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("flavor", metavar="FLAVOR", help="ID or name of the flavor")
        arguments.add_start(parser, "from when on (default: now)")
        until = parser.add_mutually_exclusive_group()
        arguments.add_end(until, "until when (default: a year after the start)")
        until.add_argument(
            "--days", metavar="N", type=arguments.count, help="for so many days, instead of an end"
        )
        parser.add_argument(
            "--count",
            metavar="N",
            type=arguments.count,
            default=1,
            help="for how many instances (default: 1)",
        )
        parser.add_argument(
            "--hours",
            metavar="N",
            type=arguments.count,
            default=0,
            help="only times of at least so many hours",
        )
        arguments.add_affinity(parser)
        arguments.add_timezone(parser)
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        start, end = self._period(parsed_args)
        found = self.v2.flavors.free_slots(
            parsed_args.flavor,
            start=start,
            end=end,
            count=parsed_args.count,
            affinity=parsed_args.affinity,
        )
        least = datetime.timedelta(hours=parsed_args.hours)
        where = times.zone(parsed_args.timezone)
        return ("start", "end", "hours"), [_free(s, where) for s in found if s.length >= least]

    def _period(
        self, parsed_args: argparse.Namespace
    ) -> tuple[datetime.datetime | None, datetime.datetime | None]:
        start = end = None
        if parsed_args.start is not None:
            start = self.time(parsed_args.start, parsed_args, "From")
        if parsed_args.end is not None:
            end = self.time(parsed_args.end, parsed_args, "Until")
        if parsed_args.days is not None:
            end = (start or self.now()) + datetime.timedelta(days=parsed_args.days)
        if end is not None:
            arguments.span(start or self.now(), end, None)
        return start, end


def _free(span: Span, where: datetime.tzinfo) -> tuple[str, str, float]:
    start, end = (t.astimezone(where).isoformat() for t in (span.start, span.end))
    return start, end, round(span.length.total_seconds() / 3600, 2)


def on_flavor(command: base.Command, error: errors.ClientError, ref: str) -> str:
    """What to say of an error where a flavor was named: those that might be meant."""
    if not isinstance(error, errors.NotFound) or error.code not in ("", "flavor_not_found"):
        return advice.on(error)
    names = [f.name for f in command.v2.flavors.list(all_projects=True)]
    near = lookup.similar(ref, names)
    hint = f"Did you mean {', '.join(near)}?" if near else "See flavor-list for those there are"
    return f"There is no flavor {ref!r} that you may see. {hint}"


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


def _add_optional(parser: argparse._ActionsContainer, name: str, options: dict[str, Any]) -> None:
    # The blazar CLI keeps an --end for itself: what works in both comes first.
    flags = [f"--{name}-date", f"--{name}"] if name in ("start", "end") else [_flag(name)]
    parser.add_argument(*flags, dest=name, default=argparse.SUPPRESS, **options)


def _values(command: base.Command, parsed_args: argparse.Namespace) -> Document:
    """What was given, as the API takes it."""
    values = {name: getattr(parsed_args, name) for name in _FIELDS if name in parsed_args}
    for name in ("start", "end"):
        if values.get(name) is not None:
            values[name] = command.time(values[name], parsed_args, name.capitalize())
    if "extra_specs" in values:
        values["extra_specs"] = dict(values["extra_specs"])
    return values
