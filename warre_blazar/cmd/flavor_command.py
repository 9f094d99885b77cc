"""``warre-blazar-manage flavor``: checks whether flavors could boot, and counts their devices."""

from typing import Any

from oslo_config import cfg
from oslo_db import options as db_options

from warre_blazar import conf
from warre_blazar.cmd import setup_errors
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.errors import exceptions
from warre_blazar.services.flavors import bootable, capacity, devices
from warre_blazar.services.flavors.devices import RecountFinding
from warre_blazar.site_rules import conditions


def add_parser(subparsers: Any) -> None:
    """Add the command and its actions."""
    parser = subparsers.add_parser("flavor", help="Check flavors, and what they take from hosts.")
    actions = parser.add_subparsers(dest="action", required=True)
    check = actions.add_parser(
        "check",
        help="Ask Nova and Placement whether servers of flavors could ever boot. Run this after "
        "an import, after an upgrade of Nova, and if a flavor was made while Nova or Placement "
        "couldn't be asked. The exit status is 1 if a flavor could never boot, or if this isn't "
        "known.",
    )
    _add_flavor(check)
    recount = actions.add_parser(
        "recount",
        help="Count the devices of flavors and of their reservations again. Run this after an "
        "import, and when one of these has changed: [warre] pci_alias or pci_in_placement; a "
        "device profile in Cyborg; the capabilities pci_alias_NAME of hosts.",
    )
    _add_flavor(recount)
    recount.add_argument(
        "--dry-run", action="store_true", help="print what would change, and change nothing"
    )


def _add_flavor(parser: Any) -> None:
    parser.add_argument(
        "flavor", nargs="?", metavar="FLAVOR", help="id or name; default: all flavors"
    )


def run(command: Any) -> tuple[int, str]:
    """Run the action.

    :returns: the exit status, and a text. If the command fails before it has done anything, the
        text is the reason. In all other cases the text is empty.
    """
    db_options.set_defaults(cfg.CONF)
    conf.register(cfg.CONF)
    try:
        return _ACTIONS[command.action](command), ""
    except exceptions.WarreError as error:
        return 1, error.message
    except setup_errors.DATABASE as error:
        return 1, setup_errors.database(error)


def _check(command: Any) -> int:
    """Print what Nova and Placement say about each flavor, and return the exit status."""
    status = 0
    for flavor, verdict in bootable.check_all(command.flavor):
        name = f"{flavor.name} ({flavor.id})"
        if verdict.refusals:
            print(f"{name} could never boot: {'; '.join(map(str, verdict.refusals))}")
        for doubt in verdict.doubts:
            print(f"{name}: {doubt}")
        if not verdict.refusals and not verdict.doubts:
            print(f"{name}: Nova and Placement accept it, {_hosts(flavor)}")
        if verdict.refusals or not verdict.is_known:
            status = 1
    return status


def _hosts(flavor: Flavor) -> str:
    """Return a clause that says how many of Blazar's hosts could hold an instance."""
    number = capacity.bookable_hosts([flavor])[flavor.id]
    if not number:
        return "but no host of Blazar that can be booked could hold it"
    return f"and {number} host{'' if number == 1 else 's'} of Blazar could hold it"


def _recount(command: Any) -> int:
    """Recount the devices, print what has changed or would change, and return the exit status."""
    act = devices.find_changed if command.dry_run else devices.recount
    findings = act(conditions.device_rules(), command.flavor)
    for finding in findings:
        print(_line(finding, dry_run=command.dry_run))
    if not findings:
        print("The devices of all flavors are counted as configured")
    elif not command.dry_run and any(finding.reservations for finding in findings):
        print("Run warre-blazar-manage audit to see whether hosts are overbooked now")
    return 1 if devices.failures(findings) else 0


def _line(finding: RecountFinding, *, dry_run: bool) -> str:
    flavor = f"{finding.flavor.name} ({finding.flavor.id})"
    if finding.groups is None:
        return f"{flavor} stays as it is: {finding.failure}"
    number, reservations = len(finding.groups), finding.reservations
    verb = "would count" if dry_run else "counts"
    line = f"{flavor} {verb} {number} device{'' if number == 1 else 's'}"
    if reservations:
        noun = "reservation" if reservations == 1 else "reservations"
        change = "would change" if dry_run else "changed"
        line += f"; {reservations} {noun} {change} too"
    return line


_ACTIONS = {"check": _check, "recount": _recount}
