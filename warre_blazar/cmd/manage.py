"""``warre-blazar-manage``: our part of Blazar's database."""

import sys
from typing import Any

from oslo_config import cfg
from oslo_db import options as db_options
from sqlalchemy import exc as sa_exc

from warre_blazar.db import migration


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


_COMMANDS = cfg.SubCommandOpt("command", title="commands", handler=_add_db_parsers)


def main(argv: list[str] | None = None) -> int:
    """:returns: the exit status: 1 when what was asked can't be done."""
    conf = cfg.ConfigOpts()
    conf.register_cli_opt(_COMMANDS)
    conf(sys.argv[1:] if argv is None else argv, project="blazar", prog="warre-blazar-manage")
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
    except sa_exc.DBAPIError as error:
        return _fail(f"the database refused: {error.orig}")
    return 0


def _fail(message: str) -> int:
    print(f"warre-blazar-manage: {message}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
