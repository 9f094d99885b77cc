"""The server as it runs, over real sockets. What it refuses at the door needs no Keystone."""

import contextlib
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

LIMIT = 4096


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Server:
    def __init__(self, port: int, process: subprocess.Popen[bytes]) -> None:
        self.port, self.process = port, process

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """Status and document; a body that is an iterator is sent in chunks."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        with contextlib.closing(connection):
            connection.request(method, path, body, headers, encode_chunked=True)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or b"null")


def start(tmp_path: pathlib.Path, port: int) -> subprocess.Popen[bytes]:
    config = tmp_path / "blazar.conf"
    config.write_text(
        f"""
[DEFAULT]
host = 127.0.0.1
port = {port}
transport_url = fake://
[database]
connection = sqlite:///{tmp_path}/blazar.sqlite
[api]
api_v2_controllers = flavors,reservations
[warre]
max_request_body = {LIMIT}
[keystone_authtoken]
auth_type = password
auth_url = http://127.0.0.1:9/v3
username = blazar
password = secret
"""
    )
    words = [sys.executable, "-W", "ignore", "-m", "warre_blazar.cmd.api", "--config-file", config]
    with (tmp_path / "log").open("w") as log:
        return subprocess.Popen(words, stderr=log, env={**os.environ, "PYTHONPATH": ""})


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    tmp_path = tmp_path_factory.mktemp("api")
    port = free_port()
    process = start(tmp_path, port)
    try:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            assert process.poll() is None, (tmp_path / "log").read_text()
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.1)
        yield Server(port, process)
    finally:
        process.kill()
        process.wait()


def test_it_asks_for_a_token(server: Server):
    status, document = server.ask("GET", "/v2/flavors")
    assert (status, document["error"]["code"]) == (401, 401)


@pytest.mark.parametrize("chunks", [False, True])
def test_a_lease_is_checked(server: Server, chunks: bool):
    body = json.dumps({"end_date": "2100-01-01 12:00", "events": []}).encode()
    sent = iter([body[:10], body[10:]]) if chunks else body
    status, document = server.ask("PUT", "/v1/leases/x.json", sent)
    assert (status, document["code"]) == (400, "invalid_field")
    assert document["detail"]["field"] == "events"


@pytest.mark.parametrize("chunks", [False, True])
def test_a_large_body_is_refused(server: Server, chunks: bool):
    sent = iter([b"x" * 1000] * 5) if chunks else b"x" * 5000
    status, document = server.ask("POST", "/v2/reservations", sent)
    assert (status, document["code"]) == (413, "body_too_large")


def test_a_chunk_without_end_is_not_read(server: Server):
    """A server that reads a chunk before it hands it on could be filled by one."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(
            b"POST /v1/leases HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"40000000\r\nxxxx"
        )
        assert connection.recv(4096).startswith(b"HTTP/1.1 4")


def test_a_second_one_on_the_port_says_so(server: Server, tmp_path: pathlib.Path):
    process = start(tmp_path, server.port)
    assert process.wait(60) == 1
    assert f"can't listen on 127.0.0.1:{server.port}" in (tmp_path / "log").read_text()


def test_it_ends_when_told_to(server: Server):
    """The last test here."""
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(30) == 0
