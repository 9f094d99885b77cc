"""Calls of the webhooks of projects, with a real web server at addresses that are made up."""

import contextlib
import ipaddress
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.fakes.certificate import Certificate
from tests.unit.messengers.receiver import SECRET, Receiver
from warre_blazar import times
from warre_blazar.domain.messages.webhook_urls import UrlParts
from warre_blazar.messengers import Undeliverable
from warre_blazar.messengers.project_webhooks import WebhookCaller
from warre_blazar.services.messages.webhooks import ReceiverSilent

HOST = "hooks.example.org"
URL = f"http://{HOST}/started?key=1"
PUBLIC, OTHER = "93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946"
DOCUMENT = {"id": "warre-1", "event": "started"}


class Internet:
    """A network in which every address is a server on this machine."""

    def __init__(self, port: int) -> None:
        self.port = port
        #: The addresses that each look into DNS finds. The last ones are found again and again.
        self.found = [[PUBLIC]]
        self.asked: list[str] = []
        self.connected: list[tuple[str, int]] = []
        #: The addresses at which nothing listens.
        self.down: set[str] = set()
        #: The addresses from which nothing comes back.
        self.silent: set[str] = set()
        #: How many seconds each connection might have taken.
        self.granted: list[float] = []

    def resolve(self, host: str) -> list[str]:
        self.asked.append(host)
        return self.found.pop(0) if len(self.found) > 1 else self.found[0]

    def connect(self, address: tuple[str, int], seconds: float) -> socket.socket:
        self.connected.append(address)
        self.granted.append(seconds)
        if address[0] in self.down:
            raise ConnectionRefusedError
        if address[0] in self.silent:
            raise TimeoutError
        return socket.create_connection(("127.0.0.1", self.port), 10)


@pytest.fixture
def internet(receiver: Receiver) -> Internet:
    return Internet(receiver.server_port)


@pytest.fixture
def call(internet: Internet) -> Callable[..., None]:
    """A function that calls a webhook."""

    def called(url: str = URL, key: str = SECRET, private: Any = ()) -> None:
        caller = WebhookCaller([HOST], private, internet.resolve, internet.connect)
        caller(url, key, DOCUMENT)

    return called


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(times, "PROJECT_WEBHOOK_TIMEOUT", times.SECOND / 5)


def test_document_is_posted_with_a_signature(call: Any, internet: Internet, receiver: Receiver):
    call()
    (got,) = receiver.received
    assert int(got.pop("stamp")) > 1_600_000_000
    assert got == DOCUMENT
    assert receiver.requested == [(HOST, "/started?key=1")]
    assert internet.connected == [(PUBLIC, 80)]


def test_signature_depends_on_the_key(call: Any, receiver: Receiver):
    with pytest.raises(RuntimeError, match="401"):
        call(key="another")
    assert receiver.received == []


@pytest.mark.parametrize(
    ("status", "error"),
    [*((s, Undeliverable) for s in (400, 410)), *((s, RuntimeError) for s in (404, 429, 503))],
)
def test_refused_call_is_given_up_or_tried_again(
    call: Any, receiver: Receiver, status: int, error: type[Exception]
):
    receiver.status = status
    with pytest.raises(error, match=str(status)) as refused:
        call()
    assert type(refused.value) is error


def test_redirect_is_not_followed(call: Any, internet: Internet, receiver: Receiver):
    receiver.status = 307
    receiver.headers = {"Location": f"http://127.0.0.1:{receiver.server_port}/secret"}
    with pytest.raises(RuntimeError, match="307"):
        call()
    assert internet.connected == [(PUBLIC, 80)]


def test_name_that_leads_to_this_machine_later_is_not_called(
    call: Any, internet: Internet, receiver: Receiver
):
    """The name is looked up once for each call, and only what was checked is connected to."""
    internet.found = [[PUBLIC], ["127.0.0.1"]]
    call()
    with pytest.raises(RuntimeError, match="isn't allowed"):
        call()
    assert internet.asked == [HOST, HOST]
    assert internet.connected == [(PUBLIC, 80)]
    assert len(receiver.received) == 1


