"""The command line of tools/devcloud."""

import argparse
import signal
from pathlib import Path

from devcloud_lib import commands, console, package_sets, settings


def main() -> int:
    # End silently when the reader of the output closes the pipe.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    options = _parser().parse_args()
    home = (options.home or settings.default_home()).expanduser().absolute()
    try:
        return int(options.run(home, options))
    except console.Failure as failure:
        console.report(failure)
        return 1
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument(
        "--home",
        type=Path,
        help="directory of the cloud ($WARRE_DEVCLOUD_HOME, or ~/.cache/warre-blazar/devcloud)",
    )
    parser = argparse.ArgumentParser(
        prog="devcloud", description="A real OpenStack on this machine, with warre-blazar in it."
    )
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_cloud_commands(subparsers, common)
    _add_service_commands(subparsers, common)
    return parser


def _add_cloud_commands(
    subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]",
    common: argparse.ArgumentParser,
) -> None:
    """Commands about the cloud as a whole."""
    up = subparsers.add_parser("up", parents=[common], help="start all services that are down")
    up.add_argument("--computes", type=int, help="number of nova-computes (3)")
    up.add_argument("--api-workers", type=int, help="processes of each API (2)")
    up.add_argument("--managers", type=int, help="number of blazar-managers (1)")
    up.add_argument(
        "--port-offset", type=int, help="added to every port, including Blazar's 1234 (0)"
    )
    up.add_argument("--gpus", type=int, help="GPUs of each of the computes cmp1 and cmp2 (4)")
    up.add_argument(
        "--password-rounds",
        type=int,
        help="cost of the passwords of users that are made from now on; 4 makes logins fast (12)",
    )
    up.add_argument(
        "--dashboard",
        action=argparse.BooleanOptionalAction,
        help="run Horizon with the pages of this package (not unless asked)",
    )
    up.add_argument(
        "--host-plugins",
        choices=settings.HOST_PLUGINS,
        help="plugins for Blazar's own resource types for compute hosts: Blazar's plugins, the "
        "exact ones of this package, or Blazar's with nothing of this package enabled (stock)",
    )
    up.add_argument(
        "--release",
        choices=package_sets.SETS,
        help="versions of all packages: those of a release of OpenStack, or the newest (newest)",
    )
    up.set_defaults(run=commands.up)
    down = subparsers.add_parser("down", parents=[common], help="stop the cloud and keep its data")
    down.add_argument(
        "--wipe", action="store_true", help="also remove data, configuration and logs"
    )
    down.set_defaults(run=commands.down)
    status = subparsers.add_parser("status", parents=[common], help="show which services run")
    status.set_defaults(run=commands.status)
    hosts = subparsers.add_parser("hosts", parents=[common], help="register all computes in Blazar")
    hosts.set_defaults(run=commands.hosts)
    env = subparsers.add_parser(
        "env", parents=[common], help="print shell lines that set up the clients for a user"
    )
    env.add_argument("user", nargs="?", default="admin", choices=("admin", "alpha", "beta"))
    env.set_defaults(run=commands.env)


def _add_service_commands(
    subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]",
    common: argparse.ArgumentParser,
) -> None:
    """Commands about one service, or about all services whose names match a pattern."""
    log = subparsers.add_parser(
        "log", parents=[common], help="show a service's log; without a service, list the logs"
    )
    log.add_argument("service", nargs="?")
    log.add_argument("-f", "--follow", action="store_true")
    log.set_defaults(run=commands.log)
    for name, run, text in (
        ("start", commands.start, "start a service"),
        ("stop", commands.stop, "stop a service"),
        ("restart", commands.restart, "stop and start a service"),
    ):
        parser = subparsers.add_parser(name, parents=[common], help=text)
        parser.add_argument("service", help="a name, or a pattern such as 'blazar-*'")
        if name != "start":
            parser.add_argument("--kill9", action="store_true", help="stop it with SIGKILL")
        parser.set_defaults(run=run)
