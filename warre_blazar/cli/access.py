"""Commands on access: which projects may book a private flavor."""

import argparse
from typing import Any

from warre_blazar.cli import base, flavors, projects
from warre_blazar.cli.failures import Failure
from warre_blazar.client import errors

_COLUMNS = ("id", "flavor", "flavor_id", "project_id")


class _Access(base.Command):
    noun = "access"
    nouns = "accesses"

    def advice(self, error: errors.ClientError, parsed_args: argparse.Namespace) -> str:
        if parsed_args.flavor is None:
            return super().advice(error, parsed_args)
        return flavors.on_flavor(self, error, parsed_args.flavor)


class _OnOne(_Access):
    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("flavor", metavar="FLAVOR", help="ID or name of the private flavor")
        parser.add_argument("project", metavar="PROJECT", help="ID or name of the project")
        return parser


class ListAccess(_Access, base.ListCommand):
    """List which projects may book which private flavors."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("flavor", metavar="FLAVOR", nargs="?", help="only of this (ID or name)")
        parser.add_argument("--project", metavar="PROJECT", help="only of this (ID or name)")
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        only: dict[str, str] = {}
        if parsed_args.flavor is not None:
            only["flavor_id"] = self.v2.flavors.get(parsed_args.flavor).id
        if parsed_args.project is not None:
            only["project_id"] = projects.identity(self, parsed_args.project)
        found = self.v2.access.list(**only)
        names = {f.id: f.name for f in self.v2.flavors.list(all_projects=True)} if found else {}
        rows = [(a.id, names.get(a.flavor), a.flavor, a.project_id) for a in found]
        return _COLUMNS, rows


class GrantAccess(_OnOne, base.ShowCommand):
    """Let a project book a private flavor."""

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        project = projects.identity(self, parsed_args.project)
        return self.details(self.v2.access.grant(parsed_args.flavor, project).document)


class RevokeAccess(_OnOne):
    """Let a project book a private flavor no more; what it has booked stays."""

    def get_data(self, parsed_args: argparse.Namespace) -> None:
        flavor = self.v2.flavors.get(parsed_args.flavor)
        project = projects.identity(self, parsed_args.project)
        found = self.v2.access.list(flavor_id=flavor.id, project_id=project)
        if not found:
            raise Failure(
                f"Project {parsed_args.project} has no access to {flavor.name}; "
                "see flavor-access-list"
            )
        for access in found:
            self.v2.access.revoke(access.id)
        print(f"Revoked: {parsed_args.project} on {flavor.name}", file=self.app.stdout)
