"""How the parser of a command's arguments differs from cliff's."""

import argparse
from typing import Any, NoReturn

_ENDPOINT_TYPES = ("public", "internal", "admin")


class _Ours(argparse.ArgumentParser):
    """An error is its reason and where help is: the usage would bury the reason.

    And what the ``blazar`` CLI has kept for itself is put back.
    """

    kept: tuple[str, ...] = ()

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\nSee {self.prog} --help\n")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        given = args if args is None else [*args, *self.kept]
        return super().parse_known_args(given, namespace)


def adapt(parser: argparse.ArgumentParser, kept: tuple[str, ...]) -> argparse.ArgumentParser:
    """Make a parser, of whatever class, one of ours.

    :param kept: arguments that the CLI has kept from it.
    """
    parser.__class__ = type("Parser", (_Ours, type(parser)), {"kept": kept})
    return parser


def kept_end(app_args: Any) -> tuple[str, ...]:
    """An ``--end`` that the ``blazar`` CLI kept: its own parser completes it to --endpoint-type."""
    taken = getattr(app_args, "endpoint_type", None)
    return () if not taken or is_endpoint_type(taken) else ("--end-date", str(taken))


def is_endpoint_type(text: str) -> bool:
    """Whether it names an interface of an endpoint, in today's words or those with URL."""
    return text.removesuffix("URL") in _ENDPOINT_TYPES
