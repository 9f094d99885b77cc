"""``warre-blazar-api``: serves Blazar's API, with this package's checks, in one process.

It is meant for small sites and for tests. A larger site serves the application
``warre_blazar.wsgi.api:application`` with uWSGI or Apache's mod_wsgi, which run several processes.
"""

import sys
from typing import Any

from blazar.api import app as stock_app
from blazar.api.v2 import app as v2_app
from blazar.utils import service
from oslo_config import cfg
from oslo_log import log as logging

from warre_blazar.cmd import web_server
from warre_blazar.db import migration
from warre_blazar.errors import exceptions
from warre_blazar.wsgi import checked_application, request_bodies

LOG = logging.getLogger(__name__)

cfg.CONF.import_opt("host", "blazar.config")
cfg.CONF.import_opt("enable_v1_api", "blazar.config")
_THREADS = 10


def main(argv: list[str] | None = None) -> int:
    """Serve until SIGTERM or SIGINT. Requests that have begun by then are still completed.

    :returns: the exit status: 1 if an option is malformed, if the tables are those of another
        release, or if the server can't listen on [DEFAULT] host and port.
    """
    logging.register_options(cfg.CONF)
    # This option is imported only here, because in older versions of Blazar the import of
    # blazar.cmd.api applies eventlet's monkey-patches to the process.
    cfg.CONF.import_opt("port", "blazar.cmd.api")
    cfg.CONF(sys.argv[1:] if argv is None else argv, project="blazar", prog="warre-blazar-api")
    service.prepare_service()
    try:
        server = _server(checked_application.build(_stock()))
    except (exceptions.Misconfigured, migration.MigrationError) as error:
        print(f"warre-blazar-api: {error}", file=sys.stderr)
        return 1
    return web_server.serve(server, "warre-blazar-api")


def _stock() -> Any:
    if cfg.CONF.enable_v1_api:
        return stock_app.VersionSelectorApplication()
    return v2_app.make_app()


def _server(application: Any) -> web_server.Server:
    address = (cfg.CONF.host, cfg.CONF.port)
    server = web_server.Server(
        address, application, numthreads=_THREADS, server_name="warre-blazar-api"
    )
    # The application itself refuses bodies that are too large. But the server reads a whole chunk
    # of a body before the application gets any of it. This higher limit stops endless chunks.
    server.max_request_body_size = 4 * request_bodies.MAX_BODY
    return server


if __name__ == "__main__":
    sys.exit(main())
