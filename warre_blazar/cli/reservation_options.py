"""The options that the commands on reservations share."""

import argparse
from typing import Any

from warre_blazar.fields.flavors import BEFORE_END

#: The help text of an argument that names a reservation.
REF = (
    "ID of the reservation, the start of the ID, its name, or its flavor's name; a name must "
    "belong to only one reservation of your project that isn't COMPLETE"
)
#: The word with which a user leaves to the flavor what is done before the end.
FLAVORS = "flavor"


def add_labels(parser: argparse.ArgumentParser, *, name: str, note: str, contact: str) -> None:
    """Add the options ``--name``, ``--note`` and ``--contact`` with these help texts."""
    parser.add_argument("--name", metavar="NAME", help=name)
    parser.add_argument("--note", metavar="TEXT", help=note)
    parser.add_argument("--contact", metavar="ADDRESS", help=contact)


def add_before_end(parser: argparse.ArgumentParser, *more: str) -> None:
    """Add the option ``--before-end``.

    :param more: further words than those of the API.
    """
    parser.add_argument(
        "--before-end",
        choices=[*BEFORE_END.words, *more],
        help="what is done with the servers before they are deleted at the end, if the flavor lets "
        "you choose; snapshot makes an image of each"
        + (f"; {FLAVORS} leaves it to the flavor" if more else ""),
    )


def add_movable(parser: argparse.ArgumentParser) -> None:
    """Add the option ``--movable-hours``."""
    parser.add_argument(
        "--movable-hours",
        metavar="HOURS",
        type=int,
        help="by how many hours maintenance may move the start to a later time, before it has "
        "begun; 0 (as at first): not at all",
    )


def texts(parsed_args: argparse.Namespace) -> dict[str, Any]:
    """Return the texts of a booking or a change, for the client. An empty one is removed."""
    chosen = parsed_args.before_end
    return {
        **{name: getattr(parsed_args, name) for name in ("name", "note", "contact")},
        "before_end": "" if chosen == FLAVORS else chosen,
        "movable_hours": parsed_args.movable_hours,
    }
