"""Bookings that are sent several times with one idempotency key."""

import uuid

import pytest

from tests.functional.cloud import world
from tests.functional.cloud.conftest import Offer
from tests.functional.cloud.people import Person
from tests.functional.cloud.waiting import at_once

pytestmark = pytest.mark.together

MANY = 8


def test_booking_that_is_sent_many_times_at_once_is_booked_once(alpha: Person, offer: Offer):
    flavor = offer(slots=MANY)
    body = {"flavor_id": flavor["id"], **world.far().v2}
    headers = {"Idempotency-Key": str(uuid.uuid4())}
    answers = []

    def send() -> None:
        # A request whose sibling has failed is refused with try_again.
        for _ in range(5):
            answer = alpha.ask("POST", "/v2/reservations/", body, headers=headers)
            if answer.status_code != 409:
                break
        answers.append(answer)

    at_once([send] * MANY, MANY)
    assert [answer.status_code for answer in answers] == [200] * MANY
    assert len({answer.json()["id"] for answer in answers}) == 1
    mine = alpha.asks("GET", f"/v2/reservations/?flavor_id={flavor['id']}")
    assert mine["total"] == 1
    again = alpha.ask("POST", "/v2/reservations/", body, headers=headers).json()
    assert again["id"] == mine["results"][0]["id"]
