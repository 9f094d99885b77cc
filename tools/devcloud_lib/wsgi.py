"""Serving a WSGI application with uWSGI."""

from collections.abc import Mapping
from pathlib import Path

from devcloud_lib import readiness
from devcloud_lib.layout import Layout
from devcloud_lib.service import Service


def service(
    layout: Layout,
    name: str,
    module: str,
    environment: Mapping[str, str],
    config: tuple[Path, ...],
    version: str = "",
) -> Service:
    """A service such as nova-api, which answers on the port `nova` of `Ports`."""
    port = name.removesuffix("-api")
    words = (
        str(layout.program("uwsgi")),
        f"--http-socket=127.0.0.1:{getattr(layout.ports, port)}",
        f"--module={module}",
        f"--virtualenv={layout.venv}",
        f"--processes={layout.settings.api_workers}",
        "--master",
        "--enable-threads",
        # Each worker loads the application itself: threads and connections do not survive a fork.
        "--lazy-apps",
        "--need-app",
        "--die-on-term",
        # A worker that does not end by itself (Nova keeps threads) is given this many seconds.
        "--reload-mercy=2",
        "--worker-reload-mercy=2",
        "--no-orphans",
        "--buffer-size=65535",
        # Without these two, clients see resets when they POST (uWSGI speaks no keep-alive here).
        "--post-buffering=65535",
        "--add-header=Connection: close",
    )
    return Service(
        name=name,
        home=layout.home,
        command=words,
        ready=readiness.Http(layout.url(port, "/")),
        environment=environment,
        config=config,
        version=layout.version + version,
    )
