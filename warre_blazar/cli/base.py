"""The base classes of all commands: connection, times, errors and output."""

import argparse
import contextlib
import datetime
import functools
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from blazarclient import base as blazar
from blazarclient.command import BlazarCommand
from cliff import lister, show
from keystoneauth1 import exceptions as ksa
from keystoneauth1 import session as keystone
from keystoneauth1 import token_endpoint

from warre_blazar.cli import (
    arguments,
    cliff_parsers,
    columns,
    command_names,
    confirmation,
    error_advice,
    failure_codes,
    keystone_names,
    other_words,
    time_display,
    time_input,
    time_zones,
    wording,
)
from warre_blazar.cli.failure import Failure, RefusedDryRun, WrongArguments, WrongOptions
from warre_blazar.client import Client, Reservation, Window, errors, lookup
from warre_blazar.client.types import Document

_PIPE_CLOSED = 141
#: What to do if the API doesn't answer. Whatever changes something is sent again before.
_AWAY = "The service may be away for a moment; try again"
#: The exit status with which the parser ends a command too.
_WRONG_ARGUMENTS = 2


class Command(BlazarCommand):
    """A command that uses the v2 API.

    :ivar where: the time zone of the command. Times without a zone are taken to be in this zone,
        and all times are shown in this zone.
    """

    #: The kind of object that the command works on, in singular and plural, for messages.
    noun = ""
    nouns = ""
    #: Whether the command takes or shows times. If so, it has the options for the time zone.
    zoned = True
    where: datetime.tzinfo = datetime.UTC
    #: Whether the output is for programs: in a format such as -f json, or of columns that -c names.
    is_for_programs = False
    #: The names of the CLI and of the command, as they are typed.
    _program = ""

    @functools.cached_property
    def v2(self) -> Client:
        """The client of the v2 API. It uses the connection that the running CLI has made for v1."""
        manager = self.get_client().lease.request_manager
        reader = time_display.reader(self.where, self._user)
        if isinstance(manager, blazar.RequestManager):
            auth = token_endpoint.Token(manager.blazar_url, manager.auth_token)
            return Client(keystone.Session(auth=auth), reader=reader, tell=self.tell)
        interface = manager.interface
        if interface and not cliff_parsers.is_endpoint_type(interface):
            # The blazar CLI's own parser has taken --end for --endpoint-type, so ``interface`` is
            # the value of --end.
            interface = os.environ.get("OS_ENDPOINT_TYPE") or self.app_args.os_interface
        return Client(
            manager.session,
            service_type=manager.service_type or "reservation",
            interface=interface,
            region_name=manager.region_name,
            endpoint_override=manager.endpoint_override,
            reader=reader,
            tell=self.tell,
        )

    def _user(self, user_id: str) -> str:
        return keystone_names.user(self.v2.transport.session, user_id) or user_id

    def now(self) -> datetime.datetime:
        """Return the present time in UTC. Tests replace this method."""
        return datetime.datetime.now(datetime.UTC)

    def tell(self, line: str) -> None:
        """Print a line for the user on stderr, because programs may read stdout."""
        print(line, file=sys.stderr)

    def name(self, command: str) -> str:
        """Return the full name that a command such as flavor-list has in the running CLI."""
        return command_names.Fields(self.app)[command]

    def times(
        self,
        parsed_args: argparse.Namespace,
        absent_start: datetime.datetime | None = None,
        before: Callable[[], Reservation | Window] | None = None,
    ) -> tuple[datetime.datetime | None, datetime.datetime | None]:
        """Return the start and the end that the user has typed. An absent time is None.

        The end is read from the start: after ``--start "mon 9:00"``, ``--end 17:00`` means the same
        Monday, and ``--end +3d`` three days later.

        :param absent_start: the time from which to read the end if the user hasn't typed a start.
        :param before: returns the object whose times are to be changed. A start such as +30m is
            counted from its start.
        """
        texts = [getattr(parsed_args, name, None) for name in ("start", "end")]
        start, end = None, None
        if absent_start is not None:
            # An end without a zone is on the day that it is then for the user.
            absent_start = absent_start.astimezone(self.where)
        if texts[0] is not None:
            is_later = before and texts[0].startswith("+")
            start = self._time(texts[0], before().start if before and is_later else None)
        if texts[1] is not None:
            first = start or absent_start
            end = self._time(texts[1], first, start=first)
        return start, end

    def _time(self, text: str, origin: datetime.datetime | None, **how: Any) -> datetime.datetime:
        """Return a typed time. One such as +3d counts from the origin, if there is one."""
        if origin and (later := arguments.later(text)):
            return time_input.parse(later, self.where, origin)
        return time_input.parse(text, self.where, self.now(), **how)

    def window(
        self, parsed_args: argparse.Namespace
    ) -> tuple[datetime.datetime | None, datetime.datetime | None]:
        """Return the times that the user has typed after --from and --to. An absent time is None.

        A second time such as +7d counts from the first one, or else from now.

        :raises WrongArguments: the second time isn't after the first.
        """
        since = until = None
        if parsed_args.since is not None:
            since = self._time(parsed_args.since, None, looking_back=True)
        if parsed_args.until is not None:
            until = self._time(parsed_args.until, since or self.now(), looking_back=True)
        self.tell_time("From", parsed_args.since, since)
        self.tell_time("To", parsed_args.until, until)
        if since is not None and until is not None and until <= since:
            raise WrongArguments(
                f"--to, {time_display.brief(until, self.where)}, isn't after --from, "
                f"{time_display.brief(since, self.where)}; give a later --to"
            )
        return since, until

    def tell_time(self, word: str, text: str | None, moment: datetime.datetime | None) -> None:
        """Print a time as the command understands it.

        A time that can't be misunderstood (ISO 8601 with an offset) isn't printed.

        :param word: the word to print before the time, such as "From".
        :param text: the time as the user has typed it. If it is absent, nothing is printed.
        """
        if text and moment is not None and not time_input.is_exact(text):
            self.tell(f"{word}: {time_display.plain(moment, moment.tzinfo or self.where)}")

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        self._program = prog_name
        parser = cliff_parsers.adapt(
            super().get_parser(prog_name),
            cliff_parsers.kept_end(self.app_args),
            other_words.of(type(self).__name__),
            command_names.Fields(self.app),
        )
        if self.zoned:
            arguments.add_timezone(parser)
        return parser

    def run(self, parsed_args: argparse.Namespace) -> Any:
        # Both CLIs end with status 1 after an exception, and otherwise with the returned status.
        try:
            return self.attempt(parsed_args)
        except WrongArguments as error:
            self.log.error("%s", error)
            return _WRONG_ARGUMENTS

    def attempt(self, parsed_args: argparse.Namespace) -> Any:
        """Run the command, and return its exit status.

        :raises Failure: the command has failed. The text says why, and what to do.
        """
        # The blazar CLI passes on arguments that it doesn't know, and doesn't refuse them.
        if self.values_specs:
            unknown = cliff_parsers.unrecognized(self.get_parser(self._program), self.values_specs)
            raise self._with_help(unknown)
        has_format = getattr(parsed_args, "formatter", "table") != "table"
        self.is_for_programs = has_format or bool(getattr(parsed_args, "columns", ()))
        if self.zoned:
            utc = "UTC" if parsed_args.utc else None
            self.where = time_zones.chosen(utc or parsed_args.timezone)
        try:
            return self._run(parsed_args)
        except BrokenPipeError:
            # The reader has closed the pipe. Send the rest of the output to /dev/null. Otherwise
            # Python would try to write it at exit, and print an error.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise SystemExit(_PIPE_CLOSED) from None
        except Failure as failure:
            code = failure_codes.code(failure) if has_format else ""
            if not code:
                raise
            raise Failure(f"{failure}\nCode: {code}") from failure

    def _run(self, parsed_args: argparse.Namespace) -> Any:
        """Run the command, and turn errors into a ``Failure``."""
        try:
            result = super().run(parsed_args)
            self.app.stdout.flush()
        except WrongOptions as error:
            raise self._with_help(str(error)) from error
        except errors.ClientError as error:
            show = f"{self.noun} show".replace(" ", "-")
            both = error_advice.both_values(error, self.where, self.name(show))
            raise Failure(both or self.advice(error, parsed_args)) from error
        except (ksa.MissingAuthPlugin, ksa.MissingRequiredOptions) as error:
            raise Failure(error_advice.NO_CREDENTIALS) from error
        except ksa.ConnectionError as error:
            raise Failure(f"{errors.brief(error)}. {_AWAY}") from error
        return result

    def _with_help(self, problem: str) -> WrongArguments:
        """Return the error for wrong arguments: the problem, and the command that prints help."""
        return WrongArguments(f"{problem}\nSee {cliff_parsers.help_command(self._program)}")

    def advice(self, error: errors.ClientError, parsed_args: argparse.Namespace) -> str:
        """Return the text that is shown for an error: what is wrong, and what to do."""
        project = getattr(parsed_args, "project", None)
        if isinstance(error, errors.Ambiguous) and error.things:
            first = str(error).partition("\n")[0]
            lines = [first, *(f"  {self._candidate(thing)}" for thing in error.things)]
            series = {getattr(thing, "series_id", None) for thing in error.things}
            one = series.pop()
            if one and not series:
                show = self.name("reservation-series-show")
                lines.append(f"  or the whole series: {show} {one}")
            return "\n".join(lines)
        if isinstance(error, errors.NotFound) and error.code in ("", "flavor_not_found"):
            said = error.detail.get("flavor") if error.code else None
            if ref := getattr(parsed_args, "flavor", None) or said:
                return self.unknown_flavor(ref, project)
        return error_advice.ambiguous(error) or error_advice.text(error, self.app, project)

    def unknown_flavor(self, ref: str, project: str | None = None) -> str:
        """Return the text for a flavor that doesn't exist, with flavors of similar names.

        :param project: the project for which the user works, if it isn't the user's own.
        """
        names = [flavor.name for flavor in self.v2.flavors.visible()]
        if ref in names:  # An operator sees private flavors of other projects.
            whose = f"Project {project}" if project else "Your project"
            grant = f"{self.name('flavor-access-grant')} {ref} {project or 'PROJECT'}"
            return f"{whose} has no access to the flavor {ref!r}. {grant} gives it"
        if "," in ref:
            one = f"Give one at a time, such as {ref.partition(',')[0]}"
            return f"There is no flavor {ref!r} that you may see. {one}"
        similar = lookup.similar(ref, names)
        hint = f"Did you mean {', '.join(similar)}?" if similar else ""
        hint = hint or f"See {self.name('flavor-list')} for all"
        return f"There is no flavor {ref!r} that you may see. {hint}"

    def _candidate(self, thing: Reservation | Window) -> str:
        """Return a line about a reservation or window to which an ambiguous name may refer."""
        start, end = (time_display.brief(moment, self.where) for moment in (thing.start, thing.end))
        period = f"{thing.id}  {start} to {end}"
        if isinstance(thing, Reservation):
            slots = wording.slots(thing.instance_count)
            return f"{period}  {thing.status}  {slots} of {thing.flavor.name}"
        return period

    def zoned_all(self, documents: Iterable[Document]) -> list[Document]:
        """Return documents inside of a field for programs, with their times in the zone."""
        return [
            {name: time_display.field(name, value, self.where) for name, value in each.items()}
            for each in documents
        ]

    def column(self, name: str, value: Any) -> Any:
        """Return a field of a document in the form that cliff prints."""
        return columns.formatted(time_display.field(name, value, self.where))


