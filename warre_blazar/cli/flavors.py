"""Commands on flavors and on their free slots."""

import argparse
import datetime
from typing import Any

from warre_blazar.cli import (
    arguments,
    base,
    cliff_parsers,
    columns,
    flavor_choice,
    flavor_fields,
    flavor_limits,
    no_free_slots,
    time_display,
)
from warre_blazar.cli.failure import Failure, WrongOptions
from warre_blazar.client import errors, lookup
from warre_blazar.client.types import Document, Flavor, Span
from warre_blazar.fields import declaration
from warre_blazar.fields import flavors as fields
from warre_blazar.fields.reservations import STATES

#: The fields that say whether any host could hold an instance, and how many hosts could hold one.
#: Only operators see the number of hosts.
_BOOKABLE = ("bookable", "bookable_hosts")

#: The fields of a flavor's capacity that fit into a table.
_CAPACITY = (
    "instances",
    "bookable_instances",
    "booked_now",
    "booked_peak",
    "utilisation",
    "sharing",
)

#: The codes of warnings that say why nobody can book a flavor.
_WHY_UNBOOKABLE = frozenset({"no_hosts", "unknown_property", "unknown_zone"})

#: The statuses of the reservations with which a flavor can't be deleted.
_LIVE = [state for state in STATES if state != "COMPLETE"]


def _add_capacity(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--capacity",
        action="store_true",
        help="also show how many instances the hosts hold when nothing is booked, how many "
        "instances can be booked, how many are booked now, the largest number that is booked at a "
        "time in the coming 30 days, what part of the bookable instances is booked over these 30 "
        "days, and which other flavors use the same hosts (admin only)",
    )


def _times(document: Document) -> Document:
    """Return the flavor's own start and end. The capacity's start and end are other times."""
    return {name: document[name] for name in ("start", "end")}


def _shown(document: Document) -> Document:
    """Return a flavor's document in the form that is shown, with each warning as a text."""
    shown = {name: value for name, value in document.items() if name != "warnings"}
    if "limits" in shown:
        shown["limits"] = flavor_limits.column(shown["limits"])
    if document.get("warnings"):
        shown["warnings"] = columns.warnings(document["warnings"])
    return shown


class _Flavors(base.Command):
    noun = argument = "flavor"
    nouns = "flavors"
    ref = "ID or name of the flavor"

    def warn(self, flavor: Flavor) -> None:
        """Print the API's warnings. If no host could hold an instance, print that too."""
        for warning in flavor.warnings:
            self.tell(f"Warning: {warning['message']}.")
        is_explained = any(w["code"] in _WHY_UNBOOKABLE for w in flavor.warnings)
        if flavor.bookable is False and flavor.active and not is_explained:
            self.tell(
                f"Warning: no host could hold an instance of {flavor.name}, so it can't be booked. "
                "Compare its properties, availability zone, traits and sizes with the hosts "
                f"({self.name('host-list')}; {self.name('flavor-show')} says what each host "
                f"lacks), and change it with {self.name('flavor-update')}."
            )

    def with_capacity(self, ref: str, **span: datetime.datetime | None) -> Document:
        """Return one document with a flavor's fields and the fields of its capacity.

        The field ``hosts`` has the number of instances that each host can hold.
        """
        document = _shown(self.v2.flavors.get(ref, capacity=True, **span).document)
        capacity = document.pop("capacity")
        hosts = {host["name"]: host["instances"] for host in capacity["hosts"]}
        held = columns.ShownColumn(hosts, ", ".join(f"{name}: {n}" for name, n in hosts.items()))
        if capacity["utilisation"] is not None:
            share = capacity["utilisation"]
            capacity["utilisation"] = columns.ShownColumn(share, f"{share:.0%}")
        sharing = [other["name"] for other in capacity["sharing"]]
        return {**document, **{**capacity, "hosts": held, "sharing": sharing}, **_times(document)}


