"""``warre-blazar-manage metrics``: serves metrics for Prometheus, or prints them once."""

import argparse
import sys
import urllib.parse
from typing import Any

import prometheus_client
from oslo_config import cfg
from oslo_db import options as db_options

from warre_blazar.cmd import setup_errors, web_server
from warre_blazar.cmd.metric_families import Collector
from warre_blazar.db import clock
from warre_blazar.services.records import metrics
from warre_blazar.site_rules import conditions

_NAME = "warre-blazar-manage"
_THREADS = 4
_THIS_MACHINE = "127.0.0.1"


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "metrics",
        help="Serve metrics for Prometheus until SIGTERM or SIGINT. The database is read at each "
        "scrape. Without --listen, print the metrics once.",
    )
    parser.add_argument(
        "--listen",
        type=_address,
        metavar="[HOST:]PORT",
        help="the address to serve on, such as 0.0.0.0:9180. Everybody who can reach it can read "
        "the names of all flavors and hosts, so the default HOST is 127.0.0.1",
    )


def _address(text: str) -> tuple[str, int]:
    netloc = text if ":" in text else f"{_THIS_MACHINE}:{text}"
    try:
        address = urllib.parse.urlsplit(f"//{netloc}")
        host, port = address.hostname, address.port
    except ValueError:
        host, port = None, None
    if not host or not port or set(text) & set("/?#@"):
        raise argparse.ArgumentTypeError("expected a port, or a host and a port as HOST:PORT")
    return host, port


def run(command: Any) -> int:
    """Serve the metrics, or print them once.

    :returns: the exit status: 1 if the server can't listen on the address, or if the database can't
        be read when the metrics are printed.
    """
    db_options.set_defaults(cfg.CONF)
    # Prometheus asks again, so a failed connection isn't tried again.
    cfg.CONF.set_override("max_retries", 0, group="database")
    if command.listen is None:
        return _print()
    server = web_server.WebServer(
        command.listen,
        prometheus_client.make_wsgi_app(_registry(Collector(_read))),
        numthreads=_THREADS,
        server_name=f"{_NAME} metrics",
    )
    return web_server.serve(server, _NAME)


def _print() -> int:
    try:
        site = _read()
    except setup_errors.DATABASE as error:
        print(f"{_NAME}: {setup_errors.database(error)}", file=sys.stderr)
        return 1
    registry = _registry(Collector(lambda: site))
    print(prometheus_client.generate_latest(registry).decode(), end="")
    return 0


def _registry(collector: Collector) -> prometheus_client.CollectorRegistry:
    """A registry of its own, without the metrics of this process that the library counts."""
    registry = prometheus_client.CollectorRegistry()
    registry.register(collector)
    return registry


def _read() -> metrics.Site:
    clock.read()
    return metrics.read(clock.utcnow(), conditions.cleaning(), conditions.device_rules_of_stock())
