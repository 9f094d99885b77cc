"""The command that shows usage: what became of the hours that were booked."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from warre_blazar.cli import listing, project_names, time_display, time_zones, user_names
from warre_blazar.client import Usage
from warre_blazar.client.types import Document
from warre_blazar.fields.usage import KEYS, QUANTITIES

#: The columns that tell the rows apart, by what usage is added up by.
_KEY_COLUMNS = {
    "project": ("project", "project_id"),
    "user": ("user", "user_id"),
    "flavor": ("flavor", "flavor_id"),
    "day": ("day",),
    "week": ("week",),
    "month": ("month",),
    None: (),
}
#: In the column of resource classes: the hours of whole instances.
_INSTANCES = "instances"
#: The output formats that have objects.
_STRUCTURED = ("json", "yaml")


class ShowUsage(listing.ListObjects):
    """Show how many hours of instances were booked, and what became of them.

    booked: as asked for. held: while the reservation was active. used: while the instances had
    servers. given_back: ended early. cancelled: deleted before the start. lost: not usable because
    of a failure.
    """

    noun = nouns = "usage"
    nothing = "Nothing was booked in this time"
    filters = (
        listing.projects("show the usage"),
        listing.user("only what this user has booked"),
        listing.flavor("only reservations of this flavor"),
        listing.period(
            "the start of the time to add up (default: the start of the month of --to)",
            "the end of the time to add up (default: now)",
        ),
    )
    _format = "table"

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "--by",
            choices=KEYS,
            help="show a row for each project, user, flavor, day, week (from Monday) or month "
            "(default: one row)",
        )
        parser.add_argument(
            "--resources",
            action="store_true",
            help="also show the hours of each resource class, such as VCPU and MEMORY_MB",
        )
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        self._format = parsed_args.formatter
        query = self.query(parsed_args)
        zone = time_zones.iana_name(self.where)
        report = self.v2.usage.get(by=parsed_args.by, timezone=zone, **query)
        if zone is None and not time_zones.is_utc(time_zones.label(self.where)):
            self.tell("Days, weeks and months are in UTC: the API knows time zones by names only")
        if query["since"] is None or query["until"] is None:
            self.tell(time_display.period(report.start, report.end, self.where))
        names = self._names(parsed_args.by, report.rows)
        shown = [*_KEY_COLUMNS[parsed_args.by], *(["resource"] if parsed_args.resources else [])]
        shown += ["reservations", *QUANTITIES, "refusals"]
        rows = (row for u in report.rows for row in _rows(u, names, parsed_args.resources))
        return self.table(shown, rows)

    def column(self, name: str, value: Any) -> Any:
        if name in QUANTITIES:
            # cliff puts numbers in quotes in CSV if a table shows them in another form.
            return f"{value:.2f}" if self._format == "table" else value
        if name == "refusals" and self._format == "table":
            return sum(value.values())
        if name == "refusals" and self._format not in _STRUCTURED:
            return ", ".join(f"{code} {number}" for code, number in value.items())
        return super().column(name, value)

    def _names(self, by: str | None, rows: Sequence[Usage]) -> Mapping[str, str]:
        """Look up the names of the projects or users that the rows are about, by id."""
        if by == "project":
            return project_names.names(self, (row.project_id for row in rows))
        return user_names.names(self, (row.user_id for row in rows)) if by == "user" else {}


def _rows(usage: Usage, names: Mapping[str, str], with_resources: bool) -> Iterator[Document]:
    """Return the rows of a table for one row of a report."""
    known = {
        **usage.document,
        "project": names.get(usage.project_id or ""),
        "user": names.get(usage.user_id or ""),
        "resource": _INSTANCES,
        "week": usage.document["day"],
        "month": (usage.document["day"] or "").rpartition("-")[0],
    }
    yield known | usage.hours
    if with_resources:
        for resource, hours in usage.resource_hours.items():
            yield known | {"resource": resource} | hours
