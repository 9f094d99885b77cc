"""Lets an operator confirm what can't be taken back."""

import sys


def refusal(what: str) -> str:
    """Ask whether to go on.

    :param what: what would happen, as a sentence without its full stop.
    :returns: why not to go on. Empty: the operator wants to.
    """
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return f"{what}. Without a terminal, it needs --yes"
    print(f"{what}. Go on? [y/N] ", end="", file=sys.stderr, flush=True)
    agrees = sys.stdin.readline().strip().lower() in ("y", "yes")
    return "" if agrees else "Nothing was changed"
