"""Tells whether a service is up. Each kind of service is asked in its own way."""

import dataclasses
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Callable

from devcloud_lib.console import Failure

POLL_SECONDS = 0.2
TIMEOUT_SECONDS = 120.0


# Without a proxy, because all services are on this machine.
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclasses.dataclass(frozen=True)
class Tcp:
    """The service accepts connections on a port. If it `greets`, it also sends the first byte."""

    port: int
    greets: bool = False

    def answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=2) as connection:
                return bool(connection.recv(1)) if self.greets else True
        except OSError:
            return False


@dataclasses.dataclass(frozen=True)
class Http:
    """A web service answers with any status below 500, such as 401."""

    url: str

    def answers(self) -> bool:
        try:
            with _opener.open(self.url, timeout=5):
                return True
        except urllib.error.HTTPError as error:
            return int(error.code) < 500
        except OSError:
            return False


@dataclasses.dataclass(frozen=True)
class Rpc:
    """A server on the message bus answers oslo.messaging's ping (see inside/rpc_ping.py)."""

    exchange: str
    topic: str
    server: str


def wait_until(
    answers: Callable[[], bool],
    gone: Callable[[], bool],
    what: str,
    seconds: float = TIMEOUT_SECONDS,
) -> None:
    """Poll until the service answers.

    :param what: the service's name, for messages.
    :raises Failure: its process is gone, or the time is over.
    """
    deadline = time.monotonic() + seconds
    while not answers():
        if gone():
            raise Failure(f"{what} ended while it was starting")
        if time.monotonic() > deadline:
            raise Failure(f"{what} does not answer after {seconds:.0f} s")
        time.sleep(POLL_SECONDS)