class OneCommand(Command):
    """A command on one object, which its argument names."""

    #: The name of the argument, and its help text.
    argument = ""
    ref = ""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(self.argument, metavar=self.argument.upper(), help=self.ref)
        return parser


class ListCommand(Command, lister.Lister):
    """A command that prints a table of objects."""

    #: What the command says if there are none. "": nothing, because it has said more.
    nothing = "There are no {nouns} to list"

    def attempt(self, parsed_args: argparse.Namespace) -> Any:
        # cliff silently leaves out a column that the table doesn't have.
        if parsed_args.columns and "long" in parsed_args:
            parsed_args.long = True
        return super().attempt(parsed_args)

    def table(self, names: Sequence[str], documents: Iterable[Document]) -> tuple[Any, Any]:
        """Return the names of the columns, and a row for each document."""
        return names, [tuple(self.column(c, item.get(c)) for c in names) for item in documents]

    def produce_output(self, parsed_args: argparse.Namespace, names: Any, data: Any) -> int:
        # cliff prints an empty table as an empty line, as if the command were broken.
        rows = list(data)
        if rows or parsed_args.formatter != "table":
            return super().produce_output(parsed_args, names, rows)
        if self.nothing:
            self.tell(f"{self.nothing.format(nouns=self.nouns)}.")
        return 0


