"""The command line of tools/devcloud."""

import argparse
import signal
from pathlib import Path

from devcloud_lib import commands, console, settings


def main() -> int:
    # Ended quietly when whoever reads our output has seen enough.
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
    found = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_whole(found, common)
    _add_services(found, common)
    return parser


def _add_whole(
    found: "argparse._SubParsersAction[argparse.ArgumentParser]", common: argparse.ArgumentParser
) -> None:
    """Commands about the cloud as a whole."""
    up = found.add_parser("up", parents=[common], help="start the cloud, or what of it is down")
    up.add_argument("--computes", type=int, help="number of nova-computes (3)")
    up.add_argument("--api-workers", type=int, help="processes of each API (2)")
    up.add_argument("--managers", type=int, help="number of blazar-managers (1)")
    up.add_argument("--port-offset", type=int, help="added to every port, Blazar's 1234 too (0)")
    up.set_defaults(run=commands.up)
    down = found.add_parser("down", parents=[common], help="end it; data stay")
    down.add_argument("--wipe", action="store_true", help="remove data, configuration, logs too")
    down.set_defaults(run=commands.down)
    status = found.add_parser("status", parents=[common], help="which services run")
    status.set_defaults(run=commands.status)
    hosts = found.add_parser("hosts", parents=[common], help="register all computes in Blazar")
    hosts.set_defaults(run=commands.hosts)
    env = found.add_parser("env", parents=[common], help="shell lines to source for the clients")
    env.add_argument("user", nargs="?", default="admin", choices=("admin", "alpha", "beta"))
    env.set_defaults(run=commands.env)


def _add_services(
    found: "argparse._SubParsersAction[argparse.ArgumentParser]", common: argparse.ArgumentParser
) -> None:
    """Commands about one service, or those that a pattern names."""
    log = found.add_parser("log", parents=[common], help="a service's log; alone: the list of them")
    log.add_argument("service", nargs="?")
    log.add_argument("-f", "--follow", action="store_true")
    log.set_defaults(run=commands.log)
    for name, run, text in (
        ("start", commands.start, "start a service"),
        ("stop", commands.stop, "end a service"),
        ("restart", commands.restart, "end and start a service"),
    ):
        parser = found.add_parser(name, parents=[common], help=text)
        parser.add_argument("service", help="a name, or a pattern such as 'blazar-*'")
        if name != "start":
            parser.add_argument("--kill9", action="store_true", help="with SIGKILL")
        parser.set_defaults(run=run)
