"""The option --flavor of commands that list or add up what belongs to a flavor."""

import argparse

from warre_blazar.cli import base, flavor_choice
from warre_blazar.client import errors, lookup


class FlavorFilter(base.Command):
    """A command that can be restricted to one flavor."""

    #: What the command lists or adds up, for the help text.
    filtered = "reservations"

    def add_flavor(self, parser: argparse.ArgumentParser) -> None:
        """Add ``--flavor``."""
        parser.add_argument(
            "--flavor", metavar="FLAVOR", help=f"only {self.filtered} of this flavor (ID or name)"
        )

    def flavor_id(self, parsed_args: argparse.Namespace) -> str | None:
        """Return the id of the flavor that the user has typed, or None.

        If the user has typed an id, it isn't looked up, because the flavor may have been deleted.
        """
        ref = parsed_args.flavor
        return self.v2.flavors.get(ref).id if ref and not lookup.is_id(ref) else ref

    def advice(self, error: errors.ClientError, parsed_args: argparse.Namespace) -> str:
        if parsed_args.flavor is None:
            return super().advice(error, parsed_args)
        return flavor_choice.advice(self, error, parsed_args.flavor)