class ShowCommand(Command, show.ShowOne):
    """A command that prints all fields of one object."""

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        try:
            return self.get_data(parsed_args)
        except RefusedDryRun as refused:
            # A command that changes something may ask for a dry run to explain a refusal.
            if self.is_for_programs and parsed_args.dry_run:
                fields = self.details({"would": None, **refused.document})
                with contextlib.suppress(ValueError):  # It has none of the columns in -c.
                    self.produce_output(parsed_args, *fields)
                self.app.stdout.flush()
            raise

    def details(self, item: Document) -> tuple[Any, Any]:
        """Return the names and the values of a document's fields."""
        return tuple(item), tuple(self.column(name, value) for name, value in item.items())

    def produce_output(self, parsed_args: argparse.Namespace, names: Any, data: Any) -> int:
        # After a dry run there is no object to print.
        return super().produce_output(parsed_args, names, data) if names else 0


class ChangeCommand(Command):
    """A command that changes something, or with --dry-run only says what it would change."""

    #: Whether the command asks for confirmation on a terminal. If so, it has the option --yes.
    asks = False
    #: Whether ``confirm_times`` prints what the command is about to do even if nobody need confirm.
    tells_all = False

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "--dry-run", action="store_true", help="print what would be done, but don't do it"
        )
        if self.asks:
            parser.add_argument("--yes", action="store_true", help="don't ask for confirmation")
        return parser

    def report_dry_run(
        self, action: str, document: Document | None = None, *more: str
    ) -> tuple[Any, Any]:
        """Print what the command would do.

        For programs, nothing is printed here: cliff prints the returned fields. For people, the
        returned data is empty, so that cliff prints nothing more.

        :param document: what the API foresees, in the fields that programs read.
        :param more: further lines for people.
        """
        lines = [f"Dry run: would {action}", *more]
        return self._reported(lines, {"would": action, **(document or {})})

    def report_change(self, line: str, document: Document) -> tuple[Any, Any]:
        """Print a line that says what the command has changed.

        For programs, nothing is printed here: cliff prints the returned fields of the changed
        object.
        """
        return self._reported([line], document)

    def _reported(self, lines: Iterable[str], document: Document) -> tuple[Any, Any]:
        if self.is_for_programs:
            return tuple(document), tuple(self.column(name, document[name]) for name in document)
        print("\n".join(lines), file=self.app.stdout)
        return (), ()

    def asks_on_terminal(self, parsed_args: argparse.Namespace) -> bool:
        """Whether the user can be asked for confirmation: not in a dry run, or with --yes."""
        return not parsed_args.dry_run and not parsed_args.yes and confirmation.on_terminal()

    def confirm_on_terminal(
        self,
        plan: str,
        parsed_args: argparse.Namespace,
        *,
        otherwise: str,
        check: Callable[[], object] = lambda: None,
    ) -> None:
        """On a terminal, print what the command is about to do, and ask whether this is right.

        Nobody is asked in a dry run, or with --yes.

        :param otherwise: the text of the error if the answer isn't yes.
        :param check: is called before the user is asked. It raises the error with which the API
            would refuse what the user is asked about.
        :raises Failure: the answer isn't yes.
        """
        if not self.asks_on_terminal(parsed_args):
            return
        check()
        self.tell(plan)
        confirmation.ask("Is that right?", otherwise)

    def new_times(
        self,
        before: Reservation | Window,
        start: datetime.datetime | None,
        end: datetime.datetime | None,
        length: arguments.Length | None,
    ) -> tuple[datetime.datetime, datetime.datetime]:
        """Return the start and the end after a change of an object's times.

        A new start without an end or a length keeps the length, and the command says so. A length
        with a plus is added to the present length.

        :param start: the new start. None: the user gave none. The same holds for ``end`` and
            ``length``.
        :raises WrongArguments: the end isn't after the start, or can't be calculated.
        """
        present = before.end - before.start
        if start and end is None and length is None:
            self.tell(f"Its length stays: {time_display.length(present)}")
        start = start or before.start.astimezone(self.where)
        if length is None or not length.is_more:
            return arguments.span(start, end, length or present, self.where)
        _, same_length = arguments.span(start, None, present, self.where)
        return start, arguments.span(same_length, None, length, self.where)[1]

    def confirm_times(
        self,
        plan: str,
        typed: Iterable[str | None],
        parsed_args: argparse.Namespace,
        *,
        otherwise: str = "Nothing changed",
        loss: str = "",
        derived: bool = False,
        check: Callable[[], object] = lambda: None,
    ) -> None:
        """Print what the command is about to do, and on a terminal ask the user to confirm it.

        So the user sees how the command has understood the typed times. Times that can't be
        misunderstood (ISO 8601 with an offset) need no confirmation, unless something would be
        lost, or the plan says more than the user has typed. In a dry run this method does nothing,
        because the dry run itself prints the plan.

        :param plan: a description of what the command is about to do, with the times in full.
        :param typed: the times as the user has typed them. An absent time is None.
        :param otherwise: what is true if the user doesn't confirm.
        :param loss: a sentence about what the command would destroy, without its period. "" if it
            destroys nothing.
        :param derived: whether the plan says more than the user has typed: the command has chosen
            the start, or has worked out the times of a change from the object's present times.
            An end that follows from an exact start and a length of a new booking isn't more.
        :param check: the same as for ``confirm_on_terminal``.
        :raises Failure: the user doesn't confirm, or something would be lost and nobody can be
            asked.
        """
        exact = all(text is None or time_input.is_exact(text) for text in typed)
        if parsed_args.dry_run:
            return
        if exact and not loss and not derived:
            if self.tells_all:
                self.tell(plan)
            return
        if self.asks_on_terminal(parsed_args):
            check()
        self.tell(plan)
        if parsed_args.yes:
            if loss:
                self.tell(f"{loss}.")
        elif confirmation.on_terminal():
            confirmation.ask(f"{loss}. Is that right?" if loss else "Is that right?", otherwise)
        elif loss:
            confirmation.refuse(f"{otherwise}. {loss}")


