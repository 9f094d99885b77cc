"""Commands that list, grant and revoke projects' access to private flavors."""

import argparse
from typing import Any

from warre_blazar.cli import base, keystone_names, project_names
from warre_blazar.cli.failure import Failure
from warre_blazar.client import Access

_COLUMNS = ("id", "flavor", "flavor_id", "project", "project_id")


class _Access(base.Command):
    noun = "access"
    nouns = "accesses"
    zoned = False


class _OneAccess(_Access, base.ChangeCommand):
    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("flavor", metavar="FLAVOR", help="ID or name of the private flavor")
        parser.add_argument("project", metavar="PROJECT", help="ID or name of the project")
        keystone_names.add_domain(parser, "project")
        return parser


class ListAccess(_Access, base.ListCommand):
    """List which projects may book which private flavors."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "flavor",
            metavar="FLAVOR",
            nargs="?",
            help="only access to this flavor (ID or name)",
        )
        parser.add_argument(
            "--project", metavar="PROJECT", help="only access of this project (ID or name)"
        )
        keystone_names.add_domain(parser, "project")
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        filters: dict[str, Any] = {}
        if parsed_args.flavor is not None:
            filters["flavor_id"] = self.v2.flavors.get(parsed_args.flavor).id
        if project := project_names.identity(self, parsed_args):
            filters["project_id"] = project
        rights = self.v2.access.list(**filters)
        flavor_names = {f.id: f.name for f in self.v2.flavors.list(all_projects=True)}
        names_by_project = project_names.names(self, (access.project_id for access in rights))
        return _COLUMNS, [_row(access, flavor_names, names_by_project) for access in rights]


def _row(
    access: Access, flavor_names: dict[str, str], names_by_project: dict[str, str]
) -> tuple[Any, ...]:
    return (
        access.id,
        flavor_names.get(access.flavor),
        access.flavor,
        names_by_project.get(access.project_id),
        access.project_id,
    )


class GrantAccess(_OneAccess, base.ShowCommand):
    """Allow a project to book a private flavor."""

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        flavor = self.v2.flavors.get(parsed_args.flavor)
        project = project_names.required(self, parsed_args)
        if flavor.is_public:
            self.tell(f"Warning: {flavor.name} is public, so every project may book it anyway.")
        if parsed_args.dry_run:
            if self.v2.access.list(flavor_id=flavor.id, project_id=project):
                raise Failure(f"Project {parsed_args.project} already has access to {flavor.name}")
            return self.report_dry_run(
                f"allow project {parsed_args.project} ({project}) to book {flavor.name}",
                {"flavor": flavor.name, "flavor_id": flavor.id, "project_id": project},
            )
        made = self.v2.access.grant(flavor.id, project)
        row = _row(made, {flavor.id: flavor.name}, project_names.names(self, [project]))
        return _COLUMNS, row


class RevokeAccess(_OneAccess):
    """Withdraw a project's access to a private flavor. Existing reservations stay."""

    def get_data(self, parsed_args: argparse.Namespace) -> None:
        flavor = self.v2.flavors.get(parsed_args.flavor)
        project = project_names.required(self, parsed_args)
        rights = self.v2.access.list(flavor_id=flavor.id, project_id=project)
        if not rights:
            raise Failure(
                f"Project {parsed_args.project} has no access to {flavor.name}; "
                f"see {self.name('flavor-access-list')}"
            )
        if parsed_args.dry_run:
            self.report_dry_run(
                f"withdraw the access of project {parsed_args.project} ({project}) to {flavor.name}"
            )
            return
        for access in rights:
            self.v2.access.revoke(access.id)
        print(f"Revoked: {parsed_args.project} on {flavor.name}", file=self.app.stdout)
