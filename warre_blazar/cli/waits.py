"""Commands about waits: what to book, or to tell, once there is room."""

import argparse
import datetime
import functools
from typing import Any

from keystoneauth1 import exceptions as ksa

from warre_blazar.cli import (
    arguments,
    base,
    command_names,
    flavor_choice,
    listing,
    owners,
    project_names,
    reservation_options,
    time_display,
    time_input,
    time_zones,
    wording,
)
from warre_blazar.cli.failure import WrongOptions
from warre_blazar.client import Wait, errors, lookup
from warre_blazar.client.types import Document
from warre_blazar.fields import waits as fields
from warre_blazar.texts import commands

#: The options that are sent as they were typed.
_TEXTS = (*reservation_options.LABELS, "affinity")
#: The options for the fields of a wait that the API may refuse.
_OPTIONS = {
    "instance_count": "--count",
    "hours": "--hours",
    "from": "--start",
    "to": "--end",
    "expires_at": "--expires",
    "category": "--category",
}


class _Waits(base.Command):
    noun = argument = "wait"
    nouns = "waits"
    ref = "ID of the wait, the start of the ID, or the name that its reservation will have"

    def shown(self, wait: Wait) -> tuple[Document, str]:
        """The fields of a wait that have a value, and a sentence about what comes next."""
        document = {k: v for k, v in wait.document.items() if v is not None}
        return document, self._next(wait)

    def _next(self, wait: Wait) -> str:
        if wait.status == "WAITING":
            what = f"{wording.slots(wait.instance_count)} of {_goal(wait)}"
            other = project_names.of_another(self, wait.project_id)
            whose = f", for project {other}" if other else ""
            then = "It is booked by itself." if wait.mode == "book" else self._message(wait)
            return f"Waiting for {what}, number {wait.position} in line{whose}. {then}"
        if wait.status == "BOOKED":
            return f"Booked: {self.name('reservation-show')} {wait.reservation_id}"
        return ""

    def _message(self, wait: Wait) -> str:
        """Return a sentence that says whether there will be a message about a wait."""
        try:
            code = self.v2.messages.get().why_none(wait.contact)
        except (errors.ClientError, ksa.ClientException):  # The wait is there nevertheless.
            return "You get a message."
        if not code:
            return "You get a message."
        fields = command_names.Fields(self.app, id=wait.id)
        return f"{commands.NO_MESSAGE[code].sentence(fields)}."


class CreateWait(_Waits, base.ChangeCommand, base.ShowCommand):
    """Wait until a flavor can be booked, and have it booked or be told of it.

    On a terminal, the command asks first.
    """

    asks = True

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "flavor", metavar="FLAVOR", nargs="?", help="ID or name of the flavor to wait for"
        )
        parser.add_argument(
            "--category", help="instead of FLAVOR: any flavor of this category will do"
        )
        arguments.add_length(parser, "length of the reservation")
        arguments.add_start(parser, "the earliest start of the reservation (default: now)")
        arguments.add_end(
            parser,
            "the latest end of the reservation (default: 90 days after the earliest start): "
            f"{arguments.time_help()}",
        )
        arguments.add_count(parser, "number of instances")
        arguments.add_affinity(parser)
        parser.add_argument(
            "--tell",
            action="store_true",
            help="don't book, but send a message once there is room, which is kept for your "
            "project for ten minutes then",
        )
        parser.add_argument(
            "--expires",
            metavar="TIME",
            help="wait until then at most (default: as long as the reservation can still begin): "
            f"{arguments.time_help()}",
        )
        arguments.add_booked_project(parser)
        reservation_options.add_labels(parser, "the wait and its reservation")
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        if (parsed_args.flavor is None) == (parsed_args.category is None):
            raise WrongOptions("Name either the FLAVOR to wait for, or its --category")
        if parsed_args.hours is None:
            raise WrongOptions("Say for how long you need it: give --hours or --length")
        earliest, latest = self.times(parsed_args, self.now())
        expires = parsed_args.expires and time_input.parse(
            parsed_args.expires, self.where, self.now()
        )
        self.tell_time("From", parsed_args.start, earliest)
        self.tell_time("Until", parsed_args.end, latest)
        self.tell_time("Waiting until", parsed_args.expires, expires)
        goal = parsed_args.flavor or f"any flavor of the category {parsed_args.category}"
        length = time_display.length(parsed_args.hours)
        plan = f"wait for {wording.slots(parsed_args.count)} of {goal}, {length}"
        project = parsed_args.project
        if project:
            plan += f", for project {project}"
        create = functools.partial(
            self.v2.waits.create,
            parsed_args.flavor,
            length=parsed_args.hours,
            count=parsed_args.count,
            category=parsed_args.category,
            earliest=earliest,
            latest=latest,
            mode="tell" if parsed_args.tell else "book",
            expires_at=expires,
            timezone=time_zones.iana_name(self.where),
            project_id=project_names.identity(self, parsed_args),
            **{name: getattr(parsed_args, name) for name in _TEXTS},
        )
        if parsed_args.dry_run:
            foreseen = create(dry_run=True)
            document, _ = self.shown(foreseen)
            del document["id"]  # It isn't kept.
            return self.report_dry_run(f"{plan}, number {foreseen.position} in line", document)
        plan = f"{plan[0].upper()}{plan[1:]}"

        def check() -> None:
            create(dry_run=True)
            if not parsed_args.tell:
                self._tell_of_room(parsed_args, earliest, latest)

        self.confirm_on_terminal(plan, parsed_args, otherwise="You don't wait for it", check=check)
        document, what_next = self.shown(create())
        self.tell(what_next)
        return self.details(document)

    def _tell_of_room(
        self,
        parsed_args: argparse.Namespace,
        earliest: datetime.datetime | None,
        latest: datetime.datetime | None,
    ) -> None:
        """Say if what is waited for can be booked at once."""
        found = self.v2.offers.list(
            start=earliest,
            end=latest,
            length=parsed_args.hours,
            count=parsed_args.count,
            affinity=parsed_args.affinity,
            flavor=parsed_args.flavor,
            category=parsed_args.category,
            limit=1,
        )
        if found.offers:
            start = time_display.brief(found.offers[0].start, self.where)
            self.tell(f"There is room now, so it is booked at once, from {start} on or soon after")

    def advice(self, error: errors.ClientError, parsed_args: argparse.Namespace) -> str:
        if not isinstance(error, errors.ApiError) or error.code != "invalid_field":
            return super().advice(error, parsed_args)
        field = error.detail.get("field")
        expected = str(error).removeprefix(f"{field}: ")
        if field not in _OPTIONS:
            return super().advice(error, parsed_args)
        if field == "category":
            return flavor_choice.unknown_category(self, parsed_args.category)
        option = _OPTIONS[field]
        return f"{option}: {expected.replace('hours after from', 'hours after --start')}"


