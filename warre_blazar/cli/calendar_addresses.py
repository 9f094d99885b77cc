"""Commands on addresses at which calendar programs read a project's reservations."""

import argparse
from typing import Any

from warre_blazar.cli import base, listing
from warre_blazar.client import CalendarAddress
from warre_blazar.fields.declaration import columns


class _Calendars(base.Command):
    noun = argument = "calendar"
    nouns = collection = "calendars"
    ref = "ID of the calendar, the start of the ID, or its name"


class ListCalendars(_Calendars, listing.ListObjects):
    """List the addresses that you have made for your project's calendar."""

    columns, long = columns(CalendarAddress, long=False), columns(CalendarAddress, long=True)
    filters = (
        listing.option(
            "--all-projects",
            "list calendars of all users, without their addresses (admin only)",
            action="store_true",
        ),
    )


class ShowCalendarAddress(_Calendars, listing.ShowObject):
    """Show an address to which a calendar program can subscribe."""


class CreateCalendar(_Calendars, base.ChangeCommand, base.ShowCommand):
    """Make an address at which a calendar program reads your project's reservations.

    The program needs no password. Whoever knows the address can read the calendar, until you delete
    it or lose your role in the project.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("name", metavar="NAME", help="the name that calendar programs show")
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        if parsed_args.dry_run:
            return self.report_dry_run(
                f"make an address for your project's calendar, named {parsed_args.name}",
                {"name": parsed_args.name},
            )
        return self.details(self.v2.calendars.create(name=parsed_args.name).document)


class DeleteCalendar(_Calendars, listing.DeleteObjects):
    """Withdraw addresses of calendars. CalendarAddress programs can't read there any more."""
