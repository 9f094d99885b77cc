"""If the project itself holds what is missing, a refusal names its reservations."""

import pytest

from tests.unit.api import things
from tests.unit.api.people import Person
from tests.unit.api.things import at
from tests.unit.api.typed import Terminal
from warre_blazar.cli.booking import CreateReservation


@pytest.fixture
def flavor(admin: Person) -> dict:
    return things.add_flavor(admin)


def test_refusal_names_what_the_project_itself_has(alpha: Person, beta: Person, flavor: dict):
    things.book(alpha, flavor, start=at(1, 9), end=at(1, 11), name="before")
    own = things.book(alpha, flavor, name="lab")
    things.book(beta, flavor, name="other")
    named = {name: own[name] for name in ("id", "name", "instance_count", "start", "end")}
    refused = alpha.post("reservations", things.booking(flavor))
    assert refused.json["code"] == "slots_exhausted"
    foreseen = alpha.post("reservations?dry_run=true", things.booking(flavor))
    change = {"end": at(2, 10), "instance_count": 2}
    changed = alpha.patch(f"reservations/{own['id']}?dry_run=true", change)
    later = things.booking(flavor, start=at(3), end=at(4))
    accepted = alpha.post("reservations?dry_run=true", later)
    assert refused.json["detail"]["own"] == foreseen.json["own"] == [named]
    assert (changed.json["bookable"], changed.json["own"]) == (False, [])
    assert (accepted.json["bookable"], accepted.json["own"]) == (True, [])


def test_second_try_names_the_reservation_of_the_first(
    alpha: Person, flavor: dict, typed: Terminal
):
    things.book(alpha, flavor, instance_count=2, name="cc")
    (own,) = alpha.get("reservations").json["results"]
    words = ("--start", at(2, 9), "--end", at(2, 11), "--name", "cc")
    said = typed.run("alpha", CreateReservation, "gpu.small", *words).splitlines()
    assert any(line.startswith("Failed: No slot is free then.") for line in said)
    assert (
        f"Your project has these reservations of gpu.small then: cc ({own['id']}), 2 slots, "
        "2100-01-03 09:00 UTC to 2100-01-03 11:00 UTC"
    ) in said
    # The refusal has all that is said. So nothing is computed between it and the sentence.
    assert typed.requests == ["POST /v2/reservations"]


def test_unknown_flavor_is_named_except_on_warres_path(alpha: Person):
    body = things.booking({"id": "nonesuch"})
    said = [alpha.post(path, body).json for path in ("reservations", "warre/v1/reservations")]
    assert [each["error_message"] for each in said] == [
        "Flavor nonesuch does not exist",
        "Flavor does not exist",
    ]