#: The states of waits that aren't over.
_UNDER_WAY = "WAITING,BOOKING"


def _add_states(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--ended", action="store_true", help="also list waits that are over, booked ones too"
    )
    which.add_argument(
        "--status",
        metavar="STATUS",
        help=f"only waits with this status: {', '.join(fields.STATES)}; several statuses are "
        "separated by commas",
    )


def _states(_: base.Command, parsed_args: argparse.Namespace) -> Document:
    return {"status": None if parsed_args.ended else parsed_args.status or _UNDER_WAY}


class ListWaits(_Waits, listing.ListObjects):
    """List what your project waits for, unless --project or --all-projects is given."""

    collection = "waits"
    filters = (
        listing.projects("list waits"),
        listing.user("only waits of this user"),
        listing.ListFilter(_add_states, _states),
    )
    columns = (
        *("id", "name", "flavor", "instance_count", "hours", "from", "to", "mode", "status"),
        "position",
    )
    long = (
        *("category", "expires_at", "status_reason", "reservation_id", "created_at", "ended_at"),
        *owners.COLUMNS,
    )

    def found(self, parsed_args: argparse.Namespace) -> list[Wait]:
        narrowed = ("all_projects", "project", "user", "ended", "status")
        if not any(getattr(parsed_args, name) for name in narrowed):
            self.nothing = (
                "Your project waits for nothing. --ended also lists waits that are over, and for "
                "operators --all-projects lists those of other projects"
            )
        return super().found(parsed_args)

    def row(self, item: Wait) -> Document:
        return {**item.document, "flavor": _goal(item)}


class ShowWait(_Waits, base.OneCommand, base.ShowCommand):
    """Show a wait, with its position in line."""

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        document, what_next = self.shown(self.v2.waits.get(parsed_args.wait))
        if what_next:
            self.tell(what_next)
        return self.details(document)


class DeleteWait(_Waits, base.DeleteCommand):
    """Cancel waits. What was booked for them already stays."""

    refs = "ID, the start of the ID, or name"

    def remove(self, ref: str, parsed_args: argparse.Namespace) -> base.Deletion:
        wait = self._live(ref)
        self.v2.waits.delete(wait.id)
        return base.Deletion(base.identified(ref, wait.id))

    def _live(self, ref: str) -> Wait:
        """
        :raises errors.Over: the wait is canceled already. The API accepts another deletion of it.
        """
        wait = self.v2.waits.get(ref)
        if wait.status == "CANCELED":
            raise lookup.over_error(self.v2.waits, ref, [wait])
        return wait

    def describe(self, ref: str) -> str:
        wait = self._live(ref)
        return f"wait {wait.id} for {wording.slots(wait.instance_count)} of {_goal(wait)}"

    def advice(self, error: errors.ClientError, parsed_args: argparse.Namespace) -> str:
        if isinstance(error, errors.ApiError) and error.code == "wait_over":
            listing = self.name("reservation-wait-list")
            return f"{super().advice(error, parsed_args)}. See {listing}"
        return super().advice(error, parsed_args)


def _goal(wait: Wait) -> str:
    """What a wait is for, in a few words."""
    return wait.flavor or f"category {wait.category}"
