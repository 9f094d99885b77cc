"""Adapts the argument parsers that cliff makes for commands."""

import argparse
from typing import Any, NoReturn

_ENDPOINT_TYPES = ("public", "internal", "admin")


class _AdaptedParser(argparse.ArgumentParser):
    """A parser that prints short error messages, and also parses the arguments in ``kept``.

    A message contains only the reason and how to get help. argparse would also print the usage,
    which would hide the reason. The arguments in ``kept`` belong to the command, but the ``blazar``
    CLI has taken them for options of its own.
    """

    kept: tuple[str, ...] = ()

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\nSee {self.prog} --help\n")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        all_args = args if args is None else [*args, *self.kept]
        return super().parse_known_args(all_args, namespace)


def adapt(parser: argparse.ArgumentParser, kept: tuple[str, ...]) -> argparse.ArgumentParser:
    """Change a parser so that it behaves like an ``_AdaptedParser``, and return it.

    :param kept: arguments of the command that the CLI has taken for options of its own.
    """
    parser.__class__ = type("Parser", (_AdaptedParser, type(parser)), {"kept": kept})
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
