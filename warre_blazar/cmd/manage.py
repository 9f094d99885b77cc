"""``warre-blazar-manage``: our part of Blazar's database, and the limits in Keystone."""

import sys
from typing import Any

from oslo_config import cfg
from oslo_db import options as db_options

from warre_blazar import exceptions
from warre_blazar.clients import limits
from warre_blazar.cmd import unusable
from warre_blazar.db import migration
from warre_blazar.domain import quota


def _add_db_parsers(subparsers: Any) -> None:
    db = subparsers.add_parser("db", help="Our tables in Blazar's database.")
    actions = db.add_subparsers(dest="action", required=True)
    upgrade = actions.add_parser("upgrade", help="Bring the tables to a revision.")
    upgrade.add_argument("revision", nargs="?", default="head", help="default: the newest")
    downgrade = actions.add_parser(
        "downgrade", help="Go back to a revision, 'base' for none of our tables; loses their data."
    )
    downgrade.add_argument("revision")
    actions.add_parser("current", help="Print the revision the database is at.")
    actions.add_parser("history", help="Print all revisions.")


def _add_quota_parsers(subparsers: Any) -> None:
    quota_parser = subparsers.add_parser("quota", help="Projects' limits in Keystone.")
    actions = quota_parser.add_subparsers(dest="action", required=True)
    register = actions.add_parser(
        "register",
        help="Register the limits that quotas need, by the login in [oslo_limit], which needs the "
        "role admin on the system for it. What is registered stays unless a number is given.",
    )
    for name in (quota.RESERVATIONS, quota.HOURS):
        register.add_argument(
            f"--{name}",
            type=_limit,
            metavar="N",
            help="what a project may have that has no limit of its own; -1, the default: unlimited",
        )


def _limit(text: str) -> int:
    if int(text) < quota.UNLIMITED:
        raise ValueError
    return int(text)


def _add_parsers(subparsers: Any) -> None:
    _add_db_parsers(subparsers)
    _add_quota_parsers(subparsers)


_COMMANDS = cfg.SubCommandOpt("command", title="commands", handler=_add_parsers)


def main(argv: list[str] | None = None) -> int:
    """:returns: the exit status: 1 when what was asked can't be done."""
    conf = cfg.ConfigOpts()
    conf.register_cli_opt(_COMMANDS)
    given = sys.argv[1:] if argv is None else argv
    try:
        conf(given, project="blazar", prog="warre-blazar-manage")
        return _quota(conf) if conf.command.name == "quota" else _db(conf)
    except unusable.CONFIGURATION as error:
        return _fail(unusable.configuration(error))


def _db(conf: cfg.ConfigOpts) -> int:
    db_options.set_defaults(conf)
    url = conf.database.connection
    if not url:
        return _fail("[database] connection is not set; name Blazar's with --config-file")
    command = getattr(migration, conf.command.action)
    revision = [conf.command.revision] if hasattr(conf.command, "revision") else []
    try:
        command(url, *revision)
    except migration.MigrationError as error:
        return _fail(str(error))
    except unusable.DATABASE as error:
        return _fail(unusable.database(error))
    return 0


def _quota(conf: cfg.ConfigOpts) -> int:
    # oslo.limit reads the global configuration.
    cfg.CONF([], default_config_files=conf.config_file, default_config_dirs=conf.config_dir)
    names = (quota.RESERVATIONS, quota.HOURS)
    try:
        changes = limits.register({name: getattr(conf.command, name) for name in names})
    except exceptions.WarreError as error:
        return _fail(error.message)
    for name, (before, after) in changes.items():
        was = "not registered" if before is None else before
        print(f"{name}: {after}" + ("" if before == after else f" (was {was})"))
    return 0


def _fail(message: str) -> int:
    print(f"warre-blazar-manage: {message}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
