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

from warre_blazar.cli import advice, arguments, asking, display, names, parsers, times, zones
from warre_blazar.cli.failures import Failure
from warre_blazar.client import Client, errors
from warre_blazar.client.types import Document

_PIPE_CLOSED = 141


class Command(BlazarCommand):
    """A command on a noun of the v2 API.

    :ivar where: the zone of the times that are given without one, and of all that are shown.
    """

    #: As people say it.
    noun = ""
    nouns = ""
    #: Whether times are given or shown.
    zoned = True
    where: datetime.tzinfo = datetime.UTC

    @functools.cached_property
    def v2(self) -> Client:
        """The API, over the connection that either CLI made for v1."""
        manager = self.get_client().lease.request_manager
        if isinstance(manager, blazar.RequestManager):
            auth = token_endpoint.Token(manager.blazar_url, manager.auth_token)
            return Client(keystone.Session(auth=auth))
        interface = manager.interface
        if interface and not parsers.is_endpoint_type(interface):
            # An --end, which the blazar CLI's own parser takes for --endpoint-type.
            interface = os.environ.get("OS_ENDPOINT_TYPE") or self.app_args.os_interface
        return Client(
            manager.session,
            service_type=manager.service_type or "reservation",
            interface=interface,
            region_name=manager.region_name,
            endpoint_override=manager.endpoint_override,
        )

    def now(self) -> datetime.datetime:
        """The clock."""
        return datetime.datetime.now(datetime.UTC)

    def tell(self, line: str) -> None:
        """A line for people, beside what is printed for programs."""
        print(line, file=sys.stderr)

    def name(self, command: str) -> str:
        """What a command, such as flavor-list, is called in the CLI that is running."""
        return names.Fields(self.app)[command]

    def time(self, text: str) -> datetime.datetime:
        """A time that was given."""
        return times.parse(text, self.where, self.now())

    def times(
        self, parsed_args: argparse.Namespace
    ) -> tuple[datetime.datetime | None, datetime.datetime | None]:
        """The start and the end that were given; None for what wasn't."""
        given = (getattr(parsed_args, name, None) for name in ("start", "end"))
        start, end = (None if text is None else self.time(text) for text in given)
        return start, end

    def tell_times(self, parsed_args: argparse.Namespace, **words: str) -> None:
        """Tell how the start and the end that were given are understood, where that isn't plain.

        :param words: what to call each.
        """
        for moment, name in zip(self.times(parsed_args), ("start", "end"), strict=True):
            text = getattr(parsed_args, name, None) or ""
            if moment is not None and not times.is_exact(text):
                shown = display.plain(moment, moment.tzinfo or self.where)
                self.tell(f"{words[name]}: {shown}")

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = parsers.adapt(super().get_parser(prog_name), parsers.kept_end(self.app_args))
        if self.zoned:
            arguments.add_timezone(parser)
        return parser

    def run(self, parsed_args: argparse.Namespace) -> Any:
        # The blazar CLI hands over what it didn't understand, and goes on.
        if self.values_specs:
            raise Failure(f"Unrecognized arguments: {' '.join(self.values_specs)}")
        if self.zoned:
            utc = "UTC" if parsed_args.utc else None
            self.where = zones.chosen(utc or parsed_args.timezone)
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
        if isinstance(error, errors.Ambiguous) and error.things:
            first = str(error).partition("\n")[0]
            return "\n".join([first, *(f"  {self._one(thing)}" for thing in error.things)])
        return advice.on(error, self.app)

    def _one(self, thing: Any) -> str:
        """A reservation or window, of several that were meant."""
        start, end = (display.brief(moment, self.where) for moment in (thing.start, thing.end))
        return f"{thing.id}  {start} to {end}  {getattr(thing, 'status', '')}".rstrip()

    def column(self, name: str, value: Any) -> Any:
        """A field of a document, for cliff."""
        return _column(display.field(name, value, self.where))


class ListCommand(Command, lister.Lister):
    """A table of things."""

    def table(self, names: Sequence[str], found: Iterable[Document]) -> tuple[Any, Any]:
        """For cliff."""
        return names, [tuple(self.column(c, item.get(c)) for c in names) for item in found]


class ShowCommand(Command, show.ShowOne):
    """One thing with all that the API says of it."""

    def details(self, item: Document) -> tuple[Any, Any]:
        """For cliff."""
        return tuple(item), tuple(self.column(name, value) for name, value in item.items())

    def produce_output(self, parsed_args: argparse.Namespace, names: Any, data: Any) -> int:
        # Nothing was made where it was only asked what would be.
        return super().produce_output(parsed_args, names, data) if names else 0


class ChangeCommand(Command):
    """A command that changes something, and with --dry-run says what it would change."""

    #: Whether it ever asks before it does.
    asks = False

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "--dry-run", action="store_true", help="say what would happen, and change nothing"
        )
        if self.asks:
            parser.add_argument(
                "--yes", action="store_true", help="don't ask on a terminal before anything is done"
            )
        return parser

    def would(self, what: str) -> tuple[Any, Any]:
        """Say what would happen; the result is what a command that shows one thing returns."""
        print(f"Dry run: would {what}", file=self.app.stdout)
        return (), ()

    def agree(
        self, plan: str, given: Iterable[str | None], parsed_args: argparse.Namespace
    ) -> None:
        """Tell how the times that were given are understood; on a terminal, ask about it.

        Nothing is told of times that can't be misunderstood: ISO 8601 with an offset. A dry run
        tells it as what would happen.

        :param given: the times as they were typed, None for those that weren't.
        :raises Failure: it isn't.
        """
        if parsed_args.dry_run or all(text is None or times.is_exact(text) for text in given):
            return
        self.tell(plan)
        if not parsed_args.yes and asking.on_terminal():
            asking.ask("Is that right?", f"Nothing changed: {plan}")


class DeleteCommand(ChangeCommand):
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

    def describe(self, ref: str) -> str:
        """What would be deleted, for a dry run.

        :raises errors.ClientError: there is no such thing.
        """
        raise NotImplementedError

    def get_data(self, parsed_args: argparse.Namespace) -> None:
        failed = 0
        for ref in parsed_args.refs:
            try:
                if parsed_args.dry_run:
                    self.would(f"delete {self.describe(ref)}")
                    continue
                gone = self.remove(ref, parsed_args)
            except (errors.ClientError, Failure) as error:
                if len(parsed_args.refs) == 1:
                    raise
                failed += 1
                known = isinstance(error, errors.ClientError)
                said = self.advice(error, parsed_args) if known else str(error)
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
