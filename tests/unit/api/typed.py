"""Commands against the whole API, over HTTP."""

import contextlib
import io
import threading
from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any
from wsgiref import simple_server

import pytest
from blazarclient import client
from keystoneauth1 import session, token_endpoint

from tests.unit.api import identity
from tests.unit.api.site import Site
from warre_blazar.cli.failure import Failure


class _Quiet(simple_server.WSGIRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Say nothing of each request."""


class Terminal:
    """Where a user types commands.

    :ivar requests: the requests that the commands have sent, such as ``GET /v2/reservations``.
    """

    def __init__(self, url: str, capsys: pytest.CaptureFixture[str]) -> None:
        self._url, self._capsys = url, capsys
        self.requests: list[str] = []

    def run(self, person: str, command: type, *words: str) -> str:
        """Run a command, and return all that it has printed, with the error if it fails."""
        auth = token_endpoint.Token(f"{self._url}/v1", identity.token(person))
        blazar = client.Client("1", session=session.Session(auth=auth, timeout=10))
        shown = io.StringIO()
        app = SimpleNamespace(
            stdout=shown, client_manager=SimpleNamespace(reservation=blazar), NAME="openstack"
        )
        typed = command(app, None)
        self._capsys.readouterr()
        failed = ""
        try:
            typed.attempt(typed.get_parser("it").parse_args(words))
        except Failure as failure:
            failed = f"Failed: {failure}"
        said = self._capsys.readouterr()
        return "\n".join(text for text in (shown.getvalue(), said.err, failed) if text)


@contextlib.contextmanager
def terminal(site: Site, capsys: pytest.CaptureFixture[str]) -> Iterator[Terminal]:
    """A terminal whose commands reach the site."""

    def handle(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        typed.requests.append(f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}")
        return site.app(environ, start_response)

    with simple_server.make_server("127.0.0.1", 0, handle, handler_class=_Quiet) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        typed = Terminal(f"http://127.0.0.1:{server.server_port}", capsys)
        yield typed
        server.shutdown()
        thread.join()
