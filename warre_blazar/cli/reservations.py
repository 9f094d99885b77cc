"""Commands that show, book, change and delete reservations."""

import argparse
import dataclasses
import datetime
import functools
from collections.abc import Mapping
from typing import Any

from warre_blazar.cli import (
    alternatives,
    arguments,
    base,
    change_log,
    cliff_parsers,
    columns,
    deletion_confirmation,
    dry_run,
    earliest_booking,
    flavor_choice,
    hosts,
    longest_extension,
    project_names,
    reservation_options,
    time_display,
    time_input,
    time_zones,
    user_names,
    wait_progress,
    wording,
)
from warre_blazar.cli.failure import Failure, WrongOptions
from warre_blazar.cli.reservation_fields import flat, phrase
from warre_blazar.cli.reservation_options import texts
from warre_blazar.client import Reservation, errors
from warre_blazar.client.types import Document
from warre_blazar.fields.reservations import DELETED
from warre_blazar.texts import commands

#: The exit status of a program that was interrupted, as shells define it.
_INTERRUPTED = 130


class _Reservations(base.Command):
    noun = argument = "reservation"
    nouns = "reservations"
    ref = reservation_options.REF

    def wait(self, made: Reservation) -> Reservation:
        """Wait until a reservation is ACTIVE, and show the progress. Ctrl-C ends only the wait."""
        self.tell(f"Waiting for reservation {made.id}")
        try:
            with wait_progress.reporting(self.now, self.where) as report:
                return self.v2.reservations.wait(made.id, tell=report)
        except KeyboardInterrupt:
            self.tell(
                "\nStopped waiting. The reservation stays: "
                f"{self.name('reservation-show')} {made.id} shows its status, "
                f"{self.name('reservation-delete')} {made.id} deletes it."
            )
            raise SystemExit(_INTERRUPTED) from None

    def _loss(self, reservation: Reservation) -> str:
        """Return a sentence about the servers that go when a reservation ends, or ""."""
        return deletion_confirmation.loss(self.v2, reservation)

    def _describe(self, reservation: Reservation) -> str:
        period = time_display.period(reservation.start, reservation.end, self.where)
        return f"{phrase(reservation)}, {period}, {reservation.status}"

    def warn(self, reservation: Reservation) -> None:
        """Print the API's warnings about a reservation."""
        for warning in reservation.warnings:
            self.tell(f"Warning: {warning['message']}.")

    def tell_how_to_boot(self, reservation: Reservation) -> None:
        """Print the command that boots a server, if the reservation is running."""
        zone = reservation.availability_zone
        if reservation.status != "ACTIVE" or not reservation.compute_flavor:
            return
        self.tell(f"To boot a server on it: {commands.boot(reservation.compute_flavor, zone)}")
        if zone and "," in zone:
            self.tell(f"{commands.SEVERAL_ZONES(availability_zone=zone)}.")

    def _whose(self, reservation: Reservation) -> str:
        """Return a clause that names the project of a reservation of another project, or ""."""
        other = project_names.of_another(self, reservation.project_id)
        return f", of project {other}" if other else ""


