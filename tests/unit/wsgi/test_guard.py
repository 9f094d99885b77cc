"""Bodies with a length and in chunks, HEAD, paths and failures, as a WSGI server sends them."""

import io
import json
import logging
import sys
import types

import pytest
from oslo_context import context as oslo_context

from tests.unit.api import things
from tests.unit.wsgi import sending
from warre_blazar.errors import exceptions
from warre_blazar.wsgi import guard, request_bodies
from warre_blazar.wsgi.guard import Guard

LIMIT = 128 * 1024


class Stream:
    """A body from a server that returns only a few bytes at a time."""

    def __init__(self, data: bytes, at_once: int = 7) -> None:
        self._data = io.BytesIO(data)
        self._at_once = at_once
        self.given = 0

    def read(self, size: int = -1) -> bytes:
        data = self._data.read(self._at_once if size < 0 else min(size, self._at_once))
        self.given += len(data)
        return data


class Broken:
    def read(self, size: int = -1) -> bytes:
        raise OSError("the client is gone")


#: A request in chunks has no length. A server may or may not mark the end of its body.
CHUNKED = {"CONTENT_LENGTH": None, "HTTP_TRANSFER_ENCODING": "chunked"}
TERMINATED = {**CHUNKED, "wsgi.input_terminated": True}


def read(body, limit: int = 100, **environ):
    environ = {k: v for k, v in {"wsgi.input": body, **environ}.items() if v is not None}
    found = request_bodies.read(environ, limit)
    assert environ["wsgi.input"].read() == found
    assert environ["CONTENT_LENGTH"] == str(len(found))
    assert "HTTP_TRANSFER_ENCODING" not in environ
    return found


@pytest.mark.parametrize(
    "environ",
    [
        {"CONTENT_LENGTH": "12"},
        TERMINATED,
        {**TERMINATED, "HTTP_TRANSFER_ENCODING": "gzip, Chunked"},
        # A length is ignored if the body is in chunks.
        {**TERMINATED, "CONTENT_LENGTH": "3"},
        # In HTTP/2 a body has no chunks and needs no length.
        {"wsgi.input_terminated": True},
    ],
)
def test_whole_body_is_read(environ):
    assert read(Stream(b"twelve bytes"), **environ) == b"twelve bytes"


@pytest.mark.parametrize("environ", [{}, {"CONTENT_LENGTH": ""}, {"CONTENT_LENGTH": "0"}])
def test_body_without_length_is_empty(environ):
    assert read(Stream(b"of the next request"), **environ) == b""


def test_no_more_than_the_length_is_read():
    stream = Stream(b"twelve bytes and the next request")
    assert read(stream, CONTENT_LENGTH="12") == b"twelve bytes"
    assert stream.given == 12


@pytest.mark.parametrize("environ", [{"CONTENT_LENGTH": "1000"}, TERMINATED])
def test_body_over_the_limit_is_refused(environ):
    stream = Stream(b"x" * 1000)
    with pytest.raises(exceptions.Refused, match="at most 100 bytes") as raised:
        read(stream, **environ)
    assert raised.value.code == "body_too_large"
    # Apache would answer 503 if a part of the body weren't read.
    assert stream.given == 1000


@pytest.mark.parametrize("environ", [{"CONTENT_LENGTH": "1000"}, TERMINATED])
def test_dropped_part_of_a_body_is_bounded(monkeypatch, environ):
    monkeypatch.setattr(request_bodies, "_DROPPED", 300)
    stream = Stream(b"x" * 1000)
    with pytest.raises(exceptions.Refused, match="at most 100 bytes"):
        read(stream, **environ)
    assert 300 <= stream.given <= 300 + 100 + 2 * 7


def test_client_that_disconnects_while_its_body_is_dropped_is_refused():
    with pytest.raises(exceptions.Refused) as raised:
        read(Broken(), CONTENT_LENGTH="1000")
    assert raised.value.code == "body_too_large"


def test_body_of_exactly_the_limit_is_read():
    assert len(read(Stream(b"x" * 100), **TERMINATED)) == 100
    assert len(read(Stream(b"x" * 100), CONTENT_LENGTH="100")) == 100


@pytest.mark.parametrize("length", ["-1", "x", "1.5", "+1", "1 ", "\u0661", "0x10"])
def test_malformed_length_is_refused(length):
    with pytest.raises(exceptions.Refused, match="Content-Length"):
        read(Stream(b"x"), CONTENT_LENGTH=length)


