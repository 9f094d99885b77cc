"""What the commands of all nouns share."""

import argparse
import datetime
import functools
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from blazarclient import base as blazar
from blazarclient.command import BlazarCommand
from cliff import columns, lister, show
from keystoneauth1 import exceptions as ksa
from keystoneauth1 import session as keystone
from keystoneauth1 import token_endpoint

from warre_blazar.cli import advice, times
from warre_blazar.cli.failures import Failure
from warre_blazar.client import Client, errors
from warre_blazar.client.types import Document

_ENDPOINT_TYPES = ("public", "internal", "admin")
_PIPE_CLOSED = 141


class Command(BlazarCommand):
    """A command on a noun of the v2 API."""

    #: As people say it.
    noun = ""
    nouns = ""

    @functools.cached_property
    def v2(self) -> Client:
        """The API, over the connection that either CLI made for v1."""
        manager = self.get_client().lease.request_manager
        if isinstance(manager, blazar.RequestManager):
            auth = token_endpoint.Token(manager.blazar_url, manager.auth_token)
            return Client(keystone.Session(auth=auth))
        return Client(
            manager.session,
            service_type=manager.service_type or "reservation",
            interface=manager.interface,
            region_name=manager.region_name,
            endpoint_override=manager.endpoint_override,
        )

    def now(self) -> datetime.datetime:
        """The clock."""
        return datetime.datetime.now(datetime.UTC)

    def tell(self, line: str) -> None:
        """A line for people, beside what is printed for programs."""
        print(line, file=sys.stderr)

    def time(self, text: str, parsed_args: argparse.Namespace, what: str) -> datetime.datetime:
        """A time that was given; how it was understood is told unless that is plain."""
        where = times.zone(getattr(parsed_args, "timezone", None))
        moment = times.parse(text, where, self.now())
        if not times.is_iso(text):
            self.tell(f"{what}: {times.told(moment, moment.tzinfo or where)}")
        return moment

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        # The blazar CLI's own parser completes --end to its --endpoint-type, and keeps it.
        taken = getattr(self.app_args, "endpoint_type", None)
        if taken and taken.removesuffix("URL") not in _ENDPOINT_TYPES:
            raise Failure("This CLI has another use for --end; write --end-date")
        return super().get_parser(prog_name)

    def run(self, parsed_args: argparse.Namespace) -> Any:
        # The blazar CLI hands over what it didn't understand, and goes on.
        if self.values_specs:
            raise Failure(f"Unrecognized arguments: {' '.join(self.values_specs)}")
        try:
            result = super().run(parsed_args)
            self.app.stdout.flush()
        except BrokenPipeError:
            # Who read it has enough. Python itself would complain once more when it ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise SystemExit(_PIPE_CLOSED) from None
        except errors.ClientError as error:
            raise Failure(self.advice(error, parsed_args)) from error
        except (ksa.MissingAuthPlugin, ksa.MissingRequiredOptions) as error:
            raise Failure(advice.NO_CREDENTIALS) from error
        return result

    def advice(self, error: errors.ClientError, parsed_args: argparse.Namespace) -> str:
        """What to say of an error: what is wrong, and what to do."""
        return advice.on(error)


class ListCommand(Command, lister.Lister):
    """A table of things."""

    @staticmethod
    def table(names: Sequence[str], found: Iterable[Document]) -> tuple[Any, Any]:
        """For cliff."""
        return names, [tuple(_column(item.get(c)) for c in names) for item in found]


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
        metavar = self.noun.upper().replace(" ", "_")
        help_text = f"{self.refs} of the {self.noun}(s)"
        parser.add_argument("refs", metavar=metavar, nargs="+", help=help_text)
        return parser

    def remove(self, ref: str, parsed_args: argparse.Namespace) -> bool:
        """Delete one; whether it is gone. False: that is under way."""
        raise NotImplementedError

    def get_data(self, parsed_args: argparse.Namespace) -> None:
        failed = 0
        for ref in parsed_args.refs:
            try:
                gone = self.remove(ref, parsed_args)
            except (errors.ClientError, Failure) as error:
                if len(parsed_args.refs) == 1:
                    raise
                failed += 1
                said = advice.on(error) if isinstance(error, errors.ClientError) else str(error)
                self.log.error("%s: %s", ref, said)
            else:
                done = "Deleted" if gone else "Deletion under way of"
                print(f"{done} {self.noun}: {ref}", file=self.app.stdout)
        if failed:
            raise Failure(f"{failed} of {len(parsed_args.refs)} {self.nouns} not deleted")


class DictColumn(columns.FormattableColumn):
    """k='v' in tables, the dict in -f json."""

    def human_readable(self) -> str:
        return ", ".join(f"{key}='{value}'" for key, value in sorted(self._value.items()))


class ListColumn(columns.FormattableColumn):
    """a, b in tables, the list in -f json."""

    def human_readable(self) -> str:
        return ", ".join(str(value) for value in self._value)


def _column(value: Any) -> Any:
    if isinstance(value, dict):
        return DictColumn(value)
    return ListColumn(value) if isinstance(value, list) else value