class ShowReservation(_Reservations, base.OneCommand, base.ShowCommand):
    """Show a reservation. Its compute_flavor is the Nova flavor to boot servers with.

    A deleted reservation can be shown by its ID, for as long as the operator keeps its record.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "--changes",
            action="store_true",
            help="also show what has happened to the reservation, by whom and when",
        )
        parser.add_argument(
            "--hosts",
            action="store_true",
            help="also show the hosts with the number of instances on each (admin only)",
        )
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        reservation = self._found(parsed_args)
        names = self._names(reservation)
        document = flat(reservation, names)
        changes = document.pop("log", [])
        if parsed_args.changes:
            document["changes"] = self._changes(changes)
        if reservation.status == DELETED:
            self.tell(self._deletion(reservation, names))
        if "snapshots" in document:
            document["snapshots"] = _snapshots(document["snapshots"])
        if parsed_args.hosts:
            during = self.v2.hosts.list(start=reservation.start, end=reservation.end)
            document["hosts"] = hosts.of_reservation(during, reservation.id)
        self.tell_how_to_boot(reservation)
        self.warn(reservation)
        servers = self._servers(reservation)
        if servers is not None and reservation.status in deletion_confirmation.RUNNING:
            document["servers"] = servers
        return self.details(document)

    def _servers(self, reservation: Reservation) -> list[str] | None:
        """Return the names of the servers in a reservation, and print what becomes of them.

        None: they aren't known.
        """
        found = deletion_confirmation.servers(self.v2, reservation)
        deleted = deletion_confirmation.deleted(found)
        moved = deletion_confirmation.moved_out(found)
        end = f"the end of the reservation, {time_display.brief(reservation.end, self.where)}"
        if deleted:
            self.tell(
                f"{deletion_confirmation.loss_of(deleted)} at {end}."
                f"{deletion_confirmation.saving(reservation.before_end)}"
            )
        if moved:
            self.tell(
                f"Moved out of it, but not confirmed: {', '.join(moved)}. At {end}, the move is "
                "confirmed, and the server stays where it is."
            )
        return None if deleted is None else [*deleted, *moved]

    def _found(self, parsed_args: argparse.Namespace) -> Reservation:
        """Return the reservation, or what is left of it if it was deleted."""
        ref, get = parsed_args.reservation, self.v2.reservations.get
        try:
            return get(ref, log=parsed_args.changes, past=True)
        except errors.NotFound as error:
            if parsed_args.changes or error.code != "reservation_not_found":
                raise
        return get(ref, log=True)  # Only with its log, a deleted reservation is found.

    def _deletion(self, reservation: Reservation, names: Mapping[str, str]) -> str:
        """Return a sentence that says when a reservation was deleted, and by whom if known."""
        values = reservation.document
        deleted_at = datetime.datetime.fromisoformat(values["deleted_at"])
        user_id = values["deleted_by"]
        by = f" by {names.get(user_id, user_id)}" if user_id else ""
        return f"Deleted {time_display.brief(deleted_at, self.where)}{by}"

    def _changes(self, changes: list[Document]) -> columns.ShownColumn:
        """Return the changes with their times in the command's time zone."""
        names = user_names.names(self, [change["user_id"] for change in changes])
        return change_log.column(
            [change_log.shown(change, names, self.where) for change in changes]
        )

    def _names(self, reservation: Reservation) -> dict[str, str]:
        users = [reservation.user_id, reservation.document.get("deleted_by")]
        return project_names.names(self, [reservation.project_id]) | user_names.names(self, users)


