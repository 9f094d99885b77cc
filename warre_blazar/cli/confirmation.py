"""Questions to a user at a terminal."""

import sys
from typing import NoReturn

from warre_blazar.cli.failure import Failure


def on_terminal() -> bool:
    """Whether input and messages are connected to a terminal, so that a user can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask(question: str, otherwise: str) -> None:
    """Ask a question, and return only if the answer is yes.

    :param otherwise: the text of the error if the answer isn't yes.
    :raises Failure: the answer isn't yes.
    """
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Failure(f"{otherwise}. Use --yes to skip the question")


def refuse(loss: str) -> NoReturn:
    """Refuse to destroy something, because without a terminal nobody can be asked.

    :param loss: a sentence that says what would be destroyed, without its period.
    :raises Failure: always.
    """
    raise Failure(f"{loss}. Nobody can be asked without a terminal, so this needs --yes")
