"""``warre-blazar-manage audit``: prints the differences that an audit finds, and can mend them.

The output is for people or, as JSON, for programs. The exit status is for monitoring.
"""

import contextlib
import functools
import json
import sys
from collections import Counter
from typing import Any

from blazar.db import api as db_api
from oslo_config import cfg
from oslo_db import options as db_options
from oslo_messaging import opts as messaging_opts
from oslo_utils import timeutils

from warre_blazar import conf, times
from warre_blazar.cmd import restore_report, setup_errors
from warre_blazar.db import session as db_session
from warre_blazar.domain.audit.differences import Difference, Needs
from warre_blazar.domain.wording import counted
from warre_blazar.errors.exceptions import TryAgain, WarreError
from warre_blazar.openstack import manager
from warre_blazar.plugins import lease_contexts, monitor
from warre_blazar.services import audit as reporting
from warre_blazar.services.audit import Audit, Result, restore
from warre_blazar.services.audit.looking import StockTypes

#: The exit statuses. 0: there are no differences. 1: there are some differences. 2: a service or
#: the database couldn't be read.
CLEAN, DIFFERENT, BLIND = 0, 1, 2

cfg.CONF.import_opt("plugins", "blazar.manager.service", group="manager")
#: The names of the exact plugins begin with this.
_EXACT = "exact."


_fail = functools.partial(setup_errors.fail, BLIND)


def add_parser(subparsers: Any) -> None:
    """Add the command and its arguments."""
    parser = subparsers.add_parser(
        "audit",
        help="Compare the tables of Blazar and of this package with Nova, Placement and Keystone, "
        "and print every difference. The API shows operators the last report. Exit status 0: there "
        "are no differences; 1: there are some; 2: a service or the database couldn't be read.",
    )
    parser.add_argument(
        "--fix",
        action="store_true",
        help="correct what can be corrected without deleting anything: write rows, and make what "
        "is missing in Nova and Placement",
    )
    parser.add_argument(
        "--yes",
        action="store_true",
        help="with --fix: also delete what should not exist, including servers, and end leases "
        "whose end or deletion stopped half way",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    restore_report.add_arguments(parser)


def run(arguments: Any) -> int:
    """Run the command.

    :param arguments: the parsed arguments of the command line.
    :returns: the exit status.
    """
    if arguments.yes and not arguments.fix:
        print("warre-blazar-manage: --yes needs --fix", file=sys.stderr)
        return BLIND
    if wrong := restore_report.misused(arguments):
        return _fail(wrong)
    db_options.set_defaults(cfg.CONF)
    conf.register(cfg.CONF)
    if arguments.after_restore:
        return restore_report.run(arguments)
    allowed = [Needs.FIX] * arguments.fix + [Needs.YES] * arguments.yes
    try:
        if why := _why_not_mended():
            if arguments.fix:
                return _fail(why)
            # What was booked since the dump looks like something that should not exist.
            print(f"warre-blazar-manage: don't believe what follows: {why}", file=sys.stderr)
        result = audit().run(frozenset(allowed))
    except setup_errors.DATABASE as error:
        return _fail(setup_errors.database(error))
    (_print_json if arguments.json else _print)(result)
    _keep(result)
    if result.away:
        return BLIND
    return DIFFERENT if result.left else CLEAN


def _why_not_mended() -> str:
    """Why nothing may be mended: what was booked since a dump would be removed, with its servers.

    Empty: the database wasn't restored.
    """
    try:
        is_older = restore.is_older(timeutils.utcnow())
    except WarreError as error:
        return f"only Placement knows whether the database was restored: {error.message}"
    told = "the database is older than Placement: --after-restore says what to do"
    return told if is_older else ""


def _keep(result: Result) -> None:
    """Keep the result for the API. What was found is worth more than that it is kept."""
    try:
        reporting.keep_report(result, timeutils.utcnow())
    except (*setup_errors.DATABASE, TryAgain) as error:
        reason = db_session.reason(error)
        print(f"warre-blazar-manage: the report isn't kept: {reason}", file=sys.stderr)


def audit() -> Audit:
    """Make an audit with the waiting times that the configuration sets."""
    options = cfg.CONF.warre
    _register_response_timeout()
    are_exact = any(name.startswith(_EXACT) for name in cfg.CONF.manager.plugins)
    return Audit(
        patience=monitor.patience,
        server_patience=float(options.server_deletion_timeout),
        trust_grace=float(cfg.CONF.rpc_response_timeout + options.request_timeout),
        neighbors=StockTypes(_stock_patience, are_exact),
        delete_lease=_delete_lease,
        now=timeutils.utcnow,
    )


def _stock_patience(reservations: int) -> float:
    """The seconds after which work on a lease of a stock resource type must be over."""
    servers = max(reservations, 1) * times.BLAZARS_SERVERS_WAIT
    return cfg.CONF.rpc_response_timeout + monitor.patience(reservations) + servers


def _delete_lease(lease_id: str) -> None:
    """Let a manager delete a lease of a stock resource type, in the name of its user."""
    lease = db_api.lease_get(lease_id)
    if lease is None:
        return
    # If the manager doesn't answer in time, it is still waiting for servers to be deleted.
    with contextlib.suppress(manager.ManagerSilent):
        manager.delete_lease(lease_contexts.of(lease).to_dict(), lease_id)


def _register_response_timeout() -> None:
    """Register the option ``rpc_response_timeout``.

    oslo.messaging itself registers this option only when it makes a client.
    """
    for group, options in messaging_opts.list_opts():
        timeouts = [option for option in options if option.name == "rpc_response_timeout"]
        if group is None and timeouts:
            cfg.CONF.register_opts(timeouts)


def _print(result: Result) -> None:
    for difference in result.mended:
        print(f"mended  {_line(difference)}")
    for difference in result.left:
        print(_line(difference))
        failure = result.failures.get(difference.key)
        if failure:
            print(f"    It could not be mended: {failure}")
        print(f"    {_means(difference.rule.needs)}: {difference.rule.remedy}")
    for service, reason in result.away.items():
        print(f"{service} could not be compared: {reason}")
    print(_summary(result))


def _line(difference: Difference) -> str:
    return f"{difference.kind.label}  {difference.text}"


def _means(needs: Needs) -> str:
    return "By a person" if needs is Needs.PERSON else f"With {needs}"


def _summary(result: Result) -> str:
    counts = Counter(difference.rule.needs for difference in result.left)
    parts = [
        f"{counts[needs]} need{'s' if counts[needs] == 1 else ''} {needs}"
        for needs in Needs
        if counts[needs]
    ]
    summary = counted(len(result.left), "difference") + (f": {', '.join(parts)}" if parts else "")
    mended = len(result.mended)
    verb = "was" if mended == 1 else "were"
    return f"{summary}; {mended} {verb} mended" if result.mended else summary


def _print_json(result: Result) -> None:
    document = {
        "differences": [_document(d, result) for d in result.left],
        "mended": [_document(d, result) for d in result.mended],
        "away": dict(result.away),
    }
    print(json.dumps(document, indent=2))


def _document(difference: Difference, result: Result) -> dict[str, str | None]:
    rule = difference.rule
    return {
        "kind": difference.kind.label,
        "subject": difference.subject,
        "text": difference.text,
        "meaning": rule.meaning,
        "remedy": rule.remedy,
        "needs": str(rule.needs),
        "failure": result.failures.get(difference.key),
    }