class CreateReservation(_Reservations, base.ChangeCommand, base.ShowCommand):
    """Book instances of a flavor.

    The compute_flavor in the output is the Nova flavor to boot servers with.
    """

    asks = True

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "flavor",
            metavar="FLAVOR",
            nargs="?",
            help="ID or name of the flavor to book; with --earliest, any flavor if none is named",
        )
        arguments.add_start(parser, "start of the reservation (default: in a minute)")
        parser.add_argument(
            "--earliest",
            action="store_true",
            help="book the first time from --start on at which there is room, for --hours; if "
            "somebody else is faster, book the next one",
        )
        flavor_choice.add_options(parser)
        flavor_choice.add_properties(parser)
        arguments.add_until(
            parser,
            "end of the reservation; +2h means two hours after the start",
            "length of the reservation (instead of --end)",
        )
        arguments.add_count(parser, "number of instances")
        arguments.add_affinity(parser)
        reservation_options.add_labels(parser, "the reservation")
        reservation_options.add_movable(parser)
        reservation_options.add_handle(parser)
        arguments.add_booked_project(parser)
        parser.add_argument(
            "--wait",
            action="store_true",
            help="wait until the reservation is ACTIVE; Ctrl-C ends only the waiting",
        )
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        self._check_choice(parsed_args)
        if parsed_args.earliest:
            return self._earliest(parsed_args)
        project = project_names.identity(self, parsed_args)
        wanted = self._wanted(parsed_args, project)
        plan = f"{wording.slots(wanted.count)} of {wanted.flavor}, {wanted.period}"
        if project:
            plan += f", for project {parsed_args.project}"
        typed = (parsed_args.start, parsed_args.end)
        self.confirm_times(
            plan,
            typed,
            parsed_args,
            otherwise="Nothing booked",
            derived=parsed_args.start is None,
            check=functools.partial(dry_run.check_flavor, self.v2, wanted, self.app),
        )
        if parsed_args.dry_run:
            foreseen = dry_run.booking(
                self.v2, wanted, self.app, **reservation_options.of_new(parsed_args)
            )
            saving = deletion_confirmation.saving(foreseen.before_end)
            plan = f"book {plan}{dry_run.warned(foreseen)}" + (f".{saving}" if saving else "")
            return self.report_dry_run(plan, dry_run.flat(foreseen))
        try:
            made = self._book(parsed_args, wanted)
        except errors.ApiError as error:
            if error.code not in alternatives.CODES and error.alternatives is None:
                raise
            raise Failure(alternatives.instead(wanted, error, self.app)) from error
        except KeyboardInterrupt:
            self.tell(
                "\nInterrupted. The reservation may have been made nevertheless; see "
                f"{self.name('reservation-list')}."
            )
            raise SystemExit(_INTERRUPTED) from None
        if parsed_args.wait:
            made = self.wait(made)
            self.tell_how_to_boot(made)
        self.warn(made)
        return self.details(flat(made))

    def _check_choice(self, parsed_args: argparse.Namespace) -> None:
        """
        :raises Failure: the options don't say what to book.
        """
        named = parsed_args.flavor is not None
        if parsed_args.earliest and parsed_args.hours is None:
            raise WrongOptions(
                "--earliest needs the length of the reservation: give --hours or --days"
            )
        if parsed_args.earliest and parsed_args.project:
            raise WrongOptions(
                "--earliest looks for room for your own project; with --project, give --start"
            )
        if not parsed_args.earliest and (not named or flavor_choice.is_given(parsed_args)):
            raise WrongOptions("Name the FLAVOR to book, or let --earliest choose one")

    def _earliest(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        """Book the first offer that nobody else books before."""
        found = earliest_booking.search(self, parsed_args)
        if parsed_args.dry_run:
            wanted, plan = earliest_booking.planned(self, parsed_args, found[0])
            document = earliest_booking.fields(wanted, found[0].flavor.name)
            return self.report_dry_run(f"book {plan}", document)
        made = earliest_booking.book(
            self, parsed_args, found, lambda wanted: self._create(wanted, parsed_args)
        )
        made = self.wait(made) if parsed_args.wait else made
        self.warn(made)
        return self.details(flat(made))

    def _book(
        self, parsed_args: argparse.Namespace, wanted: alternatives.WantedBooking
    ) -> Reservation:
        try:
            return self._create(wanted, parsed_args)
        except errors.ApiError as error:
            means_now = (parsed_args.start or "now").strip().lower() == "now"
            if not means_now or error.code != "invalid_period":
                raise
        # The minute of the start ended before the request arrived, for example because the user
        # has thought about the question. Try once more with the minute that it is now.
        again = self._wanted(parsed_args, wanted.project_id)
        if parsed_args.end is not None:
            # Read again, the end could be later, or on the next day.
            again = dataclasses.replace(again, end=wanted.end)
        return self._create(again, parsed_args)

    def _create(
        self, wanted: alternatives.WantedBooking, parsed_args: argparse.Namespace
    ) -> Reservation:
        create = functools.partial(
            self.v2.reservations.create,
            wanted.flavor,
            start=wanted.start,
            end=wanted.end,
            count=wanted.count,
            affinity=wanted.affinity,
            project_id=wanted.project_id,
            **reservation_options.of_new(parsed_args),
        )
        try:
            return create(timezone=time_zones.iana_name(self.where))
        except errors.ApiError as error:
            # The server's list of time zones may be older. The zone matters to messages only.
            if error.code != "invalid_field" or error.detail.get("field") != "timezone":
                raise
        return create()

    def _wanted(
        self, parsed_args: argparse.Namespace, project_id: str | None
    ) -> alternatives.WantedBooking:
        """Return the booking that the user wants.

        :param project_id: the project to book for. None: the user's own.
        """
        start, end = self.times(parsed_args, self.now())
        start, end = arguments.span(
            start or _next_minute(self.now()).astimezone(self.where),
            end,
            parsed_args.hours,
            self.where,
        )
        return alternatives.WantedBooking(
            parsed_args.flavor,
            start,
            end,
            parsed_args.count,
            parsed_args.affinity,
            self.where,
            project_id,
            parsed_args.project,
        )


class UpdateReservation(_Reservations, base.OneCommand, base.ChangeCommand, base.ShowCommand):
    """Change the time, the number of instances or the labels of a reservation.

    Or change what is done with its servers before the end.

    Once the reservation has begun, its start can't change, and the number of instances can only
    decrease. A running reservation isn't shortened without a terminal, except with --yes.
    """

    asks = True
    tells_all = True

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        arguments.add_start(
            parser, "new start (without an end or a length, the length doesn't change)"
        )
        arguments.add_until(
            parser,
            f"new end: {arguments.time_help()}; now means the next full minute; +2h, also in "
            "--hours and --length, means two hours more than now booked",
            "new length (instead of --end)",
            required=False,
        )
        arguments.add_count(
            parser,
            "number of instances; once the reservation has begun, this number can only be lowered, "
            "and not below the number of servers",
            absent=None,
        )
        parser.add_argument(
            "--longest",
            action="store_true",
            help="extend the reservation as far as possible, and say what stops it",
        )
        reservation_options.add_new_labels(parser)
        reservation_options.add_movable(parser)
        return cliff_parsers.with_fixed(parser, ["--flavor"])

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        start, end = self.times(parsed_args)
        ends_now = (parsed_args.end or "").strip().lower() == "now"
        if parsed_args.longest:
            end = longest_extension.find(self, parsed_args)
        hours, count = parsed_args.hours, parsed_args.count
        others = texts(parsed_args)
        if all(value is None for value in (start, end, hours, count, *others.values())):
            raise WrongOptions("Nothing to change: give at least one option")
        ref, etag = parsed_args.reservation, None
        changed: dry_run.Changed | None = None
        typed = {parsed_args.start: start, parsed_args.end: end}
        zones = time_input.inexact_zones(typed, self.where)
        derived = bool(hours or count or parsed_args.longest)
        if parsed_args.dry_run or start or end or derived:
            before = self.v2.reservations.get(ref)
            if ends_now:
                end = self._soonest_end(before)
            period = self.new_times(before, start, end, hours)
            if start or hours:
                end = period[1]
            changed = dry_run.Changed(before, *period, count)
            whose = self._whose(before)
            plan = dry_run.plan(changed, *zones[:1] or (self.where,)) + whose
            takes_time = period[0] > before.start or period[1] < before.end
            loss = self._taken(before, period[1])
            self.confirm_times(
                plan,
                (parsed_args.start, parsed_args.end),
                parsed_args,
                otherwise=f"Nothing changed: {self._describe(before)}{whose}",
                loss=loss,
                derived=derived or bool(whose and takes_time),
            )
            if parsed_args.dry_run:
                return self._report(changed, plan, loss, others)
            if ends_now:  # The user may have thought about the question for minutes.
                end = self._soonest_end(before)
            ref, etag = before.id, before.etag
        try:
            changed_to = self.v2.reservations.update(
                ref, start=start, end=end, count=count, etag=etag, **others
            )
        except errors.ApiError as error:
            if changed is None or error.alternatives is None:
                raise
            raise Failure(dry_run.refused(self.v2, changed, error, self.app, self.where)) from error
        self.warn(changed_to)
        return self.details(flat(changed_to))

    def _report(
        self, changed: dry_run.Changed, plan: str, loss: str, others: Mapping[str, Any]
    ) -> tuple[Any, Any]:
        """Print what a change would do, as the API foresees it.

        :param loss: what would be lost, or an empty text.
        :param others: what else would be changed.
        """
        foreseen = dry_run.change(self.v2, changed, self.app, self.where, **others)
        saving = deletion_confirmation.saving(foreseen.before_end)
        told = (f". {loss}" if loss else "") + dry_run.warned(foreseen)
        plan = f"change {plan}{told}" + (f".{saving}" if saving else "")
        document = {"id": changed.before.id, **dry_run.flat(foreseen)}
        return self.report_dry_run(plan, document)

    def _soonest_end(self, before: Reservation) -> datetime.datetime:
        """Return the end that is meant by ``--end now``.

        It is the next full minute. The present minute may be over before the manager decides, and
        the manager refuses ends that have passed. A reservation that ends before isn't extended.
        """
        return min(_next_minute(self.now()), before.end)

    def _taken(self, before: Reservation, end: datetime.datetime) -> str:
        """Return a text about what a new end takes from a running reservation, or ""."""
        if before.status not in deletion_confirmation.RUNNING or end >= before.end:
            return ""
        shorter = time_display.length(before.end - end.astimezone(datetime.UTC))
        taken = f"The running reservation would become {shorter} shorter"
        servers = deletion_confirmation.deleted(deletion_confirmation.servers(self.v2, before))
        if servers != []:
            lost = deletion_confirmation.loss_of(servers, "would")
            taken += f". {lost} at {time_display.brief(end, self.where)}"
        return taken


class DeleteReservation(_Reservations, base.DeleteCommand):
    """Delete reservations and their servers. The command asks first.

    Without a terminal it needs --yes if a reservation has servers.
    """

    asks = True
    refs = "ID, the start of the ID, the name, or the flavor"

    def remove(self, ref: str, parsed_args: argparse.Namespace) -> base.Deletion:
        reservation = self.v2.reservations.get(ref)
        whose = self._whose(reservation)
        if not parsed_args.yes:
            description = self._describe(reservation) + whose
            deletion_confirmation.ask(self.v2, reservation, description)
        gone = self.v2.reservations.delete(reservation.id)
        what = base.identified(ref, reservation.id)
        if whose:
            slots = wording.slots(reservation.instance_count)
            what += f", {slots} of {reservation.flavor.name}{whose}"
        return base.Deletion(what, gone)

    def describe(self, ref: str) -> str:
        reservation = self.v2.reservations.get(ref)
        loss = self._loss(reservation)
        whose = self._whose(reservation)
        return self._describe(reservation) + whose + (f". {loss}" if loss else "")


def _snapshots(snapshots: list[Document]) -> columns.ShownColumn:
    """Return the snapshots of servers. A table has a line for each: the server, what became of it.

    Such a line is ``web: saved, image 0b5e...``.
    """
    lines = []
    for snapshot in snapshots:
        server = snapshot["server_name"] or snapshot["server"] or "its servers"
        image = f", image {snapshot['image']}" if snapshot["image"] else ""
        error = f" ({snapshot['error']})" if snapshot["error"] else ""
        lines.append(f"{server}: {snapshot['status']}{image}{error}")
    return columns.lines(snapshots, lines)


def _next_minute(now: datetime.datetime) -> datetime.datetime:
    """Return the start of the next minute. The API refuses times that have passed."""
    return now.replace(second=0, microsecond=0) + datetime.timedelta(minutes=1)
