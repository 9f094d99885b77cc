"""Makes services that serve a WSGI application with uWSGI."""

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
    threads: int = 0,
) -> Service:
    """Return a service. One called nova-api or nova answers on the port `nova` of `Ports`.

    If `threads` is given, the service is a single process with so many threads.
    """
    port = name.removesuffix("-api")
    words = (
        str(layout.program("uwsgi")),
        f"--http-socket=127.0.0.1:{getattr(layout.ports, port)}",
        f"--module={module}",
        f"--virtualenv={layout.venv}",
        *([f"--threads={threads}"] if threads else [f"--processes={layout.settings.api_workers}"]),
        "--master",
        "--enable-threads",
        # Each worker loads the application: threads and connections don't survive a fork.
        "--lazy-apps",
        "--need-app",
        "--die-on-term",
        # Seconds until a worker that doesn't end by itself is killed. Nova's keep running threads.
        "--reload-mercy=2",
        "--worker-reload-mercy=2",
        "--no-orphans",
        "--buffer-size=65535",
        # Without these two options, POST requests end in resets, because there is no keep-alive.
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
