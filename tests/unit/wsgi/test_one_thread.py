"""A process with one thread, whose manager has just stopped, goes on serving."""

import contextlib
import http.client
import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator
from concurrent import futures
from typing import Any

import pytest
from oslo_utils import timeutils

from tests.functional.db import managers
from tests.unit.api import identity, things
from tests.unit.api.people import Person
from tests.unit.wsgi import one_thread, sending
from tests.unit.wsgi.whole import WholeSite

pytestmark = pytest.mark.slow

#: No request waits that long, unless the process stands still until the manager's time is up.
_PATIENCE = 50
#: In a test, this manager's heartbeat never gets old.
_LIVING = -3600

Answer = tuple[int, Any]


class Server:
    """The process. It shares the database, Keystone and the rest of the cloud with the site."""

    def __init__(self, port: int) -> None:
        self._port = port

    def send(self, method: str, path: str, body: Any = None, key: str = "") -> Answer:
        headers = {
            "X-Auth-Token": identity.token("alpha"),
            "Content-Type": "application/json",
            **({"Idempotency-Key": key} if key else {}),
        }
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=_PATIENCE)
        with contextlib.closing(connection):
            connection.request(method, path, json.dumps(body) if body else None, headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())


@pytest.fixture
def flavor(site: WholeSite, admin: Person) -> dict[str, Any]:
    """A flavor. From now on the site has the time of the process."""
    made = things.add_flavor(admin, slots=9)
    timeutils.clear_time_override()
    return made


@pytest.fixture
def server(site: WholeSite, flavor: dict[str, Any], tmp_path: pathlib.Path) -> Iterator[Server]:
    receiving, sending_end = os.pipe()
    words = [sys.executable, "-W", "ignore", "-m", one_thread.__name__, str(sending_end)]
    environment = {**os.environ, "OS_BLAZAR_CONFIG_DIR": str(site.directory)}
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(
            words, stdout=log, stderr=log, env=environment, pass_fds=[sending_end]
        )
    os.close(sending_end)
    try:
        with os.fdopen(receiving) as ports:
            port = ports.readline()
        assert port, (tmp_path / "log").read_text()
        yield Server(int(port))
    finally:
        process.kill()
        process.wait()


def code(answer: Answer) -> tuple[int, str]:
    return answer[0], answer[1].get("code")


def test_reads_are_answered_while_bookings_wait(
    site: WholeSite, server: Server, flavor: dict[str, Any]
) -> None:
    managers.add_heartbeat(_LIVING)
    body = things.booking(flavor)
    with futures.ThreadPoolExecutor(4) as pool:
        bookings = [
            pool.submit(server.send, "POST", "/v2/reservations", body, f"key-{number}")
            for number in range(3)
        ]
        read = pool.submit(server.send, "GET", "/v2/flavors")
        assert read.result()[0] == 200
        assert [code(booking.result()) for booking in bookings] == [(503, "no_answer")] * 3

    # A manager is there again, and takes the first booking after all.
    booked = sending.send(site.app, "POST", "/v2/reservations", body, Idempotency_Key="key-0")
    status, found = server.send("POST", "/v2/reservations", body, "key-0")
    assert (status, found["id"]) == (booked.status_int, booked.json["id"])


def test_bookings_are_refused_at_once_when_the_heartbeat_is_old(
    server: Server, flavor: dict[str, Any]
) -> None:
    managers.add_heartbeat(21)
    answer = server.send("POST", "/v2/reservations", things.booking(flavor))
    assert code(answer) == (503, "service_unavailable")
