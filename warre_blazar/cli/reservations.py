"""Commands about one reservation that exists."""

import argparse
import datetime
from collections.abc import Mapping
from typing import Any

from warre_blazar.cli import (
    arguments,
    base,
    change_log,
    cliff_parsers,
    columns,
    deletion_confirmation,
    dry_run,
    hosts,
    longest_extension,
    project_names,
    reservation_options,
    time_display,
    time_input,
    user_names,
    wait_progress,
    wording,
)
from warre_blazar.cli.failure import Failure, WrongOptions
from warre_blazar.cli.reservation_fields import flat, phrase
from warre_blazar.cli.reservation_options import texts
from warre_blazar.client import Reservation, errors, lookup
from warre_blazar.client.types import Document
from warre_blazar.fields.reservations import DELETED
from warre_blazar.texts import commands

#: The exit status of a program that was interrupted, as shells define it.
INTERRUPTED = 130


class ReservationCommand(base.Command):
    """What the commands about one reservation have in common."""

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
            raise SystemExit(INTERRUPTED) from None

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


class ShowReservation(ReservationCommand, base.OneCommand, base.ShowCommand):
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
            reservation_id = error.detail.get("reservation", ref)
        return get(reservation_id, log=True)  # Only with its log, a deleted reservation is found.

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


class UpdateReservation(ReservationCommand, base.OneCommand, base.ChangeCommand, base.ShowCommand):
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
            parser,
            "new start (without an end or a length, the length doesn't change; +2h means two hours "
            "after the present start)",
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
        start, end = self.times(parsed_args, before=lambda: self._live(parsed_args.reservation))
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
            before = self._live(ref)
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

    def _live(self, ref: str) -> Reservation:
        """
        :raises errors.Over: the reservation has ended.
        """
        before = self.v2.reservations.get(ref)
        if before.status == "COMPLETE":
            raise lookup.over_error(self.v2.reservations, ref, [before])
        return before

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
        return min(next_minute(self.now()), before.end)

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


class DeleteReservation(ReservationCommand, base.DeleteCommand):
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


def next_minute(now: datetime.datetime) -> datetime.datetime:
    """Return the start of the next minute. The API refuses times that have passed."""
    return now.replace(second=0, microsecond=0) + datetime.timedelta(minutes=1)
