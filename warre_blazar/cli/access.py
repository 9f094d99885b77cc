"""Commands on access: which projects may book a private flavor."""

import argparse
from typing import Any

from warre_blazar.cli import base, flavors, projects
from warre_blazar.cli.failures import Failure
from warre_blazar.client import Access, errors

_COLUMNS = ("id", "flavor", "flavor_id", "project", "project_id")


class _Access(base.Command):
    noun = "access"
    nouns = "accesses"
    zoned = False

    def advice(self, error: errors.ClientError, parsed_args: argparse.Namespace) -> str:
        if parsed_args.flavor is None:
            return super().advice(error, parsed_args)
        return flavors.on_flavor(self, error, parsed_args.flavor)


class _OnOne(_Access, base.ChangeCommand):
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
        flavor_names = {f.id: f.name for f in self.v2.flavors.list(all_projects=True)}
        project_names = projects.names(self, (a.project_id for a in found))
        return _COLUMNS, [_row(a, flavor_names, project_names) for a in found]


def _row(
    access: Access, flavor_names: dict[str, str], project_names: dict[str, str]
) -> tuple[Any, ...]:
    return (
        access.id,
        flavor_names.get(access.flavor),
        access.flavor,
        project_names.get(access.project_id),
        access.project_id,
    )


class GrantAccess(_OnOne, base.ShowCommand):
    """Let a project book a private flavor."""

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        flavor = self.v2.flavors.get(parsed_args.flavor)
        project = projects.identity(self, parsed_args.project)
        if parsed_args.dry_run:
            if self.v2.access.list(flavor_id=flavor.id, project_id=project):
                raise Failure(f"Project {parsed_args.project} may book {flavor.name} already")
            return self.would(f"let project {parsed_args.project} ({project}) book {flavor.name}")
        made = self.v2.access.grant(flavor.id, project)
        row = _row(made, {flavor.id: flavor.name}, projects.names(self, [project]))
        return _COLUMNS, row


class RevokeAccess(_OnOne):
    """Let a project book a private flavor no more; what it has booked stays."""

    def get_data(self, parsed_args: argparse.Namespace) -> None:
        flavor = self.v2.flavors.get(parsed_args.flavor)
        project = projects.identity(self, parsed_args.project)
        found = self.v2.access.list(flavor_id=flavor.id, project_id=project)
        if not found:
            raise Failure(
                f"Project {parsed_args.project} has no access to {flavor.name}; "
                f"see {self.name('flavor-access-list')}"
            )
        if parsed_args.dry_run:
            self.would(f"keep project {parsed_args.project} ({project}) from {flavor.name}")
            return
        for access in found:
            self.v2.access.revoke(access.id)
        print(f"Revoked: {parsed_args.project} on {flavor.name}", file=self.app.stdout)