class ListFlavors(_Flavors, base.ListCommand):
    """List flavors that can be booked."""

    nothing = "There are no flavors that you may book; an operator makes them"

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "--all",
            action="store_true",
            help="also list inactive flavors and private flavors of other projects (admin only)",
        )
        flavor_choice.add_named(parser)
        parser.add_argument("--long", action="store_true", help="show all columns")
        _add_capacity(parser)
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        flavors = self._listed(parsed_args)
        names = declaration.columns(fields.FlavorFields, long=parsed_args.long)
        if not parsed_args.long and any(flavor.description for flavor in flavors):
            names.append("description")
        if parsed_args.all and not parsed_args.long:
            names += ["is_public", "active"]
        documents = [flavor.document for flavor in flavors]
        names += _bookable(documents, long=parsed_args.long)
        if parsed_args.capacity:
            names += _CAPACITY
            documents = [self.with_capacity(flavor.id) for flavor in flavors]
        return self.table(names, documents)

    def _listed(self, parsed_args: argparse.Namespace) -> list[Flavor]:
        """Return the flavors that the user has named, or that have what the user asks for."""
        found = self.v2.flavors.list(
            all_projects=parsed_args.all,
            category=parsed_args.category,
            availability_zone=parsed_args.availability_zone,
        )
        if parsed_args.category and not found:
            flavor_choice.choose(self, parsed_args.category, everything=parsed_args.all)
        if named := flavor_choice.refs(parsed_args):
            known = {name for flavor in found for name in (flavor.id, flavor.name)}
            if unknown := [ref for ref in named if ref not in known]:
                raise Failure(self.unknown_flavor(unknown[0]))
        if flavor_choice.is_given(parsed_args):
            self.nothing = base.ListCommand.nothing
        return [flavor for flavor in found if flavor_choice.is_chosen(flavor, parsed_args)]


def _bookable(documents: list[Document], *, long: bool) -> list[str]:
    """Return the columns that show whether any host could hold an instance of each flavor.

    Without ``long``, the column ``bookable`` is shown only if the list has a flavor that can't be
    booked because no host could hold an instance. Operators see the number of hosts instead.
    """
    available = [name for name in _BOOKABLE if any(name in document for document in documents)]
    if long or not available:
        return available
    if "bookable_hosts" in available:
        return ["bookable_hosts"]
    return [] if all(document.get("bookable", True) for document in documents) else ["bookable"]


