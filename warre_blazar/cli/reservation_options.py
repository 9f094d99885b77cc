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


#: The options of a new reservation that are sent as they were typed.
LABELS = ("name", "note", "contact", "webhook", "before_end")


def add_labels(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the options in ``LABELS`` for something new.

    :param what: what gets the labels, such as "the reservation".
    """
    _add_labels(
        parser,
        f"name of {what}, which needn't be unique",
        f"note on {what}",
        f"email address that messages about {what} go to (default: your own)",
        "URL of your own that is called at the start, before the end and at the end, if the "
        "operator allows its host",
    )
    _add_before_end(parser)


def add_new_labels(parser: argparse.ArgumentParser) -> None:
    """Add the options in ``LABELS`` for a change."""
    _add_labels(
        parser,
        "new name; an empty text removes the name",
        "new note; an empty text removes the note",
        "new email address that messages about the reservation go to; an empty text removes the "
        "address, so that messages go to the user who has booked",
        "new URL that is called at the start, before the end and at the end; an empty text removes "
        "the URL",
    )
    _add_before_end(parser, FLAVORS)


def _add_labels(
    parser: argparse.ArgumentParser, name: str, note: str, contact: str, webhook: str
) -> None:
    parser.add_argument("--name", metavar="NAME", help=name)
    parser.add_argument("--note", metavar="TEXT", help=note)
    parser.add_argument("--contact", metavar="ADDRESS", help=contact)
    parser.add_argument("--webhook", metavar="URL", help=webhook)


def _add_before_end(parser: argparse.ArgumentParser, *more: str) -> None:
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


#: The options of ``add_handle``.
HANDLE = ("handle", "visible_before_start")


def add_handle(parser: argparse.ArgumentParser) -> None:
    """Add the options in ``HANDLE``."""
    parser.add_argument(
        "--handle",
        metavar="NAME",
        help="keep the same Nova flavor in all reservations of the project with this handle, of "
        "which only one can be at a time; servers name it as reservation:NAME@PROJECT_ID",
    )
    parser.add_argument(
        "--visible-before-start",
        action="store_const",
        const=True,
        help="with --handle: let the project see the Nova flavor already before the start, for "
        "Heat and Terraform; servers that are booted too early get the status ERROR",
    )


def texts(parsed_args: argparse.Namespace) -> dict[str, Any]:
    """Return the texts of a booking or a change, for the client. An empty one is removed."""
    chosen = parsed_args.before_end
    return {
        **{name: getattr(parsed_args, name) for name in LABELS},
        "before_end": "" if chosen == FLAVORS else chosen,
        "movable_hours": parsed_args.movable_hours,
    }


def of_new(parsed_args: argparse.Namespace) -> dict[str, Any]:
    """Return the texts and the handle of a booking, for the client."""
    return {**texts(parsed_args), **{name: getattr(parsed_args, name) for name in HANDLE}}