@pytest.mark.parametrize(
    "found",
    [
        *(["127.0.0.1"], ["::1"], ["::ffff:127.0.0.1"], ["169.254.169.254"], ["10.0.0.1"]),
        *(["fe80::1%eth0"], [PUBLIC, "10.0.0.1"], ["fd00::1", PUBLIC]),
    ],
    ids=",".join,
)
def test_host_with_an_address_that_is_not_allowed_is_not_called(
    call: Any, internet: Internet, found: list[str]
):
    internet.found = [found]
    with pytest.raises(RuntimeError, match="isn't allowed") as refused:
        call()
    assert internet.connected == []
    # The project needn't learn what the DNS of the operator says.
    assert not any(address in str(refused.value) for address in found)


def test_private_network_can_be_allowed(call: Any, internet: Internet, receiver: Receiver):
    internet.found = [["10.20.0.7"]]
    call(private=[ipaddress.ip_network("10.20.0.0/16")])
    assert (internet.connected, len(receiver.received)) == ([("10.20.0.7", 80)], 1)


@pytest.mark.parametrize("private", [[], [ipaddress.ip_network("127.0.0.0/8")]])
def test_this_machine_is_not_called_by_its_name(receiver: Receiver, private: list[Any]):
    host = f"localhost:{receiver.server_port}"
    with pytest.raises(RuntimeError, match="isn't allowed"):
        WebhookCaller([host], private)(f"http://{host}/", SECRET, DOCUMENT)
    assert receiver.received == []


def test_name_that_is_not_known_is_said():
    with pytest.raises(RuntimeError, match="isn't known"):
        WebhookCaller(["*"], [])("http://receiver.invalid/", SECRET, DOCUMENT)


def test_other_addresses_are_tried(call: Any, internet: Internet, receiver: Receiver):
    internet.found, internet.down = [[OTHER, PUBLIC]], {OTHER}
    call()
    assert [address for address, _ in internet.connected] == [OTHER, PUBLIC]
    internet.down.add(PUBLIC)
    with pytest.raises(RuntimeError, match="can't be connected"):
        call()
    assert len(receiver.received) == 1


@pytest.mark.parametrize("addresses", [1, 2, 4, 9])
def test_silent_addresses_leave_time_for_the_last_one_that_is_tried(
    call: Any, internet: Internet, receiver: Receiver, addresses: int
):
    found = [f"93.184.216.{number}" for number in range(addresses)]
    tried = found[:4]
    internet.found, internet.silent = [found], set(tried[:-1])
    call()
    assert [address for address, _ in internet.connected] == tried
    assert len(receiver.received) == 1
    # Connections to all of them take no longer than the whole call may.
    share = times.PROJECT_WEBHOOK_TIMEOUT / times.SECOND / len(tried)
    assert internet.granted == [share] * len(tried)


def test_answer_may_take_as_long_as_the_call(internet: Internet):
    """What a connection may take is less, if the host has several addresses."""
    internet.found = [[OTHER, PUBLIC]]
    caller = WebhookCaller([HOST], [], internet.resolve, internet.connect)
    with caller.connected(UrlParts.read(URL)) as connection:
        assert connection.gettimeout() == times.PROJECT_WEBHOOK_TIMEOUT / times.SECOND


@pytest.mark.parametrize("silent", [{PUBLIC}, {OTHER}, {OTHER, PUBLIC}], ids=len)
def test_receiver_of_which_an_address_is_silent_and_none_is_reached_is_left(
    call: Any, internet: Internet, silent: set[str]
):
    """Otherwise, it would take the time of other receivers again and again."""
    internet.found, internet.silent = [[OTHER, PUBLIC]], silent
    internet.down = {OTHER, PUBLIC} - silent
    with pytest.raises(ReceiverSilent):
        call()


