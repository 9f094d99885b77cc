"""Adapts the argument parsers that cliff makes for commands."""

import argparse
import difflib
import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

_ENDPOINT_TYPES = ("public", "internal", "admin")


class _StoreOnce(argparse._StoreAction):
    """Stores a value. A second value is refused, because argparse would silently drop the first."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        assert isinstance(parser, _AdaptedParser)
        if option_string and self in parser.stored:
            raise argparse.ArgumentError(self, "it is given twice; give one value at a time")
        parser.stored.add(self)
        super().__call__(parser, namespace, values, option_string)


class _AdaptedParser(argparse.ArgumentParser):
    """A parser that prints short error messages, and also parses the arguments in ``kept``.

    A message contains only the reason and how to get help. argparse would also print the usage,
    which would hide the reason. The arguments in ``kept`` belong to the command, but the ``blazar``
    CLI has taken them for options of its own.
    """

    kept: tuple[str, ...] = ()
    #: Options of related commands that this command can't have, because the values never change.
    fixed: tuple[str, ...] = ()
    #: Options that another command has, each with that command and what it does.
    elsewhere: Mapping[str, str] = {}
    #: The options that have got their values.
    stored: set[argparse.Action]
    #: The arguments of the command line that is being parsed.
    _given: Sequence[str] = ()

    def error(self, message: str) -> NoReturn:
        # argparse looks for missing options first, also if one is only spelled in another way.
        unknown = _unknown_options(self, self._given) if "required" in message else []
        if unknown:
            message = unrecognized(self, unknown)
        elif "required" in message and (period := _period(self._given)):
            message += f"; write a period as {period}"
        self.exit(2, f"{self.prog}: {message}\nSee {help_command(self.prog)}\n")

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        parsed, unknown = self.parse_known_args(args, namespace)
        if unknown:
            self.error(unrecognized(self, unknown))
        return parsed

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        all_args = args if args is None else [*args, *self.kept]
        self._given = all_args or ()
        self.stored = set()
        return super().parse_known_args(all_args, namespace)


def adapt(parser: argparse.ArgumentParser, kept: tuple[str, ...]) -> argparse.ArgumentParser:
    """Change a parser so that it behaves like an ``_AdaptedParser``, and return it.

    :param kept: arguments of the command that the CLI has taken for options of its own.
    """
    parser.__class__ = type("Parser", (_AdaptedParser, type(parser)), {"kept": kept})
    for name in (None, "store"):
        parser.register("action", name, _StoreOnce)
    return parser


def with_fixed(parser: argparse.ArgumentParser, options: Sequence[str]) -> argparse.ArgumentParser:
    """Let a parser explain why it doesn't have these options: their values never change."""
    parser.__class__ = type("Parser", (type(parser),), {"fixed": tuple(options)})
    return parser


def with_elsewhere(
    parser: argparse.ArgumentParser, options: Sequence[str], where: str
) -> argparse.ArgumentParser:
    """Let a parser name the command that has these options.

    :param where: the command, and what it does.
    """
    elsewhere = dict.fromkeys(options, where)
    parser.__class__ = type("Parser", (type(parser),), {"elsewhere": elsewhere})
    return parser


def kept_end(app_args: Any) -> tuple[str, ...]:
    """Return the command's option ``--end`` and its value if the ``blazar`` CLI has taken them.

    The CLI's own parser takes ``--end`` for an abbreviation of its option ``--endpoint-type``.
    """
    taken = getattr(app_args, "endpoint_type", None)
    return () if not taken or is_endpoint_type(taken) else ("--end-date", str(taken))


def is_endpoint_type(text: str) -> bool:
    """Whether the text is an endpoint type, such as public or, in the old form, publicURL."""
    return text.removesuffix("URL") in _ENDPOINT_TYPES


#: Words that people use in place of the names of options.
_SYNONYMS = {
    "--instances": "--count",
    "--instance-count": "--count",
    "--amount": "--count",
    "--from": "--start",
    "--shift": "--start",
    "--until": "--end",
    "--to": "--end",
    "--duration": "--hours",
    "--minutes": "--length",
    "--slot-count": "--slots",
    "--ram": "--memory",
    "--no-start-date": "--no-start",
    "--no-end-date": "--no-end",
}


