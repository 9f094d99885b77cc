"""Leases on the dev cloud that a fake of Coral Credits charges, on each path."""

import os
import uuid
from collections.abc import Iterator

import pytest

from tests.fakes.coral_credits import CoralCredits
from tests.functional.cloud import devcloud, world
from tests.functional.cloud.conftest import Offer
from tests.functional.cloud.people import Person
from tests.functional.cloud.waiting import until

HOURS = 10_000_000.0


@pytest.fixture(scope="module")
def coral() -> Iterator[CoralCredits]:
    """Coral Credits, which the manager asks."""
    made = CoralCredits()
    options = {
        "enabled_filters": "CreditsFilter",
        "credits_url": made.url,
        "credits_token": made.token,
        "credits_auth_url": os.environ["OS_AUTH_URL"],
    }
    with devcloud.enforcing(options):
        yield made
    made.stop()


@pytest.fixture
def credits(coral: CoralCredits, beta: Person) -> dict[str, float]:
    """What is left of the credits of beta's project."""
    coral.mend()
    coral.forget()
    project_id = str(beta.cloud.current_project_id)
    coral.grant(project_id, VCPU=HOURS, MEMORY_MB=HOURS, DISK_GB=HOURS)
    return coral.credits[uuid.UUID(project_id)]


def all_given_back(credits: dict[str, float]) -> bool:
    return set(credits.values()) == {HOURS}


@pytest.mark.parametrize("path", ["/v2", "/v2/warre/v1", "/v1"])
def test_lease_is_charged_extended_and_given_back(
    coral: CoralCredits, credits: dict[str, float], beta: Person, offer: Offer, path: str
) -> None:
    flavor, period = offer(max_length_hours=100), world.far(2)
    if path == "/v1":
        body = world.lease_body(period, world.slot(flavor))
        lease_id = beta.asks("POST", "/v1/leases", body, want=201)["lease"]["id"]
    else:
        answer = beta.ask("POST", f"{path}/reservations/", {"flavor_id": flavor["id"], **period.v2})
        assert answer.status_code in (200, 202), answer.text
        lease_id = answer.json()["lease_id"]
    charged = dict(coral.consumers[uuid.UUID(lease_id)])
    beta.asks("PUT", f"/v1/leases/{lease_id}", period.moved(end=2).v1)
    extended = coral.consumers[uuid.UUID(lease_id)]
    assert extended == {name: 2 * hours for name, hours in charged.items()}
    world.delete_lease(beta, lease_id)
    until("the credits are given back", lambda: all_given_back(credits))


def test_lease_is_refused_without_credits_and_while_the_service_is_away(
    coral: CoralCredits, credits: dict[str, float], beta: Person, offer: Offer
) -> None:
    body = world.lease_body(world.far(2), world.slot(offer(max_length_hours=100)))
    credits["VCPU"] = 1
    answer = beta.ask("POST", "/v1/leases", body)
    assert answer.status_code == 400
    assert "Insufficient VCPU credits available" in answer.json()["error_message"]
    coral.fail(drop=True)
    answer = beta.ask("POST", "/v1/leases", body)
    assert answer.status_code == 503
    assert "The credits service is not available" in answer.json()["error_message"]


def test_answer_that_is_lost_charges_nothing(
    coral: CoralCredits, credits: dict[str, float], beta: Person, offer: Offer
) -> None:
    coral.fail(lose=True, match="/create", times=1)
    body = world.lease_body(world.far(2), world.slot(offer(max_length_hours=100)))
    assert beta.ask("POST", "/v1/leases", body).status_code == 503
    assert coral.consumers
    until("the credits are given back", lambda: all_given_back(credits))
