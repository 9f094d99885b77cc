"""Commands on flavors: what can be booked."""

import argparse
import datetime
from typing import Any

from warre_blazar.cli import advice, arguments, base, display, flavor_fields
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


class CreateFlavor(_Flavors, base.ChangeCommand, base.ShowCommand):
    """Create a flavor that can be booked."""

    asks = True

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("name", metavar="NAME", help="name of the flavor, not yet taken")
        flavor_fields.add_all(parser)
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        values = flavor_fields.given(self, parsed_args)
        if not parsed_args.dry_run:
            return self.details(self.v2.flavors.create(**values).document)
        known = {flavor.name for flavor in self.v2.flavors.list(all_projects=True)}
        if parsed_args.name in known:
            raise Failure(f"There is a flavor {parsed_args.name!r} already; choose another name")
        return self.would(f"create the flavor {flavor_fields.told(values, self.where)}")


class UpdateFlavor(_Flavors, base.ChangeCommand):
    """Change a flavor; what is booked stays as it was booked."""

    asks = True

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("flavor", metavar="FLAVOR", help="ID or name of the flavor")
        flavor_fields.add_changes(parser)
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> None:
        values = flavor_fields.given(self, parsed_args)
        if parsed_args.no_extra_specs:
            values.setdefault("extra_specs", {})
        elif "extra_specs" in values:
            # The API takes them as a whole.
            known = self.v2.flavors.get(parsed_args.flavor).extra_specs
            values["extra_specs"] = {**known, **values["extra_specs"]}
        if not values:
            raise Failure("Nothing to change: give at least one option")
        if parsed_args.dry_run:
            found = self.v2.flavors.get(parsed_args.flavor)
            self.would(f"change the flavor {found.name}: {flavor_fields.told(values, self.where)}")
            return
        self.v2.flavors.update(parsed_args.flavor, **values)
        print(f"Updated flavor: {parsed_args.flavor}", file=self.app.stdout)


class DeleteFlavor(_Flavors, base.DeleteCommand):
    """Delete flavors whose reservations are all complete."""

    zoned = False
    refs = "ID or name"

    def remove(self, ref: str, parsed_args: argparse.Namespace) -> bool:
        self.v2.flavors.delete(ref)
        return True

    def describe(self, ref: str) -> str:
        found = self.v2.flavors.get(ref)
        return f"flavor {found.name} ({found.id}), unless it has reservations that aren't complete"


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
        arguments.add_count(parser, "for how many instances")
        arguments.add_hours(parser, "only times of at least so many hours")
        arguments.add_affinity(parser)
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
        least = parsed_args.hours or datetime.timedelta()
        rows = [self._free(span) for span in found if span.length >= least]
        return ("start", "end", "hours"), rows

    def _period(
        self, parsed_args: argparse.Namespace
    ) -> tuple[datetime.datetime | None, datetime.datetime | None]:
        start, end = self.times(parsed_args)
        self.tell_times(parsed_args, start="From", end="Until")
        if parsed_args.days is not None:
            end = (start or self.now()) + datetime.timedelta(days=parsed_args.days)
        if end is not None:
            arguments.span(start or self.now(), end, None, self.where)
        return start, end

    def _free(self, span: Span) -> tuple[str, str, float]:
        start, end = (display.iso(moment, self.where) for moment in (span.start, span.end))
        return start, end, display.hours(span.length)


def on_flavor(command: base.Command, error: errors.ClientError, ref: str) -> str:
    """What to say of an error where a flavor was named: those that might be meant."""
    if not isinstance(error, errors.NotFound) or error.code not in ("", "flavor_not_found"):
        return advice.on(error, command.app)
    names = [f.name for f in command.v2.flavors.list(all_projects=True)]
    near = lookup.similar(ref, names)
    hint = (
        f"Did you mean {', '.join(near)}?" if near else f"See {command.name('flavor-list')} for all"
    )
    return f"There is no flavor {ref!r} that you may see. {hint}"