@pytest.mark.parametrize("environ", [{"CONTENT_LENGTH": "9"}, TERMINATED])
def test_body_of_a_client_that_disconnects_is_refused(environ):
    with pytest.raises(exceptions.Refused) as raised:
        read(Broken(), **environ)
    assert raised.value.code == "incomplete_body"


def test_body_shorter_than_its_length_is_refused():
    with pytest.raises(exceptions.Refused, match="4 of the 9 bytes"):
        read(Stream(b"four"), CONTENT_LENGTH="9")


def test_chunks_that_the_server_can_not_read_are_refused():
    with pytest.raises(exceptions.Refused, match="Content-Length") as raised:
        read(Stream(b"x"), **CHUNKED)
    assert raised.value.code == "length_required"


def test_chunks_are_read_with_uwsgis_function(monkeypatch):
    """uWSGI has a function of its own that reads chunks."""
    chunks = [b"twelve ", b"bytes", b""]
    module = types.SimpleNamespace(chunked_read=lambda: chunks.pop(0))
    monkeypatch.setitem(sys.modules, "uwsgi", module)
    assert read(Stream(b"not this"), **CHUNKED) == b"twelve bytes"
    chunks += [*[b"x" * 60] * 3, b""]
    with pytest.raises(exceptions.Refused, match="at most 100 bytes"):
        read(Stream(b"not this"), **CHUNKED)


@pytest.mark.parametrize("environ", [{}, TERMINATED])
def test_booking_works_with_length_and_in_chunks(site, admin, environ):
    """Both our controllers and Blazar's v1 get a body that was sent in chunks."""
    flavor = things.add_flavor(admin)
    body = things.booking(flavor)
    answer = sending.send(site.app, "POST", "/v2/reservations", body, environ=environ)
    assert answer.status_int == 200, answer
    body = sending.lease(sending.slot(flavor))
    answer = sending.send(site.app, "POST", "/v1/leases", body, environ=environ)
    assert answer.status_int == 201, answer
    changed = {"end_date": "2100-01-03 10:00"}
    path = f"/v1/leases/{answer.json['lease']['id']}"
    assert sending.send(site.app, "PUT", path, changed, environ=environ).status_int == 200


def test_request_without_length_is_refused_as_empty(site, admin):
    """Blazar's v1 would fail, because it compares the length with a number."""
    none = {"CONTENT_LENGTH": None}
    answer = sending.send(site.app, "POST", "/v1/leases", environ=none)
    assert sending.refused(answer) == (400, "empty_body")
    answer = sending.send(site.app, "POST", "/v2/reservations", environ=none)
    assert sending.refused(answer) == (400, "empty_body")


@pytest.mark.parametrize("path", ["/v1/leases", "/v1/os-hosts", "/v2/flavors", "/v2/nothing", "/"])
@pytest.mark.parametrize("environ", [{}, TERMINATED])
def test_body_over_the_limit_is_refused_on_every_path(site, path, environ):
    body = b"[" + b" " * LIMIT
    answer = sending.send(site.app, "POST", path, body, environ=environ)
    assert sending.refused(answer) == (413, "body_too_large")
    assert answer.json["error_name"] == "REQUEST_ENTITY_TOO_LARGE"
    assert answer.json["detail"] == {"limit": LIMIT}


def test_body_whose_length_is_far_over_the_limit_is_not_read_to_its_end(site):
    class Endless:
        given = 0

        def read(self, size: int = -1) -> bytes:
            self.given += size
            return b"x" * size

    body = Endless()
    sent = {"wsgi.input": body, "CONTENT_LENGTH": str(2**40)}
    answer = sending.send(site.app, "POST", "/v1/leases", environ=sent)
    assert sending.refused(answer) == (413, "body_too_large")
    assert body.given == request_bodies._DROPPED


@pytest.mark.parametrize(
    "path",
    [
        *("/", "/versions", "/v1/leases", "/v1/leases/x", "/v1/nothing", "/v2/flavors"),
        *("/v2/flavors/x", "/v2/flavors/", "/v2/nothing", "/v2/leases", "/v2", "/nothing"),
        *("/v2/flavors/\xff\xfe", "/v1/leases/\xff\xfe", "/v2/\xff", "/\xff"),
    ],
)
def test_head_is_answered_like_get_without_the_body(site, path):
    got, head = (sending.send(site.app, method, path) for method in ("GET", "HEAD"))
    assert head.status_int == got.status_int < 500
    assert head.body == b""
    assert head.content_type == got.content_type
    assert head.content_length == len(got.body)


