"""Serves the application in a process with one thread, as uWSGI does without the option threads.

It writes its port into the file descriptor that is its argument. No manager listens on the
transport ``fake://`` of this process.
"""

import os
import sys
from wsgiref.simple_server import make_server

from warre_blazar import times
from warre_blazar.wsgi import request_threads


def main() -> None:
    request_threads.tell(1)
    # The test needn't wait for real.
    times.LONE_THREAD_WAIT = 1
    # The application is built when this is imported.
    from warre_blazar.wsgi import api  # noqa: PLC0415

    with make_server("127.0.0.1", 0, api.application) as server:
        os.write(int(sys.argv[1]), f"{server.server_port}\n".encode())
        server.serve_forever()


if __name__ == "__main__":
    main()
