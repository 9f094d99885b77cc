"""The command on limits: how much a project may book, and what is left."""

import argparse
from typing import Any

from cliff import columns

from warre_blazar.cli import base, projects
from warre_blazar.client import Limits

_COLUMNS = ("resource", "used", "limit", "left")


class Limit(columns.FormattableColumn):
    """A number; -1 is unlimited."""

    def human_readable(self) -> str:
        return "unlimited" if self._value < 0 else str(self._value)


class ShowLimits(base.ListCommand):
    """Show how much a project may book, and what is left of it."""

    noun = nouns = "limits"
    zoned = False

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        whose = parser.add_mutually_exclusive_group()
        whose.add_argument(
            "--project", metavar="PROJECT", help="of this project (ID or name; admin only)"
        )
        whose.add_argument("--all-projects", action="store_true", help="of all (admin only)")
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        if parsed_args.all_projects:
            found = self.v2.limits.list()
            names = projects.names(self, (limits.project_id for limits in found))
            rows = [
                (names.get(limits.project_id or ""), limits.project_id, *row)
                for limits in found
                for row in _rows(limits)
            ]
            return ("project", "project_id", *_COLUMNS), rows
        project = None
        if parsed_args.project is not None:
            project = projects.identity(self, parsed_args.project)
        return _COLUMNS, _rows(self.v2.limits.get(project))


def _rows(limits: Limits) -> list[tuple[Any, ...]]:
    return [
        _row("reservations", limits.total_reservations_used, limits.max_reservations),
        _row("hours", limits.total_hours_used, limits.max_hours),
    ]


def _row(resource: str, used: int, most: int) -> tuple[Any, ...]:
    left = most if most < 0 else max(0, most - used)
    return resource, used, Limit(most), Limit(left)
