"""A fake HTTP service, which runs in a thread of its own and can be made to fail."""

import dataclasses
import json
import re
import socket
import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclasses.dataclass(frozen=True)
class Request:
    """A request that the service has received."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any

    @property
    def line(self) -> str:
        return f"{self.method} {self.path}"


@dataclasses.dataclass(frozen=True)
class Answer:
    """A response. If ``body`` is None, it has no body. Bytes are sent as they are."""

    status: int
    body: Any = None
    headers: dict[str, str] = dataclasses.field(default_factory=dict)


class Refusal(Exception):
    """An error response, with a status of 400 or more, which handlers raise."""

    def __init__(self, status: int, reason: str = "the fake said so") -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


@dataclasses.dataclass
class Fault:
    """What goes wrong with requests.

    The fault strikes ``times`` times, from the ``first`` request that matches ``match`` on:

    * ``status``: the request isn't executed; the response has this status.
    * ``drop``: the request isn't executed; the connection is closed.
    * ``lose``: the request is executed, but the connection is closed without a response.
    * ``hang``: the request is executed only when the service is mended.
    * ``then``: a function that is called with the request before it is executed as usual.
    """

    status: int | None = None
    drop: bool = False
    lose: bool = False
    hang: bool = False
    then: Callable[[Request], None] | None = None
    match: str = ""
    first: int = 1
    times: float = float("inf")
    seen: int = 0

    def strikes(self, request: Request) -> bool:
        if not re.search(self.match, request.line):
            return False
        self.seen += 1
        return self.first <= self.seen < self.first + self.times


def _encoded(body: Any) -> bytes:
    if body is None:
        return b""
    return body if isinstance(body, bytes) else json.dumps(body).encode()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256
    service: "Service"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def _handle(self) -> None:
        request = self._read()
        service = self.server.service
        # ``mend`` may be called as soon as the request is recorded.
        mended = service.mended
        fault = service.record(request)
        if service.stopped or (fault and fault.drop):
            self._hang_up()
            return
        if fault and fault.hang:
            service.on_hang()
            mended.wait()
        if fault and fault.then:
            fault.then(request)
        if fault and fault.status:
            answer = service.refuse(fault.status, "the fake said so")
        else:
            answer = service.answer(request)
        if fault and fault.lose:
            self._hang_up()
        else:
            self._send(answer)

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = _handle

    def _read(self) -> Request:
        url = urlsplit(self.path)
        text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        return Request(
            self.command,
            url.path,
            {k: v[0] for k, v in parse_qs(url.query).items()},
            {k.lower(): v for k, v in self.headers.items()},
            json.loads(text) if text else None,
        )

    def _hang_up(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def _send(self, answer: Answer) -> None:
        text = _encoded(answer.body)
        self.send_response(answer.status)
        for name, value in {"Content-Type": "application/json", **answer.headers}.items():
            self.send_header(name, value)
        if answer.status != 204:
            self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: Any) -> None:
        """Suppress the server's log."""


Handler = Callable[..., Answer]


class Service:
    """A service. Subclasses list their ``routes``: method, pattern of the path, handler's name."""

    routes: tuple[tuple[str, str, str], ...] = ()

    def __init__(self) -> None:
        self.lock = threading.RLock()
        #: Every request line, in order.
        self.requests: list[str] = []
        self.faults: list[Fault] = []
        self.mended = threading.Event()
        self.stopped = False
        #: A function that is called when a request begins to hang.
        self.on_hang: Callable[[], None] = self.ignore
        self._server = self._listen(0)
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def ignore(self) -> None:
        """What is done about a request that begins to hang, unless a test wants something else."""

    def _listen(self, port: int) -> _Server:
        server = _Server(("127.0.0.1", port), _Handler)
        server.service = self
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        return server

    def encrypt(self, context: ssl.SSLContext) -> None:
        """Serve TLS from now on."""
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.url = f"https://127.0.0.1:{self.port}"

    def record(self, request: Request) -> Fault | None:
        """Record a request, and return the fault that strikes it, if any."""
        with self.lock:
            self.requests.append(request.line)
            return next((f for f in self.faults if f.strikes(request)), None)

    def answer(self, request: Request) -> Answer:
        """Execute a request."""
        try:
            for method, pattern, name in self.routes:
                match = re.fullmatch(pattern, request.path)
                if match and method == request.method:
                    with self.lock:
                        return getattr(self, name)(request, *match.groups())
        except Refusal as refusal:
            return self.refuse(refusal.status, refusal.reason)
        return self.refuse(404, f"the fake has no {request.line}")

    def refuse(self, status: int, reason: str) -> Answer:
        """An error response in the service's own format."""
        return Answer(status, {"error": {"code": status, "message": reason}})

    def fail(self, **fault: Any) -> None:
        """Add a fault, from the arguments of ``Fault``."""
        self.faults.append(Fault(**fault))

    def mend(self) -> None:
        """Remove all faults, and let hanging requests go on."""
        self.faults.clear()
        self.mended.set()
        self.mended = threading.Event()

    def stop(self) -> None:
        """Stop listening, so that connections are refused."""
        if not self.stopped:
            self.stopped = True
            self._server.shutdown()
            self._server.server_close()

    def start(self) -> None:
        """Listen again on the same port."""
        if self.stopped:
            self._server = self._listen(self.port)
            self.stopped = False