class Deletion(NamedTuple):
    """What a command has deleted.

    ``what`` tells people which object it was. ``gone`` is False if the deletion isn't finished yet.
    """

    what: str
    gone: bool = True


def identified(ref: str, object_id: str) -> str:
    """Return the whole id of an object, after the name by which the user has named the object.

    A name, or the start of an id, may mean another object later. So it isn't enough in a log.
    """
    is_name = not lookup.is_id(ref) and not object_id.startswith(ref.lower())
    return f"{ref} ({object_id})" if is_name else object_id


class DeleteCommand(ChangeCommand):
    """A command that deletes objects. After a failure it goes on with the next object."""

    #: The words with which the help says how to name an object, such as "ID or name".
    refs = "ID"

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        metavar = self.noun.upper().replace(" ", "_")
        help_text = f"{self.refs} of the {self.noun}(s)"
        parser.add_argument("refs", metavar=metavar, nargs="+", help=help_text)
        return parser

    def remove(self, ref: str, parsed_args: argparse.Namespace) -> Deletion:
        """Delete one object."""
        raise NotImplementedError

    def describe(self, ref: str) -> str:
        """Return a description of the object, for a dry run.

        :raises errors.ClientError: the object doesn't exist.
        """
        raise NotImplementedError

    def get_data(self, parsed_args: argparse.Namespace) -> None:
        failed = 0
        for ref in parsed_args.refs:
            try:
                if parsed_args.dry_run:
                    self.report_dry_run(f"delete {self.describe(ref)}")
                    continue
                deletion = self.remove(ref, parsed_args)
            except (errors.ClientError, Failure) as error:
                if len(parsed_args.refs) == 1:
                    raise
                failed += 1
                if isinstance(error, errors.ClientError):
                    self.log.error("%s: %s", ref, self.advice(error, parsed_args))
                else:
                    self.log.error("%s: %s", ref, error)
            else:
                result = "Deleted" if deletion.gone else "Still deleting"
                print(f"{result} {self.noun}: {deletion.what}", file=self.app.stdout)
        if failed:
            raise Failure(f"{failed} of {len(parsed_args.refs)} {self.nouns} not deleted")
