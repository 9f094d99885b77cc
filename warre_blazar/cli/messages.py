"""Commands on the messages that a user gets about reservations."""

import argparse
from typing import Any

from warre_blazar.cli import base


class ShowMessages(base.ShowCommand):
    """Show whether you get messages about the reservations that you have booked."""

    noun = nouns = "messages"
    zoned = False

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        return self.details(self.v2.messages.get().document)


class SetMessages(base.ChangeCommand, base.ShowCommand):
    """Turn messages about the reservations that you have booked on or off.

    With --off, nobody gets messages about them, not even before your servers are deleted.
    """

    noun = nouns = "messages"
    zoned = False

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        wanted = parser.add_mutually_exclusive_group(required=True)
        wanted.add_argument(
            "--on",
            dest="enabled",
            action="store_true",
            help="get messages, if the site sends any",
        )
        wanted.add_argument(
            "--off", dest="enabled", action="store_false", help="get no messages any more"
        )
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        if parsed_args.dry_run:
            state = "on" if parsed_args.enabled else "off"
            return self.report_dry_run(f"turn messages {state}", {"enabled": parsed_args.enabled})
        return self.details(self.v2.messages.update(enabled=parsed_args.enabled).document)
