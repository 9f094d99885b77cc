"""Commands that show and set a project's quota: its limits in Keystone, and its usage."""

import argparse
import re
from collections.abc import Mapping
from typing import Any

from keystoneauth1 import exceptions as ksa

from warre_blazar.cli import base, keystone_names, limits, project_names
from warre_blazar.cli.failure import WrongOptions
from warre_blazar.cli.keystone_limits import KeystoneLimits
from warre_blazar.client import errors

#: The option for each limit, and the name of the limit in Keystone.
_RESOURCES = {"reservations": "reservation", "hours": "hours"}
_UNLIMITED = -1
_DEFAULT = "default"


def _limit(text: str) -> int | str:
    if text == _DEFAULT:
        return text
    if text in ("unlimited", str(_UNLIMITED)):
        return _UNLIMITED
    if re.fullmatch(r"\d{1,9}", text, re.ASCII):
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} isn't a whole number, unlimited or {_DEFAULT}")


class _Quotas(base.Command):
    noun = nouns = "quota"
    zoned = False


class ShowQuota(_Quotas, base.ListCommand):
    """Show how much a project may book, and how much of it is left."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "project",
            metavar="PROJECT",
            nargs="?",
            help="ID or name of the project (default: your own; others: admin only)",
        )
        keystone_names.add_domain(parser, "project")
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        project = project_names.identity(self, parsed_args)
        return limits.COLUMNS, limits.rows(self.v2.limits.get(project))


class SetQuota(_Quotas, base.ChangeCommand, base.ListCommand):
    """Set how much a project may book (admin only). Existing reservations stay.

    The limits are kept in Keystone.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("project", metavar="PROJECT", help="ID or name of the project")
        for option, unit in (("reservations", "reservations"), ("hours", "hours of instances")):
            parser.add_argument(
                f"--{option}",
                metavar="N",
                type=_limit,
                help=f"how many {unit} the project may have at a time: a number, or unlimited, or "
                f"{_DEFAULT} (the limit of projects that have no limit of their own)",
            )
        keystone_names.add_domain(parser, "project")
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        options = {name: getattr(parsed_args, name) for name in _RESOURCES}
        new_values = {name: value for name, value in options.items() if value is not None}
        if not new_values:
            raise WrongOptions("Nothing to set: give --reservations or --hours")
        project = project_names.required(self, parsed_args)
        keystone = KeystoneLimits(self.v2.transport.session, "reservation")
        # Read both limits before any limit is changed. If one of them can't be read, none is
        # changed.
        current = {name: keystone.get(project, _RESOURCES[name]) for name in new_values}
        rows = []
        for name, value in new_values.items():
            limit = current[name]
            wanted = None if value == _DEFAULT else int(value)
            before = limit.default if limit.value is None else limit.value
            after = limit.default if wanted is None else wanted
            rows.append((name, limits.limit(before), limits.limit(after)))
            if not parsed_args.dry_run:
                keystone.set(project, limit, wanted)
        self._warn(project, {name: int(after.machine_readable()) for name, _, after in rows})
        if parsed_args.dry_run and not self.is_for_programs:
            changes = (f"{n} from {b.human_readable()} to {a.human_readable()}" for n, b, a in rows)
            self.report_dry_run(f"set the limits of project {project}: {', '.join(changes)}")
            return (), ()
        return ("resource", "before", "limit"), rows

    def _warn(self, project: str, new_limits: Mapping[str, int]) -> None:
        """Warn of limits that are below what the project uses already, if the API says its usage.

        :param new_limits: the limits by the names of the options.
        """
        try:
            usage = self.v2.limits.get(project)
        except (errors.ClientError, ksa.ClientException):
            return  # The limits are set nevertheless.
        used = {"reservations": usage.total_reservations_used, "hours": usage.total_hours_used}
        for name, most in new_limits.items():
            if 0 <= most < used[name]:
                self.tell(
                    f"Warning: the project uses {used[name]} {name} already, more than {most}. Its "
                    "reservations stay, but it can book nothing more until it uses less."
                )

    def produce_output(self, parsed_args: argparse.Namespace, names: Any, data: Any) -> int:
        # After a dry run there is nothing to print.
        return super().produce_output(parsed_args, names, data) if names else 0
