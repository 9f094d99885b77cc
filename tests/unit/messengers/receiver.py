"""A web server that receives webhooks."""

import contextlib
import hashlib
import hmac
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SECRET = "a secret of the site"


class Receiver(ThreadingHTTPServer):
    """A web server that checks signatures as the documentation shows, and records requests."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.secret = SECRET
        self.status = 200
        self.headers: dict[str, str] = {}
        self.received: list[dict[str, Any]] = []
        #: The host and the path of each of them.
        self.requested: list[tuple[str, str]] = []
        #: The server doesn't answer until this is set.
        self.may_answer = threading.Event()
        self.may_answer.set()


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.may_answer.wait(30)
        stamp = self.headers["Warre-Timestamp"]
        signed = hmac.new(self.server.secret.encode(), f"{stamp}.".encode() + body, hashlib.sha256)
        valid = hmac.compare_digest(self.headers["Warre-Signature"], f"sha256={signed.hexdigest()}")
        status = self.server.status if valid else 401
        if status == 200:
            self.server.received.append({"stamp": stamp, **json.loads(body)})
            self.server.requested.append((self.headers["Host"], self.path))
        self.send_response(status)
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", "0")
        with contextlib.suppress(OSError):
            self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""


@contextlib.contextmanager
def serving() -> Iterator[Receiver]:
    """A receiver that serves until the end."""
    with Receiver() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.may_answer.set()
        server.shutdown()
        thread.join()
