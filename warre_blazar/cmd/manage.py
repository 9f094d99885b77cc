"""``warre-blazar-manage``: reads the command line, and runs the command that it names."""

import functools
import sys
from typing import Any

from oslo_config import cfg
from oslo_db import options as db_options

from warre_blazar.cli import cliff_parsers
from warre_blazar.cmd import (
    asking,
    audit_command,
    flavor_command,
    host_command,
    import_command,
    metrics_command,
    purge_command,
    setup_command,
    setup_errors,
)
from warre_blazar.conf import authtoken
from warre_blazar.db import migration
from warre_blazar.domain.booking import quota
from warre_blazar.errors import exceptions
from warre_blazar.openstack import limits, placement_mark

_fail = functools.partial(setup_errors.fail, 1)


def _add_db_parsers(subparsers: Any) -> None:
    db = subparsers.add_parser("db", help="Manage this package's tables in Blazar's database.")
    actions = db.add_subparsers(dest="action", required=True)
    upgrade = actions.add_parser("upgrade", help="Upgrade the tables to a revision.")
    upgrade.add_argument("revision", nargs="?", default="head", help="default: the newest")
    downgrade = actions.add_parser(
        "downgrade",
        help="Downgrade the tables to a revision. This deletes all data for which the older "
        "revision has no table or column.",
    )
    downgrade.add_argument(
        "revision", help="the revision; 'base' removes all tables of this package"
    )
    downgrade.add_argument("--yes", action="store_true", help="don't ask for confirmation")
    downgrade.add_argument(
        "--with-reservations",
        action="store_true",
        help="downgrade even if there are reservations, series or waits, which nothing starts or "
        "ends afterwards",
    )
    actions.add_parser("current", help="Print the revision of the database.")
    actions.add_parser("history", help="Print all revisions.")


def _add_quota_parsers(subparsers: Any) -> None:
    quota_parser = subparsers.add_parser("quota", help="Manage the limits of quotas in Keystone.")
    actions = quota_parser.add_subparsers(dest="action", required=True)
    register = actions.add_parser(
        "register",
        help="Register in Keystone the limits that quotas need, or change them. Blazar's service "
        "user (os_admin_username) does so, with the role admin in its project. A limit that is "
        "already registered changes only if its option is given.",
    )
    for name in (quota.RESERVATIONS, quota.HOURS):
        register.add_argument(
            f"--{name}",
            type=_limit,
            metavar="N",
            help="limit of each project that has no limit of its own; -1, the default, means "
            "unlimited",
        )


def _limit(text: str) -> int:
    if int(text) < quota.UNLIMITED:
        raise ValueError
    return int(text)


def _add_parsers(subparsers: Any) -> None:
    subparsers._parser_class = cliff_parsers.StrictParser
    setup_command.add_parser(subparsers)
    _add_db_parsers(subparsers)
    _add_quota_parsers(subparsers)
    audit_command.add_parser(subparsers)
    purge_command.add_parser(subparsers)
    import_command.add_parser(subparsers)
    host_command.add_parser(subparsers)
    flavor_command.add_parser(subparsers)
    metrics_command.add_parser(subparsers)


_COMMANDS = cfg.SubCommandOpt("command", title="commands", handler=_add_parsers)


def main(argv: list[str] | None = None) -> int:
    """Run a command.

    :param argv: the command line without the program's name. Default: the command line of the
        process.
    :returns: the exit status. This is 0 if the command succeeds and 1 if it fails. The commands
        ``audit`` and ``host`` have other exit statuses, which their modules define.
    """
    conf = cfg.ConfigOpts()
    conf.register_cli_opt(_COMMANDS)
    arguments = sys.argv[1:] if argv is None else argv
    try:
        conf(arguments, project="blazar", prog="warre-blazar-manage")
        return _RUN[conf.command.name](conf)
    except setup_errors.CONFIGURATION as error:
        _fail(setup_errors.configuration(error))
        # The audit fails with another status, because its exit status 1 means that there are
        # differences.
        return audit_command.BLIND if "audit" in arguments else 1


def _setup(conf: cfg.ConfigOpts) -> int:
    _read_globally(conf)
    wrong = setup_command.run()
    return _fail(wrong) if wrong else 0


