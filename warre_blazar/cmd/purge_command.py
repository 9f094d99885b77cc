"""``warre-blazar-manage purge``: removes old reservations and old records."""

import argparse
from typing import Any

from oslo_config import cfg
from oslo_utils import timeutils

from warre_blazar import conf
from warre_blazar.cmd import setup_errors
from warre_blazar.services.records import history


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "purge",
        help="Remove reservations that ended more than [warre] history_days days ago, and records "
        "of reservations that were deleted more than history_days days ago. Each manager also does "
        "this once an hour.",
    )
    parser.add_argument(
        "--days",
        type=_days,
        metavar="N|all",
        help="use this number of days instead of history_days; all removes everything that has "
        "ended",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="count what would be removed, and remove nothing"
    )


def _days(text: str) -> int:
    if text == "all":
        return 0
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError("expected a whole number of at least 1, or all")
    return int(text)


def run(command: Any) -> str:
    """Remove old reservations and records, or only count them.

    :returns: the reason why the command failed, or an empty text if it succeeded.
    """
    conf.register(cfg.CONF)
    days = command.days
    if days is None:
        days = cfg.CONF.warre.history_days
        if not days:
            print(
                "[warre] history_days is 0, so nothing was removed. Use --days N to remove entries"
            )
            return ""
    now = timeutils.utcnow()
    try:
        purged = history.old(now, days) if command.dry_run else history.purge(now, days)
    except setup_errors.DATABASE as error:
        return setup_errors.database(error)
    verb = "Dry run: would remove" if command.dry_run else "Removed"
    print(
        f"{verb} {purged.leases} leases that were over and {purged.records} records, older than "
        f"{days} days"
    )
    return ""
