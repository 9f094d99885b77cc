"""The running server, over real sockets. There is no Keystone, so only its own refusals work."""

import contextlib
import http.client
import json
import os
import pathlib
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
from devcloud_lib.ports import free_port

from warre_blazar.wsgi import request_bodies

pytestmark = pytest.mark.slow

LIMIT = request_bodies.MAX_BODY


class Server:
    def __init__(self, port: int, process: subprocess.Popen[bytes]) -> None:
        self.port, self.process = port, process

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """The answer's status and document. A body that is an iterator is sent in chunks."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        with contextlib.closing(connection):
            connection.request(method, path, body, headers, encode_chunked=True)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or b"null")


def start(
    tmp_path: pathlib.Path, port: int, plugins: str = "flavor.slot.plugin", **options: str
) -> subprocess.Popen[bytes]:
    """Start the server.

    :param plugins: the enabled plugins.
    :param options: further options of the group ``[warre]``.
    """
    more = "\n".join(f"{name} = {value}" for name, value in options.items())
    config = tmp_path / "blazar.conf"
    config.write_text(
        f"""
[DEFAULT]
host = 127.0.0.1
port = {port}
transport_url = fake://
[database]
connection = sqlite:///{tmp_path}/blazar.sqlite
[manager]
plugins = {plugins}
[warre]
{more}
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


def test_answer_says_how_many_threads_serve(server: Server):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    with contextlib.closing(connection):
        connection.request("OPTIONS", "/")
        answer = connection.getresponse()
    assert answer.status == 401
    assert answer.headers["X-Warre-Blazar"].endswith("; threads=10")


def test_request_without_token_is_unauthorized(server: Server):
    status, document = server.ask("GET", "/v2/flavors")
    assert (status, document["error"]["code"]) == (401, 401)


@pytest.mark.parametrize("chunks", [False, True])
def test_bad_lease_is_refused(server: Server, chunks: bool):
    body = json.dumps({"end_date": "2100-01-01 12:00", "events": []}).encode()
    sent = iter([body[:10], body[10:]]) if chunks else body
    status, document = server.ask("PUT", "/v1/leases/x.json", sent)
    assert (status, document["code"]) == (400, "invalid_field")
    assert document["detail"]["field"] == "events"


@pytest.mark.parametrize("chunks", [False, True])
def test_body_over_the_limit_is_refused(server: Server, chunks: bool):
    sent = iter([b"x" * 1000] * 132) if chunks else b"x" * (LIMIT + 1)
    status, document = server.ask("POST", "/v2/reservations", sent)
    assert (status, document["code"]) == (413, "body_too_large")


def test_endless_chunk_is_refused(server: Server):
    """A server that reads a whole chunk before it passes it on could run out of memory."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(
            b"POST /v1/leases HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"40000000\r\nxxxx"
        )
        assert connection.recv(4096).startswith(b"HTTP/1.1 4")


def test_second_server_on_the_same_port_fails_with_a_message(
    server: Server, tmp_path: pathlib.Path
):
    process = start(tmp_path, server.port)
    assert process.wait(60) == 1
    assert f"can't listen on 127.0.0.1:{server.port}" in (tmp_path / "log").read_text()


def test_sigterm_ends_the_server(server: Server):
    """This must be the last test in this module."""
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(30) == 0


def test_malformed_option_stops_the_server_with_a_message(tmp_path: pathlib.Path):
    process = start(tmp_path, free_port(), pci_alias='{"name": "gpu", "vendor": "10de"}')
    assert process.wait(60) == 1
    *_, last = (tmp_path / "log").read_text().splitlines()
    assert last.startswith("warre-blazar-api: [warre] pci_alias is set to a value that can't be")
    assert "vendor" in last


def test_server_without_the_plugin_stops_with_a_message(tmp_path: pathlib.Path):
    process = start(tmp_path, free_port(), plugins="physical.host.plugin")
    assert process.wait(60) == 1
    *_, last = (tmp_path / "log").read_text().splitlines()
    assert last.endswith("it lacks flavor.slot.plugin, which enables warre-blazar")


def test_tables_of_another_release_stop_the_server_with_a_message(tmp_path: pathlib.Path):
    with contextlib.closing(sqlite3.connect(tmp_path / "blazar.sqlite")) as db:
        db.execute("CREATE TABLE warre_alembic_version (version_num VARCHAR(32))")
        db.execute("INSERT INTO warre_alembic_version VALUES ('0118')")
        db.commit()
    process = start(tmp_path, free_port())
    assert process.wait(timeout=60) == 1
    said = (tmp_path / "log").read_text()
    assert "at revision 0118, and this version needs" in said
    assert "Traceback" not in said
