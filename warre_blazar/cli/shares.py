"""Commands that let other projects boot servers on the places of a reservation."""

import argparse
from typing import Any

from warre_blazar.cli import base, keystone_names, listing, project_names
from warre_blazar.client import Share, errors, lookup
from warre_blazar.client.types import Document
from warre_blazar.fields.declaration import columns


class _Shares(base.Command):
    noun = argument = "share"
    nouns, collection, ref = "shares", "shares", "ID of the share, or the start of the ID"

    def advice(self, error: errors.ClientError, parsed_args: argparse.Namespace) -> str:
        text = super().advice(error, parsed_args)
        is_share = isinstance(error, errors.NotFound) and str(error).startswith("There is no share")
        return f"{text}. {self.name('reservation-share-list')} shows the IDs" if is_share else text


def _reservation(command: base.Command, parsed_args: argparse.Namespace) -> Document:
    ref = parsed_args.reservation
    return {"reservation_id": ref and lookup.reservation(command.v2.reservations, ref)}


class ListShares(_Shares, listing.ListObjects):
    """List the shares that your project gives or has."""

    columns, long = columns(Share, long=False), columns(Share, long=True)
    filters = (
        listing.option(
            "--all-projects", "list shares of all projects (admin only)", action="store_true"
        ),
        listing.ListFilter(
            lambda parser: parser.add_argument(
                "--reservation", metavar="RESERVATION", help="only shares of this reservation"
            ),
            _reservation,
        ),
    )


class ShowShare(_Shares, listing.ShowObject):
    """Show a share."""


class CreateShare(_Shares, base.ChangeCommand, base.ShowCommand):
    """Let another project boot servers on the places of a reservation.

    The other project sees the reservation, and can't change it.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "reservation",
            metavar="RESERVATION",
            help="ID of the reservation, the start of the ID, its name, or its flavor's name",
        )
        parser.add_argument(
            "project",
            metavar="PROJECT",
            help="ID of the project, or its name if Keystone lets you list projects",
        )
        keystone_names.add_domain(parser, "project")
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        values = {
            **_reservation(self, parsed_args),
            "project_id": project_names.required(self, parsed_args),
        }
        if parsed_args.dry_run:
            what = f"let project {parsed_args.project} boot servers in {parsed_args.reservation}"
            return self.report_dry_run(what, values)
        return self.details(self.v2.shares.create(**values).document)


class DeleteShare(_Shares, listing.DeleteObjects):
    """End shares. The other project's servers stay until the reservation ends."""
