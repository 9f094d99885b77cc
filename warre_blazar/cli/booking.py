"""The command that books a reservation."""

import argparse
import dataclasses
import functools
from typing import Any

from warre_blazar.cli import (
    alternatives,
    arguments,
    base,
    deletion_confirmation,
    dry_run,
    earliest_booking,
    flavor_choice,
    project_names,
    reservation_options,
    reservations,
    time_zones,
    wording,
)
from warre_blazar.cli.failure import Failure, WrongOptions
from warre_blazar.cli.reservation_fields import flat
from warre_blazar.client import Reservation, errors


class CreateReservation(reservations.ReservationCommand, base.ChangeCommand, base.ShowCommand):
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
            raise SystemExit(reservations.INTERRUPTED) from None
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
            start or reservations.next_minute(self.now()).astimezone(self.where),
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
