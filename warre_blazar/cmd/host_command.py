"""``warre-blazar-manage host``: the actions ``refresh``, ``drain`` and ``fail`` for hosts."""

from typing import Any

from oslo_config import cfg
from oslo_db import options as db_options

from warre_blazar import conf
from warre_blazar.cmd import host_drain, host_fail, host_refresh

#: The actions. Each action's module adds the action's arguments and runs the action.
_ACTIONS = {"refresh": host_refresh, "drain": host_drain, "fail": host_fail}


def add_parser(subparsers: Any) -> None:
    """Add the command and its actions."""
    parser = subparsers.add_parser("host", help="Manage the hosts that reservations are on.")
    actions = parser.add_subparsers(dest="action", required=True)
    for module in _ACTIONS.values():
        module.add_parser(actions)


def run(command: Any) -> int:
    """Run an action.

    :param command: the parsed arguments of the command line.
    :returns: the exit status.
    """
    db_options.set_defaults(cfg.CONF)
    conf.register(cfg.CONF)
    return _ACTIONS[command.action].run(command)
