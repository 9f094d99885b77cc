"""Requests to a credits service: what its answers mean, and that each is bounded."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest

from tests.fakes.service import Answer, Request, Service
from warre_blazar.errors import exceptions
from warre_blazar.openstack import credits
from warre_blazar.openstack.credits import CreditsService


class Answering(Service):
    """A service that gives the answer which a test has set."""

    given = Answer(204)

    def answer(self, request: Request) -> Answer:
        self.headers = request.headers
        return self.given


@pytest.fixture
def fake() -> Iterator[Answering]:
    made = Answering()
    yield made
    made.mend()
    made.stop()


@pytest.fixture
def service(fake: Answering) -> CreditsService:
    return CreditsService(fake.url, lambda: {"Authorization": "Bearer x"}, timeout=60)


def test_headers_say_who_asks(fake: Answering, service: CreditsService):
    assert service.post("/check", {"a": 1}).is_yes
    assert fake.headers["authorization"] == "Bearer x"
    assert fake.headers["content-type"] == "application/json"
    assert fake.requests == ["POST /check"]


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (403, {"error": "InsufficientCredits('Too little')"}, "Too little"),
        (403, {"error": 'InsufficientCredits("It\'s too little.")'}, "It's too little"),
        (403, {"error": "No active CreditAllocation found"}, "No active CreditAllocation found"),
        (403, {"message": "Too little."}, "Too little"),
        (403, {"message": "x" * 10_000}, "x" * 500),
        (403, {"error": ["a list"]}, ""),
        (403, ["a list"], ""),
        (403, None, ""),
        (403, b"<h1>Forbidden</h1>", ""),
    ],
)
def test_refusal_has_the_words_of_the_service(
    fake: Answering, service: CreditsService, status: int, body: Any, said: str
):
    fake.given = Answer(status, body)
    answer = service.post("/check", {})
    assert (answer.is_no, answer.said) == (bool(said), said)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (200, exceptions.ServiceUnavailable),
        (301, exceptions.ServiceUnavailable),
        (400, exceptions.ServiceUnavailable),
        (401, exceptions.ServiceUnavailable),
        (403, exceptions.ServiceUnavailable),
        (500, exceptions.ServiceTimedOut),
        (502, exceptions.ServiceTimedOut),
    ],
)
def test_other_answers_are_failures(
    fake: Answering, service: CreditsService, status: int, kind: type[Exception]
):
    """From 500 on, the service may have done what it was asked."""
    fake.given = Answer(status, b"<h1>No</h1>", {"Location": fake.url})
    answer = service.post("/check", {})
    assert not answer.is_yes and not answer.is_no
    assert type(answer.failure) is kind
    assert f"its answer has the status {status}" in answer.failure.message
    assert len(fake.requests) == 1


def test_service_that_hangs_may_have_received_the_request(fake: Answering, service: CreditsService):
    fake.fail(hang=True)
    with pytest.raises(exceptions.ServiceTimedOut):
        dataclasses.replace(service, timeout=0.05).post("/check", {})


def test_service_that_listens_no_more_has_received_nothing(
    fake: Answering, service: CreditsService
):
    fake.stop()
    with pytest.raises(exceptions.ServiceUnavailable) as caught:
        service.post("/check", {})
    assert type(caught.value) is exceptions.ServiceUnavailable


def test_only_the_beginning_of_an_answer_is_read(fake: Answering, service: CreditsService):
    fake.given = Answer(403, b" " * (10 * credits._MOST_BYTES) + b'{"error": "no"}')
    assert service.post("/check", {}).said == ""
