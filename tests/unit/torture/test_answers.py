"""Whether a request can have been sent, and by what an answer is counted."""

import http.server
import threading
from collections.abc import Iterator

import pytest
import requests
from devcloud_lib.ports import free_port

from tests.torture.answers import Http


class _Api(http.server.BaseHTTPRequestHandler):
    """Keystone and an API in one, which answers by the path."""

    def do_POST(self) -> None:
        """Answer, or don't."""
        self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/lost":
            self.connection.close()
            return
        body = {
            "/code": b'{"code": "try_again", "error_message": "Try again"}',
            "/blazar": b'{"error_message": "Lease 00000000-0000-0000-0000-000000000001 is not so"}',
            "/text": b"<html>",
        }.get(self.path, b"{}")
        self.send_response(201 if self.path == "/auth/tokens" else 409)
        self.send_header("X-Subject-Token", "token")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def url() -> Iterator[str]:
    """A server's."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Api)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/code", 409, "try_again"),
        ("/blazar", 409, "Lease ID is not so"),
        ("/text", 409, "no JSON"),
        ("/lost", 0, "connection lost"),
    ],
)
def test_answer_is_known_by_its_code(url: str, path: str, status: int, code: str):
    answer = Http(url, "user", "project", "secret").ask("POST", url + path, {}, 5.0)
    assert (answer.status, answer.code) == (status, code)
    assert answer.is_refusal == (status == 409)


def test_nothing_is_sent_where_nobody_listens(url: str):
    nobody = f"http://127.0.0.1:{free_port()}"
    assert Http(url, "u", "p", "s").ask("POST", nobody, {}, 5.0).code == "no connection"
    assert Http(nobody, "u", "p", "s").ask("POST", url, {}, 5.0).code == "not sent: no token"


def test_requests_say_why_a_connection_was_refused():
    # What is told apart rests on this.
    with pytest.raises(requests.exceptions.ConnectionError):
        requests.post(f"http://127.0.0.1:{free_port()}", timeout=5)
