"""Bookings and waits for a project that isn't that of the caller's token."""

import pytest

from tests.unit.api import things
from tests.unit.api.people import Person, refusal
from tests.unit.api.site import Site

NOUNS = ("reservations", "waits")


@pytest.fixture
def flavor(admin: Person, alpha: Person) -> dict:
    """A private flavor that only one project may book."""
    made = things.add_flavor(admin, is_public=False)
    things.grant(admin, made, alpha.project_id)
    return made


def body(noun: str, flavor: dict, project_id: str) -> dict:
    wanted = {"hours": 2, "flavor_id": flavor["id"]} if noun == "waits" else things.booking(flavor)
    return {**wanted, "project_id": project_id}


@pytest.mark.parametrize("noun", NOUNS)
@pytest.mark.parametrize("query", ["", "?dry_run=true"])
def test_admin_without_a_role_in_the_project_is_refused(
    site: Site, admin: Person, beta: Person, alpha: Person, flavor, noun: str, query: str
):
    before = site.rows()
    for person in (admin, beta):
        answer = person.post(f"{noun}{query}", body(noun, flavor, alpha.project_id))
        assert refusal(answer) == (403, "forbidden")
        way = f"openstack role add --project {alpha.project_id} --user {person.user_id} member"
        assert (way in answer.json["error_message"]) == (person is admin)
    assert site.rows() == before


@pytest.mark.parametrize("noun", NOUNS)
def test_member_of_two_projects_uses_a_token_of_the_other_one(
    site: Site, beta: Person, alpha: Person, flavor, noun: str
):
    site.cloud.keystone.roles[beta.user_id, alpha.project_id] = ["member"]
    answer = beta.post(noun, body(noun, flavor, alpha.project_id))
    assert refusal(answer) == (403, "forbidden")


@pytest.mark.parametrize("noun", NOUNS)
def test_admin_with_a_role_in_the_project_books_for_it(
    site: Site, admin: Person, alpha: Person, flavor, noun: str
):
    site.cloud.keystone.roles[admin.user_id, alpha.project_id] = ["member"]
    made = things.made(admin.post(noun, body(noun, flavor, alpha.project_id)))
    assert (made["project_id"], made["user_id"]) == (alpha.project_id, admin.user_id)
    assert alpha.get(f"{noun}/{made['id']}").json == made
    assert admin.get(noun).json["results"] == []
    assert alpha.delete(f"{noun}/{made['id']}").status_int == 204


def test_reservation_takes_the_quota_of_its_project(
    site: Site, admin: Person, alpha: Person, flavor
):
    site.cloud.keystone.roles[admin.user_id, alpha.project_id] = ["member"]
    site.cloud.keystone.limits[alpha.project_id, "reservation"] = 1
    wanted = body("reservations", flavor, alpha.project_id)
    foreseen = admin.post("reservations?dry_run=true", wanted).json
    assert foreseen["quota"]["reservations"] == {"cost": 1, "left": 0}
    things.made(admin.post("reservations", wanted))
    assert refusal(admin.post("reservations", wanted)) == (413, "quota_exceeded")
    used = [who.get("limits").json["absolute"]["totalReservationsUsed"] for who in (alpha, admin)]
    assert used == [1, 0]


def test_own_project_can_be_named(alpha: Person, flavor):
    made = things.made(alpha.post("reservations", body("reservations", flavor, alpha.project_id)))
    assert made["project_id"] == alpha.project_id


def test_warres_path_knows_no_project_in_bodies(site: Site, admin: Person, alpha: Person, flavor):
    site.cloud.keystone.roles[admin.user_id, alpha.project_id] = ["member"]
    wanted = body("reservations", flavor, alpha.project_id)
    assert refusal(admin.post("warre/v1/reservations", wanted)) == (422, "invalid_field")


#: What Keystone refuses as the id of a project.
ODD_IDS = ["../../users", "climate_lab", "climate lab", "a%2Fb", "\u0663", "p" * 65, ""]


@pytest.mark.parametrize("odd", ODD_IDS)
def test_odd_project_id_is_refused_and_named(site: Site, admin: Person, flavor, odd: str, caplog):
    series = {**body("reservations", flavor, odd), "rrule": "FREQ=DAILY;COUNT=2", "hours": 1}
    series = {**series, "start": series["start"][:16], "timezone": "UTC"}
    del series["end"]
    access = {"flavor_id": flavor["id"], "project_id": odd}
    answers = [
        *(admin.post(noun, body(noun, flavor, odd)) for noun in NOUNS),
        *(admin.post(f"{noun}?dry_run=true", body(noun, flavor, odd)) for noun in NOUNS),
        admin.post("series", series),
        *(admin.post(f"{path}flavorprojects", access) for path in ("", "warre/v1/")),
    ]
    for answer in answers:
        assert refusal(answer) == (422, "invalid_field")
        assert answer.json["error_message"].startswith("project_id: expected")
    assert not [record for record in caplog.records if record.exc_info]