def test_host_that_is_not_listed_any_more_is_not_called(call: Any, internet: Internet):
    with pytest.raises(Undeliverable, match="doesn't allow"):
        call("http://other.example.org/")
    assert internet.asked == []


def test_proxy_of_the_environment_is_not_used(
    call: Any, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    call()
    assert len(receiver.received) == 1


def test_certificate_is_checked_for_the_name(
    receiver: Receiver,
    internet: Internet,
    certificate: Certificate,
    monkeypatch: pytest.MonkeyPatch,
):
    receiver.socket = certificate.server_context().wrap_socket(receiver.socket, server_side=True)
    caller = WebhookCaller(["*"], [], internet.resolve, internet.connect)
    with pytest.raises(RuntimeError, match="SSLCertVerificationError"):
        caller("https://localhost/", SECRET, DOCUMENT)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.path))
    caller = WebhookCaller(["*"], [], internet.resolve, internet.connect)
    with pytest.raises(RuntimeError, match="SSLCertVerificationError"):
        caller(f"https://{HOST}/", SECRET, DOCUMENT)
    caller("https://localhost/a", SECRET, DOCUMENT)
    assert receiver.requested == [("localhost", "/a")]
    assert internet.connected[-1] == (PUBLIC, 443)


def test_receiver_that_is_silent_is_left(call: Any, receiver: Receiver, impatient: None):
    receiver.may_answer.clear()
    with pytest.raises(ReceiverSilent, match="doesn't answer"):
        call()


@contextlib.contextmanager
def sending(answer: Callable[[socket.socket], None]) -> Iterator[int]:
    """A server that answers each connection by a function. It has ended when the block ends."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection, contextlib.suppress(OSError):
                answer(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        thread.join()


def byte_by_byte(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
    stop = threading.Event()
    while not stop.wait(0.01):
        connection.sendall(b"x")


def without_end(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    while True:
        connection.sendall(b"X: y\r\n" * 1000)


def long_line(connection: socket.socket) -> None:
    while True:
        connection.sendall(b"x" * 10_000)


def continues(connection: socket.socket) -> None:
    stop = threading.Event()
    while not stop.wait(0.001):
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")


def hangs_up(connection: socket.socket) -> None:
    connection.recv(10)


def says_nothing(connection: socket.socket) -> None:
    while connection.recv(100_000):
        pass


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (byte_by_byte, "doesn't answer"),
        (continues, "doesn't answer"),
        (without_end, "connection to the receiver fails"),
        (long_line, "connection to the receiver fails"),
        (hangs_up, "connection to the receiver fails"),
    ],
)
def test_answer_is_bounded(call: Any, internet: Internet, impatient: None, answer: Any, said: str):
    with sending(answer) as internet.port, pytest.raises(Exception, match=said):
        call()


def test_handshake_is_bounded(internet: Internet, impatient: None):
    caller = WebhookCaller(["*"], [], internet.resolve, internet.connect)
    with (
        sending(says_nothing) as port,
        pytest.raises(ReceiverSilent),
    ):
        internet.port = port
        caller(f"https://{HOST}/", SECRET, DOCUMENT)


def test_long_body_of_an_answer_is_not_read(call: Any, internet: Internet):
    def body(connection: socket.socket) -> None:
        connection.recv(100_000)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n")
        long_line(connection)

    with sending(body) as internet.port:
        call()


def test_call_whose_name_is_found_too_late_is_not_made(
    receiver: Receiver, internet: Internet, impatient: None
):
    """It is made again later, so it would be made twice."""
    is_found = threading.Event()

    def slowly(host: str) -> list[str]:
        is_found.wait(30)
        return [PUBLIC]

    with pytest.raises(ReceiverSilent):
        WebhookCaller([HOST], [], slowly, internet.connect)(URL, SECRET, DOCUMENT)
    is_found.set()
    for thread in threading.enumerate():
        if thread.name == "warre-webhook":
            thread.join()
    assert len(internet.connected) == 1
    assert receiver.received == []