def _db(conf: cfg.ConfigOpts) -> int:
    db_options.set_defaults(conf)
    url = conf.database.connection
    if not url:
        return _fail(
            "[database] connection is not set; name Blazar's configuration file with --config-file"
        )
    command = getattr(migration, conf.command.action)
    revision = [conf.command.revision] if hasattr(conf.command, "revision") else []
    try:
        if command is migration.downgrade:
            _check_downgrade(url, conf.command)
        command(url, *revision)
        if command is migration.downgrade and migration.revision_of(url) in _WITHOUT_MARK:
            _remove_mark(conf)
        if command in (migration.upgrade, migration.downgrade):
            now = migration.revision_of(url)
            print(f"Tables: at revision {now}" if now else "Tables: removed")
    except migration.MigrationError as error:
        return _fail(str(error))
    except setup_errors.DATABASE as error:
        return _fail(setup_errors.database(error))
    return 0


#: The revisions of tables that have no mark. None: there are no tables.
_WITHOUT_MARK = (None, "0001")


def _remove_mark(conf: cfg.ConfigOpts) -> None:
    """Remove the mark in Placement. New tables would seem to be older than it."""
    try:
        _read_globally(conf)
        placement_mark.remove()
    except (exceptions.WarreError, *setup_errors.CONFIGURATION) as error:
        print(
            f"Placement still has the mark of the tables ({error}). Remove it before you install "
            "warre-blazar again: openstack resource provider delete $(openstack resource provider "
            f"list --name {placement_mark.PROVIDER} -f value -c uuid)",
            file=sys.stderr,
        )


def _check_downgrade(url: str, command: Any) -> None:
    """Refuse a downgrade while managers need the tables, and let an operator confirm any other one.

    :raises MigrationError:
    """
    if not command.with_reservations:
        migration.check_unused(url, command.revision)
    if command.yes:
        return
    lost = "This deletes all data for which the older revision has no table or column"
    if refusal := asking.refusal(lost):
        raise migration.MigrationError(refusal)


def _quota(conf: cfg.ConfigOpts) -> int:
    _read_globally(conf)
    names = (quota.RESERVATIONS, quota.HOURS)
    try:
        changes = limits.register(
            {name: getattr(conf.command, name) for name in names},
            dict.fromkeys(names, quota.UNLIMITED),
        )
    except exceptions.WarreError as error:
        return _fail(error.message)
    for name, (before, after) in changes.items():
        former = "not registered" if before is None else before
        print(f"{name}: {after}" + ("" if before == after else f" (was {former})"))
    return 0


def _audit(conf: cfg.ConfigOpts) -> int:
    _read_globally(conf)
    return audit_command.run(conf.command)


def _purge(conf: cfg.ConfigOpts) -> int:
    _read_globally(conf)
    wrong = purge_command.run(conf.command)
    return _fail(wrong) if wrong else 0


def _import(conf: cfg.ConfigOpts) -> int:
    _read_globally(conf)
    wrong = import_command.run(conf.command)
    return _fail(wrong) if wrong else 0


def _host(conf: cfg.ConfigOpts) -> int:
    _read_globally(conf)
    return host_command.run(conf.command)


def _flavor(conf: cfg.ConfigOpts) -> int:
    _read_globally(conf)
    status, wrong = flavor_command.run(conf.command)
    return _fail(wrong) if wrong else status


def _metrics(conf: cfg.ConfigOpts) -> int:
    _read_globally(conf)
    return metrics_command.run(conf.command)


def _read_globally(conf: cfg.ConfigOpts) -> None:
    """Read the configuration files into oslo.config's global object, which libraries use."""
    cfg.CONF([], default_config_files=conf.config_file, default_config_dirs=conf.config_dir)
    authtoken.complete_region(cfg.CONF)


_RUN = {
    "setup": _setup,
    "db": _db,
    "quota": _quota,
    "audit": _audit,
    "purge": _purge,
    "import-warre": _import,
    "host": _host,
    "flavor": _flavor,
    "metrics": _metrics,
}


if __name__ == "__main__":
    sys.exit(main())
