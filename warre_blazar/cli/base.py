"""What the commands of all nouns share."""

import argparse
from collections.abc import Iterable, Sequence
from typing import Any

from blazarclient.command import BlazarCommand
from blazarclient.exception import BlazarClientException
from cliff import lister, show
from osc_lib.cli import format_columns

from warre_blazar.cli import arguments
from warre_blazar.cli.client import Document, V2Client


class Command(BlazarCommand):
    """A command on a noun of the v2 API."""

    #: As people say it, and as the API's paths do.
    noun = ""
    nouns = ""

    def v2(self) -> V2Client:
        """The API."""
        return V2Client(self.get_client())

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        # The blazar CLI's own parser completes --end to its --endpoint-type, and keeps it.
        taken = getattr(self.app_args, "endpoint_type", None)
        if taken and arguments.is_time(taken):
            raise BlazarClientException("This CLI has another use for --end; write --end-date")
        return super().get_parser(prog_name)

    def run(self, parsed_args: argparse.Namespace) -> Any:
        # The blazar CLI hands over what it didn't understand, and goes on.
        if self.values_specs:
            raise BlazarClientException(f"Unrecognized arguments: {' '.join(self.values_specs)}")
        return super().run(parsed_args)


class ListCommand(Command, lister.Lister):
    """A table of things."""

    @staticmethod
    def table(columns: Sequence[str], found: Iterable[Document]) -> tuple[Any, Any]:
        """For cliff."""
        return columns, [tuple(_column(item.get(c)) for c in columns) for item in found]


class ShowCommand(Command, show.ShowOne):
    """One thing with all that the API says of it."""

    @staticmethod
    def details(item: Document) -> tuple[Any, Any]:
        """For cliff."""
        return tuple(item), tuple(_column(value) for value in item.values())


class DeleteCommand(Command):
    """Delete things. One that can't be deleted doesn't keep the others."""

    #: What may be given to name one.
    refs = "ID"

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "refs", metavar=self.noun.upper(), nargs="+", help=f"{self.refs} of the {self.noun}(s)"
        )
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> None:
        v2 = self.v2()
        refs = parsed_args.refs
        failed = 0
        for ref in refs:
            try:
                gone = v2.delete(self.nouns, ref)
            except BlazarClientException as error:
                if len(refs) == 1:
                    raise
                failed += 1
                self.log.error("%s: %s", ref, error)
            else:
                done = "Deleted" if gone else "Deletion under way of"
                print(f"{done} {self.noun}: {ref}", file=self.app.stdout)
        if failed:
            raise BlazarClientException(f"{failed} of {len(refs)} {self.nouns} not deleted")


def _column(value: Any) -> Any:
    """Tables get k='v', -f json the dict."""
    return format_columns.DictColumn(value) if isinstance(value, dict) else value
