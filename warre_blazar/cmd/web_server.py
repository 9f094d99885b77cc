"""The web server of the commands that serve HTTP themselves."""

import signal
import sys
import threading

from cheroot import wsgi
from oslo_log import log as logging

LOG = logging.getLogger(__name__)


class WebServer(wsgi.Server):
    """A server whose error messages go to the log."""

    def error_log(self, msg: str = "", level: int = 20, traceback: bool = False) -> None:
        LOG.log(level, "%s", msg, exc_info=traceback)


def serve(server: WebServer, program: str) -> int:
    """Serve until SIGTERM or SIGINT. Requests that have begun by then are still completed.

    :param program: the name of the command, for messages.
    :returns: the exit status: 1 if the server can't listen on its address.
    """
    host, port = server.bind_addr
    try:
        server.prepare()
    except OSError as error:
        print(f"{program}: can't listen on {host}:{port}: {error}", file=sys.stderr)
        return 1
    print(f"{program}: serving on http://{host}:{port}", file=sys.stderr)
    LOG.info("%s serves on %s:%s", program, host, port)
    stopper = _stopper(server)
    server.serve()
    stopper.join()
    return 0


def _stopper(server: WebServer) -> threading.Thread:
    """A thread that stops the server after a signal.

    The handler of the signal raises nothing, because it may interrupt the server while it hands a
    connection to one of its threads. That thread would then never hear that it shall end.
    """
    asked = threading.Event()

    def stop() -> None:
        asked.wait()
        server.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: asked.set())
    thread = threading.Thread(target=stop, name="stop", daemon=True)
    thread.start()
    return thread
