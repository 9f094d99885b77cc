"""The command that lists reservations, and its filters."""

import argparse
from collections.abc import Sequence
from typing import Any

from warre_blazar.cli import (
    listing,
    project_names,
    user_names,
)
from warre_blazar.cli.reservation_fields import BESIDE, flat
from warre_blazar.client import Reservation, errors, lookup
from warre_blazar.fields.declaration import Use, columns, fields
from warre_blazar.fields.reservations import DELETED, STATES

_RARE = [field.name for field in fields(Reservation) if Use.RARE in field.use]
_SORTS = ("start", "end", "created_at", "project_id", "user_id")


def _statuses(text: str) -> list[str]:
    statuses = text.upper().split(",")
    for state in statuses:
        if state == DELETED:
            raise argparse.ArgumentTypeError("deleted reservations are listed with --deleted")
        if state not in STATES:
            raise argparse.ArgumentTypeError(f"{state!r} isn't one of {', '.join(STATES)}")
    return statuses


def _sort(text: str) -> str:
    key, _, direction = text.partition(":")
    if key not in _SORTS or (":" in text and direction not in ("asc", "desc")):
        raise argparse.ArgumentTypeError(
            f"{text!r} isn't one of {', '.join(_SORTS)}, which may be followed by :asc or :desc"
        )
    return text


class ListReservations(listing.ListObjects):
    """List reservations of your project, unless --project or --all-projects is given."""

    noun = "reservation"
    nouns = "reservations"
    collection = "reservations"
    long = columns(Reservation, long=True)

    filters = (
        listing.projects("list reservations"),
        listing.flavor("only reservations of this flavor"),
        listing.option(
            "--status",
            f"only reservations in this status ({', '.join(STATES)}; repeatable, or several "
            "separated by commas)",
            metavar="STATUS",
            type=_statuses,
            action="extend",
            default=[],
        ),
        listing.user(
            "only reservations that this user booked; those of another user are searched in all "
            "projects if you may list them"
        ),
        listing.period(
            "only reservations that end after this time",
            "only reservations that start before this time",
        ),
        listing.option(
            "--host",
            "only reservations with instances on this host (ID or name; admin only), of all "
            "projects unless --project is given",
            metavar="HOST",
        ),
        listing.option(
            "--sort",
            f"sort by {', '.join(_SORTS)}; :desc reverses the order (default: start)",
            metavar="KEY[:desc]",
            type=_sort,
        ),
        listing.limit("list only the first N"),
        listing.option("--name", "only reservations with exactly this name", metavar="NAME"),
        listing.option(
            "--deleted",
            "show only deleted reservations, with the time and the user of the deletion; the "
            "operator decides how long deleted reservations are kept",
            action="store_true",
        ),
        listing.option(
            "--idle",
            "show only running reservations that had no server when Nova was last asked, and "
            "since when",
            action="store_true",
        ),
    )

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        reservations = self._listed(parsed_args)
        columns = _columns(parsed_args, reservations)
        names = self._names(columns, reservations)
        return self.table(columns, (flat(reservation, names) for reservation in reservations))

    def _listed(self, parsed_args: argparse.Namespace) -> list[Reservation]:
        """Return the reservations. Some filters search in all projects, if the caller may do so.

        Another user's reservations are seldom in the caller's own project, and only operators ask
        what is on a host.
        """
        filters = self.query(parsed_args)
        if not parsed_args.project and self._is_of_all_projects(filters):
            try:
                everywhere = self.v2.reservations.list(**{**filters, "all_projects": True})
            except errors.ApiError as error:
                if error.code != "forbidden":
                    raise
            else:
                parsed_args.all_projects = True
                return everywhere
        found = self.v2.reservations.list(**filters)
        if parsed_args.name and not found and not self.is_for_programs:
            self.nothing = self._no_such_name(parsed_args.name, filters)
        return found

    def _no_such_name(self, name: str, filters: dict[str, Any]) -> str:
        """Return a text that proposes names which contain another one."""
        others = self.v2.reservations.list(**{**filters, "name": None})
        similar = lookup.similar(name, sorted({each.name for each in others if each.name}))
        hint = f"; similar names: {', '.join(map(repr, similar))}" if similar else ""
        return f"No reservation has exactly this name{hint}"

    def _is_of_all_projects(self, filters: dict[str, Any]) -> bool:
        """Whether the filters search for reservations that may be of any project."""
        user_id = filters["user_id"]
        return bool(filters["host"] or (user_id and not user_names.is_own(self, user_id)))

    def _names(self, columns: Sequence[str], reservations: Sequence[Reservation]) -> dict[str, str]:
        """Look up the names of projects and users that the columns show."""
        names = {}
        if "project" in columns:
            names = project_names.names(self, (each.project_id for each in reservations))
        if of_users := [name for name in ("user_id", "deleted_by") if BESIDE[name] in columns]:
            ids = (each.document.get(name) for each in reservations for name in of_users)
            names |= user_names.names(self, ids)
        return names


def _columns(parsed_args: argparse.Namespace, reservations: Sequence[Reservation]) -> list[str]:
    """Return the columns to show. They depend on the options and on the listed reservations."""
    last: list[str] = []
    if parsed_args.deleted:
        last = ["status_at_deletion", "deleted_at", BESIDE["deleted_by"], "deleted_by"]
    last += ["idle_since"] if parsed_args.idle else []
    shown = columns(Reservation, long=parsed_args.long)
    if parsed_args.long:
        pairs = ((BESIDE[name], name) if name in BESIDE else (name,) for name in shown)
        return [column for pair in pairs for column in pair] + last
    # The columns in _RARE are empty in most lists. Show those that have a value in this list.
    shown += [rare for rare in _RARE if any(getattr(r, rare) for r in reservations)]
    if parsed_args.all_projects:
        shown += ["project", "project_id"]
    return shown + last