@pytest.mark.parametrize("path", ["/v2/flavors/\xff\xfe", "/v1/leases/\xff\xfe", "/\xff"])
def test_path_that_is_not_utf_8_is_refused(site, path):
    assert sending.refused(sending.send(site.app, "GET", path)) == (400, "invalid_field")


@pytest.mark.parametrize("accept", [None, "", "*/*", "text/html", "application/json"])
def test_lease_is_answered_for_any_accept_header(site, admin, accept):
    """Blazar's v1 would create the lease and then fail if the request had no such header."""
    body = sending.lease(sending.slot(things.add_flavor(admin)))
    answer = sending.send(site.app, "POST", "/v1/leases", body, environ={"HTTP_ACCEPT": accept})
    assert answer.status_int == 201
    assert answer.json["lease"]["name"] == "lease"


def test_request_without_client_address_is_answered(site):
    """A request through a Unix socket has no address."""
    sent = {"REMOTE_ADDR": None}
    assert sending.send(site.app, "GET", "/v1/leases", environ=sent).status_int == 200


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "a/b", "x"])
def test_lease_with_another_content_type_is_refused(site, admin, kind):
    body = sending.lease(sending.slot(things.add_flavor(admin)))
    sent = {"CONTENT_TYPE": kind}
    answer = sending.send(site.app, "POST", "/v1/leases", body, environ=sent)
    assert answer.status_int == 400
    assert sending.send(site.app, "GET", "/v1/leases").json["leases"] == []


def test_bad_body_is_refused_before_the_token_is_checked(site):
    """All other requests need a token."""
    good = sending.lease({"resource_type": "flavor:slot"})
    for who in (None, "stranger"):
        answer = sending.send(site.app, "POST", "/v1/leases", {"events": [1]}, who=who)
        assert sending.refused(answer) == (400, "invalid_field")
        assert sending.send(site.app, "POST", "/v1/leases", good, who=who).status_int == 401
        assert sending.send(site.app, "GET", "/v2/flavors", who=who).status_int == 401


@pytest.mark.parametrize("begun", [False, True])
def test_unexpected_failure_is_answered_as_internal(begun):
    """If an answer has begun, the server gets the exception, because it may have sent a part."""

    def fails(environ, start_response):
        if begun:
            start_response("200 OK", [])
        raise ZeroDivisionError("secret")

    told = []
    environ = {"REQUEST_METHOD": "GET", "PATH_INFO": "/v2/flavors", "wsgi.input": io.BytesIO()}
    body = b"".join(Guard(fails, lambda _: False)(environ, lambda *given: told.append(given)))
    status, headers, *failure = told[-1]
    assert status.startswith("500 ")
    assert dict(headers)["Content-Length"] == str(len(body))
    assert json.loads(body)["code"] == "internal"
    assert b"secret" not in body
    assert [type(each[1]) for each in failure] == [ZeroDivisionError] * begun


def test_bodies_have_limits(site):
    body = sending.lease(*[{"resource_type": "flavor:slot", "flavor_id": "x"}] * 33)
    answer = sending.send(site.app, "POST", "/v1/leases", body)
    assert sending.refused(answer) == (413, "too_many_reservations")
    long = sending.lease({"resource_type": "flavor:slot", "flavor_id": "x" * 128 * 1024})
    answer = sending.send(site.app, "POST", "/v1/leases", long)
    assert sending.refused(answer) == (413, "body_too_large")


def test_refusal_is_not_logged_under_the_user_of_an_earlier_request(site, caplog):
    """oslo.log takes the user from the thread's context, which Blazar leaves after a request."""
    users = []

    class Users(logging.Handler):
        def emit(self, _record: logging.LogRecord) -> None:
            current = oslo_context.get_current()
            users.append((current.user_id, current.request_id))

    assert sending.send(site.app, "GET", "/v1/leases", who="admin").status_int == 200
    before = oslo_context.get_current()
    assert before.user_id
    caplog.set_level(logging.INFO, guard.LOG.name)
    logger = logging.getLogger(guard.LOG.name)
    logger.addHandler(handler := Users())
    try:
        for _ in range(2):
            answer = sending.send(site.app, "POST", "/v1/leases", b"[", who="alpha")
            assert answer.status_int == 400
    finally:
        logger.removeHandler(handler)
    assert [user for user, _ in users] == [None, None]
    assert len({before.request_id, *(request for _, request in users)}) == 3