class ShowFlavor(_Flavors, base.OneCommand, base.ShowCommand):
    """Show a flavor."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_capacity(parser)
        arguments.add_start(parser, "show the capacity from this time on (default: now)")
        arguments.add_end(parser, "show the capacity until this time (default: in 30 days)")
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        start, end = self.times(parsed_args)
        if parsed_args.capacity or start or end:
            return self.details(self.with_capacity(parsed_args.flavor, start=start, end=end))
        return self.details(_shown(self.v2.flavors.get(parsed_args.flavor).document))


class CreateFlavor(_Flavors, base.ChangeCommand, base.ShowCommand):
    """Create a flavor."""

    asks = True

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "name",
            metavar="NAME",
            help="name of the flavor; if other flavors have the same name, commands need the ID "
            "instead",
        )
        flavor_fields.add_all(parser)
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        values = flavor_fields.confirmed_values(self, parsed_args)
        if not parsed_args.dry_run:
            created = self.v2.flavors.create(**values)
            self.warn(created)
            return self.details(_shown(created.document))
        foreseen = self.v2.flavors.create(dry_run=True, **values)
        plan = f"create the flavor {flavor_fields.phrase(values, self.where)}"
        reported = self.report_dry_run(plan, _shown(foreseen.document))
        self.warn(foreseen)
        return reported


class UpdateFlavor(_Flavors, base.OneCommand, base.ChangeCommand, base.ShowCommand):
    """Change a flavor. Existing reservations stay as they were booked."""

    asks = True

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        flavor_fields.add_changes(parser)
        return cliff_parsers.with_fixed(parser, flavor_fields.fixed())

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        values, etag = flavor_fields.confirmed_values(self, parsed_args), None
        if parsed_args.no_extra_specs:
            values.setdefault("extra_specs", {})
        elif "extra_specs" in values:
            # The API replaces all extra specs, so the present extra specs are sent too.
            present = self.v2.flavors.get(parsed_args.flavor)
            values["extra_specs"] = {**present.extra_specs, **values["extra_specs"]}
            etag = present.etag
        if not values:
            raise WrongOptions("Nothing to change: give at least one option")
        if parsed_args.dry_run:
            flavor = self.v2.flavors.get(parsed_args.flavor)
            foreseen = self.v2.flavors.update(flavor.id, dry_run=True, **values)
            plan = f"change the flavor {flavor.name}: {flavor_fields.phrase(values, self.where)}"
            reported = self.report_dry_run(plan, _shown(foreseen.document))
            self.warn(foreseen)
            return reported
        changed = self.v2.flavors.update(parsed_args.flavor, etag=etag, **values)
        self.warn(changed)
        return self.report_change(f"Updated flavor: {parsed_args.flavor}", _shown(changed.document))


class DeleteFlavor(_Flavors, base.DeleteCommand):
    """Delete flavors. All of their reservations must be COMPLETE."""

    zoned = False
    refs = "ID or name"

    def remove(self, ref: str, parsed_args: argparse.Namespace) -> base.Deletion:
        self.v2.flavors.delete(ref)
        return base.Deletion(ref)

    def describe(self, ref: str) -> str:
        flavor = self.v2.flavors.get(ref)
        live = self.v2.reservations.list(all_projects=True, flavor_id=flavor.id, status=_LIVE)
        if live:  # The API refuses the deletion with this error.
            detail = {"flavor": flavor.id, "count": len(live)}
            text = f"Flavor {flavor.id} is in use"
            raise errors.ApiError(text, 409, "flavor_in_use", detail)
        return f"flavor {flavor.name} ({flavor.id})"


class ListFreeSlots(_Flavors, base.ListCommand):
    """List the times when a flavor is free. Any part of a listed time can be booked."""

    nothing = ""  # The command says why nothing is free.

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        flavor_choice.add_named(parser)
        arguments.add_start(parser, "start of the search (default: now)")
        until = parser.add_mutually_exclusive_group()
        arguments.add_end(until, "end of the search (default: a year after the start)")
        until.add_argument(
            "--within-days",
            metavar="N",
            type=arguments.count,
            help="search this number of days, instead of --end",
        )
        arguments.add_count(parser, "number of instances that must be free")
        arguments.add_length(parser, "only times of at least this length")
        arguments.add_affinity(parser)
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        start, end = self._period(parsed_args)
        search = {
            "start": start,
            "end": end,
            "count": parsed_args.count,
            "affinity": parsed_args.affinity,
            "length": parsed_args.hours,
        }
        chosen = self._chosen(parsed_args)
        if len(parsed_args.flavors) == 1:
            (flavor,) = chosen.values()
            spans = [self._row(span) for span in self._free(flavor, search)]
            if not spans:
                self._tell_why(flavor, search)
            return ("start", "end", "hours"), spans
        rows = [
            (title, *self._row(span))
            for title, flavor in chosen.items()
            for span in self._free(flavor, search)
        ]
        if not rows and len(chosen) == 1:
            self._tell_why(next(iter(chosen.values())), search)
        elif not rows:
            self.tell(
                f"None of them is free then. {self.name('flavor-calendar')} shows more; with one "
                "flavor, this command says why."
            )
        return ("flavor", "start", "end", "hours"), rows

    def _chosen(self, parsed_args: argparse.Namespace) -> dict[str, str]:
        """Return the names or ids of the flavors to search, each under its title in the table."""
        if refs := flavor_choice.refs(parsed_args):
            return {ref: ref for ref in refs}
        listed = flavor_choice.listed(self, parsed_args)
        named = lookup.titles(listed)
        return {named[f.id]: f.name if named[f.id] == f.name else f.id for f in listed}

    def _free(self, flavor: str, search: dict[str, Any]) -> list[Span]:
        try:
            return self.v2.flavors.free_slots(flavor, **search)
        except errors.NotFound as error:
            raise Failure(self.unknown_flavor(flavor)) from error

    def _tell_why(self, flavor: str, search: dict[str, Any]) -> None:
        """Print why nothing is free, and what to do. This needs another request to the API."""
        reason = no_free_slots.reason(self.v2, flavor, **search)
        if reason is None:
            self.tell(f"Nothing is free then. {self.name('flavor-calendar')} {flavor} shows more.")
        else:
            text = no_free_slots.explanation(
                reason, flavor, self.where, self.app, affinity=search["affinity"]
            )
            self.tell(f"{text.rstrip('.')}.")

    def _period(
        self, parsed_args: argparse.Namespace
    ) -> tuple[datetime.datetime | None, datetime.datetime | None]:
        start, end = self.times(parsed_args, self.now())
        self.tell_time("From", parsed_args.start, start)
        self.tell_time("Until", parsed_args.end, end)
        if parsed_args.within_days is not None:
            end = (start or self.now()) + datetime.timedelta(days=parsed_args.within_days)
        if end is not None:
            arguments.span(start or self.now(), end, None, self.where)
        return start, end

    def _row(self, span: Span) -> tuple[str, str, float]:
        start, end = (time_display.iso(moment, self.where) for moment in (span.start, span.end))
        return start, end, time_display.hours(span.length)
