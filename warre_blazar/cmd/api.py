"""``warre-blazar-api``: serves Blazar's API, with this package's checks, in one process.

It is meant for small sites and for tests. A larger site serves the application
``blazar.wsgi.api:application`` with uWSGI or Apache's mod_wsgi, which run several processes.
"""

import sys
from typing import Any

from blazar.api.v1 import app as v1_app
from blazar.utils import service
from oslo_config import cfg
from oslo_log import log as logging

from warre_blazar.cmd import web_server
from warre_blazar.db import migration
from warre_blazar.errors import exceptions
from warre_blazar.site_rules import enabling
from warre_blazar.wsgi import checked_application, request_bodies, request_threads

LOG = logging.getLogger(__name__)

cfg.CONF.import_opt("host", "blazar.config")
_THREADS = 10


def main(argv: list[str] | None = None) -> int:
    """Serve until SIGTERM or SIGINT. Requests that have begun by then are still completed.

    :returns: the exit status: 1 if the plugin isn't enabled, if an option is malformed, if the
        tables are those of another release, or if the server can't listen on [DEFAULT] host and
        port.
    """
    logging.register_options(cfg.CONF)
    # This option is imported only here, because in older versions of Blazar the import of
    # blazar.cmd.api applies eventlet's monkey-patches to the process.
    cfg.CONF.import_opt("port", "blazar.cmd.api")
    cfg.CONF(sys.argv[1:] if argv is None else argv, project="blazar", prog="warre-blazar-api")
    service.prepare_service()
    request_threads.tell(_THREADS)
    try:
        enabling.check()
        server = _server(checked_application.require(v1_app.make_app()))
    except (exceptions.Misconfigured, migration.MigrationError) as error:
        print(f"warre-blazar-api: {error}", file=sys.stderr)
        return 1
    return web_server.serve(server, "warre-blazar-api")


def _server(application: Any) -> web_server.WebServer:
    address = (cfg.CONF.host, cfg.CONF.port)
    server = web_server.WebServer(
        address, application, numthreads=_THREADS, server_name="warre-blazar-api"
    )
    # The application itself refuses bodies that are too large. But the server reads a whole chunk
    # of a body before the application gets any of it. This higher limit stops endless chunks.
    server.max_request_body_size = 4 * request_bodies.MAX_BODY
    return server


if __name__ == "__main__":
    sys.exit(main())
