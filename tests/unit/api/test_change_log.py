"""What has happened to a reservation: who changed what, and when."""

import datetime

import pytest
import sqlalchemy as sa

from tests.unit.api import things
from tests.unit.api.people import Person, refusal
from tests.unit.api.site import NOW, Site
from warre_blazar.db import tables
from warre_blazar.services.records import history


@pytest.fixture
def flavor(admin: Person) -> dict:
    return things.add_flavor(admin, slots=8)


def log(person: Person, reservation: dict) -> list[dict]:
    return things.made(person.get(f"reservations/{reservation['id']}?detail=log"))["log"]


def entries(person: Person, reservation: dict) -> list[tuple]:
    return [(c["change"], c["user_id"], c["before"], c["after"]) for c in log(person, reservation)]


def test_changes_of_users(admin: Person, alpha: Person, flavor):
    booked = things.book(alpha, flavor)
    path = f"reservations/{booked['id']}"
    things.made(alpha.patch(path, {"end": things.at(2, 12), "instance_count": 3}))
    things.made(alpha.patch(path, {"name": "sweep", "note": "x"}))
    things.made(alpha.patch(path, {"note": None}))
    old, later = booked["end"], things.at(2, 12)
    assert entries(alpha, booked) == [
        ("created", alpha.user_id, None, None),
        ("resized", alpha.user_id, {"instance_count": 1}, {"instance_count": 3}),
        (
            "rescheduled",
            alpha.user_id,
            {"start": booked["start"], "end": old},
            {"start": booked["start"], "end": later},
        ),
        ("renamed", alpha.user_id, {"name": None, "note": None}, {"name": "sweep", "note": "x"}),
        ("renamed", alpha.user_id, {"note": "x"}, {"note": None}),
    ]
    assert entries(admin, booked) == entries(alpha, booked)


def test_number_of_changes_grows_until_after_the_deletion(alpha: Person, flavor):
    """Calendar programs take an event of which they have an older version by this number."""
    booked, other = things.book(alpha, flavor), things.book(alpha, flavor)
    path = f"reservations/{booked['id']}"

    def counted(**query: str) -> dict[str, tuple[int, str]]:
        words = "&".join(f"{name}={value}" for name, value in query.items())
        found = alpha.get(f"reservations?changes=true&{words}").json["results"]
        return {each["id"]: (each["change_count"], each["changed_at"]) for each in found}

    made = counted()
    things.made(alpha.patch(path, {"end": things.at(2, 12)}))
    moved = counted()
    assert moved[booked["id"]][0] > made[booked["id"]][0]
    assert moved[other["id"]] == made[other["id"]]
    one = alpha.get(f"{path}?changes=true").json
    assert (one["change_count"], one["changed_at"]) == moved[booked["id"]]
    assert "change_count" not in alpha.get(path).json
    assert alpha.delete(path).status_int == 204
    assert counted(deleted="true")[booked["id"]][0] > moved[booked["id"]][0]


def test_refused_change_is_not_in_the_log(alpha: Person, flavor):
    booked = things.book(alpha, flavor)
    refused = alpha.patch(f"reservations/{booked['id']}", {"instance_count": 99})
    assert refused.status_int >= 400
    assert [c["change"] for c in log(alpha, booked)] == ["created"]


def test_start_and_end_have_no_user(site: Site, alpha: Person, flavor):
    booked = things.book(alpha, flavor)
    for hours in (45, 47):
        site.set_time(NOW + datetime.timedelta(hours=hours))
        for _ in range(3):
            site.execute()
    changes = [(c["change"], c["user_id"]) for c in log(alpha, booked)]
    assert changes == [("created", alpha.user_id), ("started", None), ("ended", None)]


def test_deleted_reservation_has_its_log(alpha: Person, admin: Person, flavor):
    booked = things.book(alpha, flavor)
    assert admin.delete(f"reservations/{booked['id']}").status_int == 204
    assert refusal(alpha.get(f"reservations/{booked['id']}")) == (404, "reservation_not_found")
    changes = [(c["change"], c["user_id"]) for c in log(alpha, booked)]
    assert changes == [("created", alpha.user_id), ("deleted", admin.user_id)]


def test_other_projects_get_no_log(alpha: Person, beta: Person, flavor):
    booked = things.book(alpha, flavor)
    path = f"reservations/{booked['id']}?detail=log"
    assert refusal(beta.get(path)) == (404, "reservation_not_found")
    alpha.delete(f"reservations/{booked['id']}")
    assert refusal(beta.get(path)) == (404, "reservation_not_found")


def test_warres_path_has_no_log(alpha: Person, flavor):
    booked = things.book(alpha, flavor)
    alpha.root = "/v2/warre/v1"
    answer = alpha.get(f"reservations/{booked['id']}?detail=log")
    assert refusal(answer) == (422, "invalid_field")


def test_log_is_kept_as_long_as_the_record(site: Site, alpha: Person, flavor):
    kept, gone = (
        things.book(alpha, flavor, start=things.at(d), end=things.at(d + 1)) for d in (2, 3)
    )
    for booked in (kept, gone):
        things.made(alpha.patch(f"reservations/{booked['id']}", {"name": "sweep"}))
    assert alpha.delete(f"reservations/{gone['id']}").status_int == 204
    later = NOW + datetime.timedelta(days=2)
    history.purge(later, 1)
    entry = tables.log_entries.c
    with site.engine.connect() as connection:
        subjects = connection.scalars(sa.select(entry.subject).where(entry.is_logged)).all()
    assert subjects == [kept["id"]]
    assert [c["change"] for c in log(alpha, kept)] == ["created", "renamed"]
