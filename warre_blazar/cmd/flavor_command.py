"""``warre-blazar-manage flavor``: counts the devices of flavors and reservations again."""

from typing import Any

from oslo_config import cfg
from oslo_db import options as db_options

from warre_blazar import conf, device_rules, exceptions
from warre_blazar.cmd import setup_errors
from warre_blazar.services.keeping import device_recount
from warre_blazar.services.keeping.device_recount import Finding


def add_parser(subparsers: Any) -> None:
    """Add the command and its actions."""
    parser = subparsers.add_parser("flavor", help="Manage what flavors take from hosts.")
    actions = parser.add_subparsers(dest="action", required=True)
    recount = actions.add_parser(
        "recount",
        help="Count the devices of flavors and of their reservations again. Run this after an "
        "upgrade, and when one of these has changed: [warre] pci_alias, pci_in_placement or "
        "device_profile; a device profile in Cyborg; the capabilities pci_alias_NAME of hosts.",
    )
    recount.add_argument(
        "flavor", nargs="?", metavar="FLAVOR", help="id or name; default: all flavors"
    )
    recount.add_argument(
        "--dry-run", action="store_true", help="print what would change, and change nothing"
    )


def run(command: Any) -> tuple[int, str]:
    """Run the action.

    :returns: the exit status, and a text. If the command fails before it has done anything, the
        text is the reason. In all other cases the text is empty.
    """
    db_options.set_defaults(cfg.CONF)
    conf.register(cfg.CONF)
    act = device_recount.find if command.dry_run else device_recount.recount
    try:
        findings = act(device_rules.configured(), command.flavor)
    except exceptions.WarreError as error:
        return 1, error.message
    except setup_errors.DATABASE as error:
        return 1, setup_errors.database(error)
    for finding in findings:
        print(_line(finding, dry_run=command.dry_run))
    if not findings:
        print("The devices of all flavors are counted as configured")
    elif not command.dry_run and any(finding.reservations for finding in findings):
        print("Run warre-blazar-manage audit to see whether hosts are overbooked now")
    return (1 if device_recount.failures(findings) else 0), ""


def _line(finding: Finding, *, dry_run: bool) -> str:
    flavor = f"{finding.flavor.name} ({finding.flavor.id})"
    if finding.resolved is None:
        return f"{flavor} stays as it is: {finding.failure}"
    number, reservations = len(finding.resolved.groups), finding.reservations
    verb = "would count" if dry_run else "counts"
    line = f"{flavor} {verb} {number} device{'' if number == 1 else 's'}"
    if reservations:
        noun = "reservation" if reservations == 1 else "reservations"
        change = "would change" if dry_run else "changed"
        line += f"; {reservations} {noun} {change} too"
    if finding.uncounted:
        line += f"; {'; '.join(device.text for device in finding.uncounted)}"
    return line
