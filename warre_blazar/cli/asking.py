"""Questions to whoever sits at a terminal."""

import sys

from warre_blazar.cli.failures import Failure


def on_terminal() -> bool:
    """Whether there is somebody to ask."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask(question: str, otherwise: str) -> None:
    """Ask a question that has to be answered with yes.

    :param otherwise: what hasn't been done when it isn't.
    :raises Failure: it isn't.
    """
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Failure(f"{otherwise}. With --yes nothing is asked")
