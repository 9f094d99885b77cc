"""Makes services that serve a WSGI application with uWSGI."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from devcloud_lib import readiness
from devcloud_lib.layout import Layout
from devcloud_lib.service import Service


@dataclasses.dataclass(frozen=True)
class Workers:
    """The processes of a service, and the threads of each process."""

    processes: int
    threads: int = 1


def service(
    layout: Layout,
    name: str,
    module: str,
    environment: Mapping[str, str],
    config: tuple[Path, ...],
    version: str = "",
    workers: Workers | None = None,
) -> Service:
    """Return a service. One called nova-api or nova answers on the port `nova` of `Ports`.

    Without `workers`, there are as many processes as the cloud's settings say.
    """
    port = name.removesuffix("-api")
    workers = workers or Workers(layout.settings.api_workers)
    words = (
        str(layout.program("uwsgi")),
        f"--http-socket=127.0.0.1:{getattr(layout.ports, port)}",
        f"--module={module}",
        f"--virtualenv={layout.venv}",
        f"--processes={workers.processes}",
        f"--threads={workers.threads}",
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
