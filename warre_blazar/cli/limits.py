"""The command that shows how much a project may book, and how much of it is left."""

import argparse
from typing import Any

from warre_blazar.cli import arguments, base, columns, project_names
from warre_blazar.client import Limits

#: The columns of the rows that ``rows`` returns. ``source`` is ``project`` if the limit is the
#: project's own, or ``default``, or None if the API doesn't say it.
COLUMNS = ("resource", "used", "limit", "left", "source")


def limit(most: int) -> columns.ShownColumn:
    """Return a limit, of which a table shows -1 as unlimited."""
    return columns.ShownColumn(most, "unlimited" if most < 0 else str(most))


class ShowLimits(base.ListCommand):
    """Show how much a project may book, and how much of it is left."""

    noun = nouns = "limits"
    zoned = False

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        arguments.add_projects(parser, "show the limits")
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        if parsed_args.all_projects:
            all_limits = self.v2.limits.list()
            names = project_names.names(self, (limits.project_id for limits in all_limits))
            listed = [
                (names.get(limits.project_id or ""), limits.project_id, *row)
                for limits in all_limits
                for row in rows(limits)
            ]
            return ("project", "project_id", *COLUMNS), listed
        project = project_names.identity(self, parsed_args)
        found = rows(self.v2.limits.get(project))
        if project is None:  # Where limits come from concerns those who set them.
            return COLUMNS[:-1], [row[:-1] for row in found]
        return COLUMNS, found


def rows(limits: Limits) -> list[tuple[Any, ...]]:
    """Return a row for each of a project's limits, with the columns in ``COLUMNS``."""
    return [
        _row(limits, "reservations", limits.total_reservations_used, limits.max_reservations),
        _row(limits, "hours", limits.total_hours_used, limits.max_hours),
    ]


def _row(limits: Limits, resource: str, used: int, most: int) -> tuple[Any, ...]:
    left = most if most < 0 else max(0, most - used)
    source = None
    if limits.own is not None:
        source = "project" if resource in limits.own else "default"
    return resource, used, limit(most), limit(left), source
