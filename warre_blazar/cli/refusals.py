"""The command that lists refused requests."""

import argparse
from typing import Any

from warre_blazar.cli import arguments, base, owners, project_names, user_names
from warre_blazar.cli.flavor_filter import FlavorFilter

_COLUMNS = ("at", "code", "flavor", "instance_count", "start", "end", "reservation_id")


class ListRefusals(FlavorFilter, base.ListCommand):
    """List requests to book or to change a reservation that a rule has refused.

    The latest is listed first. The operator decides how long requests are kept, and how many of
    each day.
    """

    noun = "refused request"
    nouns = "refused requests"
    filtered = "requests"

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        arguments.add_projects(parser, "list refused requests")
        arguments.add_user(parser, "only requests of this user")
        self.add_flavor(parser)
        parser.add_argument(
            "--code",
            metavar="CODE",
            help="only requests that were refused with this code, such as slots_exhausted",
        )
        arguments.add_from_to(
            parser,
            "only requests that were refused from this time on",
            "only requests that were refused before this time",
        )
        parser.add_argument(
            "--limit", metavar="N", type=arguments.count, help="list only the latest N"
        )
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        since, until = self.window(parsed_args)
        found = self.v2.refusals.list(
            since=since,
            until=until,
            all_projects=parsed_args.all_projects,
            limit=parsed_args.limit,
            project_id=project_names.identity(self, parsed_args),
            user_id=user_names.identity(self, parsed_args),
            flavor_id=self.flavor_id(parsed_args),
            code=parsed_args.code,
        )
        rows = owners.named(self, (each.document for each in found))
        return self.table((*_COLUMNS, *owners.COLUMNS), rows)
