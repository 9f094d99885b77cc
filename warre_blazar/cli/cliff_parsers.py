"""Adapts the argument parsers that cliff makes for commands."""

import argparse
import difflib
import itertools
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from warre_blazar.cli import other_words

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
    #: What people type in place of options, with what to do instead (``other_words``).
    others: Mapping[str, str] = {}
    #: The values of places in ``others``.
    names: Mapping[str, str] = {}
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
        elif choice := _CHOICE.search(message):
            message += f"; {self.others[choice[1]]}" if choice[1] in self.others else ""
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
        # argparse would take some words for abbreviations of other options: --for for --format.
        known = self._option_string_actions
        if any(
            _instead(self, word, self._given) and any(each.startswith(word) for each in known)
            for word in _options(self._given)
        ):
            self.error(unrecognized(self, _unknown_options(self, self._given)))
        return super().parse_known_args(all_args, namespace)


class StrictParser(_AdaptedParser):
    """The parser of a command of ``warre-blazar-manage``, whose parsers cliff doesn't make."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.others = other_words.of(self.prog.partition(" ")[2])

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        parsed, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(unrecognized(self, unknown))
        return parsed, unknown


def adapt(
    parser: argparse.ArgumentParser,
    kept: tuple[str, ...],
    others: Mapping[str, str],
    names: Mapping[str, str],
) -> argparse.ArgumentParser:
    """Change a parser so that it behaves like an ``_AdaptedParser``, and return it.

    :param kept: arguments of the command that the CLI has taken for options of its own.
    :param others: what people type in place of options, with what to do instead.
    :param names: the values of places in ``others``.
    """
    settings = {"kept": kept, "others": others, "names": names}
    parser.__class__ = type("Parser", (_AdaptedParser, type(parser)), settings)
    for name in (None, "store"):
        parser.register("action", name, _StoreOnce)
    return parser


def with_fixed(parser: argparse.ArgumentParser, options: Sequence[str]) -> argparse.ArgumentParser:
    """Let a parser explain why it doesn't have these options: their values never change."""
    parser.__class__ = type("Parser", (type(parser),), {"fixed": tuple(options)})
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


#: How similar a spelling must be for a guess. 1: the same.
_CLOSE = 0.75

#: The options of cliff that choose what is printed of a document. Commands that only delete
#: something don't have them.
_FORMAT_OPTIONS = frozenset({"-f", "--format", "-c", "--column"})


#: The word in argparse's message about an argument that has a fixed set of values.
_CHOICE = re.compile(r"argument action: invalid choice: '([\w-]+)'")


def _options(words: Sequence[str]) -> list[str]:
    """The words that look like options, without their values. What follows -- is left out."""
    before = itertools.takewhile(lambda word: word != "--", words)
    return [word.partition("=")[0] for word in before if word.startswith("--")]


def _unknown_options(parser: argparse.ArgumentParser, words: Sequence[str]) -> list[str]:
    """The words that look like options and aren't the name, or the start of a name, of any.

    An argument's name with hyphens is such a word too, although --project, for example, is the
    start of --project-domain. So is a word that people use in place of an option.
    """
    known = parser._option_string_actions
    return [
        name
        for name in _options(words)
        if name not in known
        and (
            _is_argument(parser, name)
            or _instead(parser, name, words)
            or not any(each.startswith(name) for each in known)
        )
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
    formats = _FORMAT_OPTIONS.difference(getattr(parser, "others", {}))
    if formats.intersection(word.partition("=")[0] for word in words):
        return f"{message}; this command prints no document, and its exit status says what happened"
    options = _options(words)
    if not options:
        return f"{message}; {_about_values(parser)}"
    given = getattr(parser, "_given", ()) or words
    phrases, meant = [], []
    for option in options:
        if phrase := _phrase(parser, option, given):
            phrases.append(phrase)
        elif name := _meant(parser, option, given):
            meant.append(name)
    if meant:
        meant = list(dict.fromkeys(meant))
        phrases.append(f"{'are' if len(meant) > 1 else 'is'} {' and '.join(meant)} meant?")
    return "; ".join(dict.fromkeys([message, *phrases]))


def _phrase(parser: argparse.ArgumentParser, option: str, given: Sequence[str]) -> str | None:
    """What to do instead of giving an option, if no other option is meant."""
    if option in getattr(parser, "fixed", ()):
        return f"{option[2:]} can't be changed, so make another one with new values"
    if _is_argument(parser, option):
        return f"write the {option[2:].upper()} without {option}"
    instead = _instead(parser, option, given)
    return None if not instead or instead.startswith("--") else instead


def _instead(parser: argparse.ArgumentParser, option: str, given: Sequence[str]) -> str | None:
    """What to do instead of giving an option, from the table of other words.

    None: the command has this option, or hasn't the one that people mean by it.
    """
    known = parser._option_string_actions
    text = getattr(parser, "others", {}).get(option)
    if text is None or option in known:
        return None
    if text.startswith("--") and text.split()[0] not in known:
        return None
    names: Mapping[str, str] = getattr(parser, "names", {})
    return text.format_map(_Places(names, _value(option, given)))


class _Places(dict[str, str]):
    """The places of a text: what was typed, and names of commands."""

    def __init__(self, names: Mapping[str, str], value: str) -> None:
        super().__init__(value=value)
        self._names = names

    def __missing__(self, name: str) -> str:
        return self._names[name]


def _value(option: str, given: Sequence[str]) -> str:
    """What was typed as an option's value, as a shell reads it. Without one: three dots."""
    for word, following in itertools.pairwise([*given, "--"]):
        name, equals, value = word.partition("=")
        if name == option and (equals or not following.startswith("--")):
            return shlex.quote(value if equals else following)
    return "..."


def _about_values(parser: argparse.ArgumentParser) -> str:
    """What to do about words that belong to no option."""
    arguments = [str(action.metavar) for action in parser._get_positional_actions()]
    one = (
        f"give one {arguments[-1]} at a time, and" if arguments else "this command takes no names;"
    )
    quoted = f"{one} put a value of several words in quotes"
    has_start = "--start" in parser._option_string_actions
    return f"{quoted}, as in --start 'mon 9:00'" if has_start else quoted


def _meant(parser: argparse.ArgumentParser, option: str, given: Sequence[str]) -> str | None:
    """The option of a command that is meant by another word."""
    if instead := _instead(parser, option, given):
        return instead
    known = [name for name in parser._option_string_actions if name.startswith("--")]
    # All options begin with two hyphens, so these don't make two options similar.
    bare = difflib.get_close_matches(option[2:], [name[2:] for name in known], 1, _CLOSE)
    return f"--{bare[0]}" if bare else None


def help_command(program: str) -> str:
    """Return the command that prints a command's help."""
    cli, _, command = program.partition(" ")
    # The blazar CLI prints its own help if it finds --help among the arguments.
    return f"blazar help {command}" if cli == "blazar" else f"{program} --help"
