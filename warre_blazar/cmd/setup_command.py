"""``warre-blazar-manage setup``: makes everything that ``blazar.conf`` alone can't give."""

from typing import Any

from oslo_config import cfg
from oslo_db import exception as db_exc
from oslo_db import options as db_options

from warre_blazar.cmd import setup_errors
from warre_blazar.db import migration
from warre_blazar.domain.booking import quota
from warre_blazar.errors import exceptions
from warre_blazar.openstack import limits, limits_login

#: What is registered if Keystone doesn't have a limit. A project may hold so many reservations at
#: the same time, and the sum of their hours may be so large.
DEFAULTS = {quota.RESERVATIONS: 10, quota.HOURS: 1000}


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    registered = " and ".join(f"{limit} of {name}" for name, limit in DEFAULTS.items())
    subparsers.add_parser(
        "setup",
        help="Make this package's tables or upgrade them, give the user that reads limits the role "
        f"{limits_login.ROLE} on the system in Keystone, and register limits of {registered} for "
        "each project. What is there already stays, so the command can be repeated.",
    )


def run() -> str:
    """Make what is missing, and print what was made or found.

    :returns: the reason why the command failed, or an empty text if it succeeded.
    """
    db_options.set_defaults(cfg.CONF)
    try:
        for step in (_tables, _role, _limits):
            step()
    except (migration.MigrationError, exceptions.WarreError) as error:
        return str(error)
    except setup_errors.DATABASE as error:
        return setup_errors.database(error)
    return ""


def _tables() -> None:
    url = cfg.CONF.database.connection
    if not url:
        raise db_exc.CantStartEngineError
    before, newest = migration.revision_of(url), migration.head()
    if before == newest:
        print(f"Tables: at the newest revision {newest}")
        return
    if before is not None and migration.fits(before):
        print(f"Tables: at revision {before}, which fits this version's revision {newest}")
        return
    migration.upgrade(url)
    print(f"Tables: {f'upgraded from {before} to' if before else 'made at'} revision {newest}")


def _role() -> None:
    user, is_new = limits_login.grant_role()
    role = f"got the role {limits_login.ROLE}" if is_new else "has a role"
    print(f"Role: user {user} {role} on the system")


def _limits() -> None:
    for name, (before, after) in limits.register(dict.fromkeys(DEFAULTS), DEFAULTS).items():
        print(f"Limit {name}: {'is' if before == after else 'registered as'} {after}")