#: How similar a spelling must be for a guess. 1: the same.
_CLOSE = 0.75

#: The options of cliff that choose what is printed of a document. Commands that only delete
#: something don't have them.
_FORMAT_OPTIONS = frozenset({"-f", "--format", "-c", "--column"})


def _unknown_options(parser: argparse.ArgumentParser, words: Sequence[str]) -> list[str]:
    """The words that look like options and aren't the name, or the start of a name, of any.

    An argument's name with hyphens is such a word too, although --project, for example, is the
    start of --project-domain.
    """
    names = [word.partition("=")[0] for word in words if word.startswith("--") and word != "--"]
    known = parser._option_string_actions
    return [
        name
        for name in names
        if name not in known
        and (_is_argument(parser, name) or not any(each.startswith(name) for each in known))
    ]


#: A day with two times, such as tomorrow 9-17.
_PERIOD = re.compile(r"(\S.*) (\d\d?)(:\d\d)? ?(?:-|to|until) ?(\d\d?)(:\d\d)?")


def _period(words: Sequence[str]) -> str | None:
    """The options for a start and an end that a user has typed as one value."""
    for found in filter(None, map(_PERIOD.fullmatch, words)):
        day, *clocks = found.groups(":00")
        return "--start '{} {}{}' --end {}{}".format(day, *clocks)
    return None


def _is_argument(parser: argparse.ArgumentParser, option: str) -> bool:
    """Whether an option has the name of an argument that is no option."""
    actions = parser._get_positional_actions()
    return any(f"--{action.metavar}" == option.upper() for action in actions)


def unrecognized(parser: argparse.ArgumentParser, words: Sequence[str]) -> str:
    """Return a message about arguments that a command doesn't know, with what may be meant."""
    message = f"Unrecognized arguments: {' '.join(words)}"
    if _FORMAT_OPTIONS.intersection(word.partition("=")[0] for word in words):
        return f"{message}; this command prints no document, and its exit status says what happened"
    options = [word.partition("=")[0] for word in words if word.startswith("--")]
    if not options:
        return f"{message}; {_about_values(parser)}"
    for option in options:
        if option in getattr(parser, "fixed", ()):
            return f"{message}; {option[2:]} can't be changed, so make another one with new values"
        if _is_argument(parser, option):
            return f"{message}; write the {option[2:].upper()} without {option}"
        if where := getattr(parser, "elsewhere", {}).get(option):
            return f"{message}; {where}"
    meant = [name for option in options if (name := _meant(parser, option))]
    are = "are" if len(meant) > 1 else "is"
    return f"{message}; {are} {' and '.join(meant)} meant?" if meant else message


def _about_values(parser: argparse.ArgumentParser) -> str:
    """What to do about words that belong to no option."""
    quoted = "put a value of several words in quotes"
    if "--start" in parser._option_string_actions:
        return f"{quoted}, as in --start 'mon 9:00'"
    arguments = [action.metavar for action in parser._get_positional_actions()]
    return f"give one {arguments[-1]} at a time, and {quoted}" if arguments else quoted


def _meant(parser: argparse.ArgumentParser, option: str) -> str | None:
    """The option of a command that is meant by another word."""
    known = [name for name in parser._option_string_actions if name.startswith("--")]
    # All options begin with two hyphens, so these don't make two options similar.
    bare = difflib.get_close_matches(option[2:], [name[2:] for name in known], 1, _CLOSE)
    nearest = [f"--{name}" for name in bare]
    same = [_SYNONYMS[option]] if _SYNONYMS.get(option) in known else []
    return next(iter([*same, *nearest]), None)


def help_command(program: str) -> str:
    """Return the command that prints a command's help."""
    cli, _, command = program.partition(" ")
    # The blazar CLI prints its own help if it finds --help among the arguments.
    return f"blazar help {command}" if cli == "blazar" else f"{program} --help"
