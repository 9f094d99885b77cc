"""Reservations that are over and records of deleted ones: listings, and who may see them."""

import pytest
from blazar import context
from blazar.db import api as db_api
from oslo_db import exception as db_exc

from tests.unit.api import things
from tests.unit.api.people import Person, refusal
from tests.unit.api.site import NOW, Site
from warre_blazar.db import session, tables
from warre_blazar.domain.flavors.flavor import Shape
from warre_blazar.openstack import manager

SHAPE = Shape(2, 2048, 20, 0, {}, None, None)


@pytest.fixture
def flavor(admin: Person) -> dict:
    return things.add_flavor(admin, slots=9)


def deleted(person: Person, query: str = "") -> list[dict]:
    answer = person.get(f"reservations?deleted=true{query}")
    assert answer.status_int == 200, answer
    assert answer.json["total"] == len(answer.json["results"])
    return answer.json["results"]


def add_record(flavor: dict, reservation_id: str, day: int, **changes: object) -> None:
    """Add a reservation that was over when it was imported from Warre."""
    values = {
        "id": reservation_id,
        "flavor_id": flavor["id"],
        "instance_count": 1,
        "shape": SHAPE.to_json(),
        "start_date": things.moment(day, 1),
        "end_date": things.moment(day, 2),
        "project_id": "project-alpha",
        "user_id": "user-alpha",
        "status": "COMPLETE",
        "compute_flavor": "nova-1",
        "created_at": things.moment(day),
        **changes,
    }
    with session.writer() as db:
        db.execute(tables.bookings.insert().values(**values))


def test_deletion_leaves_a_record(site: Site, alpha: Person, colleague: Person, flavor):
    booked = things.book(alpha, flavor, name="thesis", note="chapter 3")
    assert deleted(alpha) == []
    assert colleague.delete(f"reservations/{booked['id']}").status_int == 204
    record = {
        **booked,
        "status": "DELETED",
        "status_at_deletion": "ALLOCATED",
        "deleted_at": f"{NOW.isoformat()}+00:00",
        "deleted_by": colleague.user_id,
    }
    assert deleted(alpha) == [record]
    shown = alpha.get(f"reservations/{booked['id']}?detail=log").json
    assert {name: shown[name] for name in record} == record
    assert alpha.get("reservations").json["total"] == 0
    assert refusal(alpha.get(f"reservations/{booked['id']}")) == (404, "reservation_not_found")


def test_deletion_over_v1_leaves_a_record(site: Site, alpha: Person, flavor):
    booked = things.book(alpha, flavor)
    # The call that v1 makes to the manager.
    caller = context.BlazarContext(user_id=alpha.user_id, project_id=alpha.project_id)
    manager.delete_lease(caller.to_dict(), booked["lease_id"])
    (record,) = deleted(alpha)
    assert (record["id"], record["deleted_by"]) == (booked["id"], alpha.user_id)


def test_deletion_of_a_running_reservation_leaves_a_record(site: Site, alpha: Person, flavor):
    booked = things.book(alpha, flavor)
    site.set_time(things.moment(2, 9))
    site.execute()
    assert alpha.delete(f"reservations/{booked['id']}").status_int == 204
    (record,) = deleted(alpha)
    assert (record["status"], record["status_at_deletion"]) == ("DELETED", "ACTIVE")
    assert record["compute_flavor"] == booked["compute_flavor"]


def test_deletion_of_a_reservation_that_is_over_leaves_a_record(site: Site, alpha: Person, flavor):
    booked = things.book(alpha, flavor)
    for hour in (9, 11):
        site.set_time(things.moment(2, hour))
        site.execute()
    assert alpha.delete(f"reservations/{booked['id']}").status_int == 204
    (record,) = deleted(alpha)
    assert (record["status"], record["status_at_deletion"]) == ("DELETED", "COMPLETE")
    assert record["deleted_by"] == alpha.user_id


def test_failed_booking_leaves_no_record(alpha: Person, flavor, monkeypatch: pytest.MonkeyPatch):
    def fail(*_: object) -> None:
        raise db_exc.DBConnectionError

    monkeypatch.setattr(db_api, "event_create", fail)
    assert alpha.post("reservations", things.booking(flavor)).status_int >= 400
    assert deleted(alpha) == []


def test_records_of_other_projects_are_shown_to_operators_only(
    site: Site, admin: Person, alpha: Person, beta: Person, flavor
):
    for person in (alpha, beta):
        person.delete(f"reservations/{things.book(person, flavor)['id']}")
    assert [r["project_id"] for r in deleted(alpha)] == [alpha.project_id]
    assert deleted(admin) == []
    everything = deleted(admin, "&all_projects=true")
    assert {r["project_id"] for r in everything} == {alpha.project_id, beta.project_id}
    refused = alpha.get("reservations?deleted=true&all_projects=true")
    assert refusal(refused) == (403, "forbidden")


def test_records_can_be_filtered_and_sorted(alpha: Person, flavor):
    booked = [
        things.book(alpha, flavor, start=things.at(day), end=things.at(day, 1), name=f"n{day}")
        for day in (1, 2, 3)
    ]
    for reservation in booked:
        alpha.delete(f"reservations/{reservation['id']}")
    ids = [reservation["id"] for reservation in booked]
    found = {
        query: [r["id"] for r in deleted(alpha, query)]
        for query in (
            "&name=n2",
            "&status=ACTIVE",
            "&sort=start:desc",
            f"&from={things.at(3)[:10]}",
        )
    }
    assert found == {
        "&name=n2": [ids[1]],
        "&status=ACTIVE": [],
        "&sort=start:desc": ids[::-1],
        f"&from={things.at(3)[:10]}": [ids[2]],
    }
    page = alpha.get("reservations?deleted=true&limit=2&page=2").json
    assert ([r["id"] for r in page["results"]], page["total"]) == ([ids[2]], 3)


def test_warres_path_shows_no_records(site: Site, flavor):
    warres = Person(site.app, "alpha", "/v2/warre/v1")
    assert refusal(warres.get("reservations?deleted=true")) == (422, "invalid_field")
    booked = things.made(warres.post("reservations", things.booking(flavor)))
    warres.delete(f"reservations/{booked['id']}")
    assert warres.get("reservations").json == {"results": [], "total": 0}


@pytest.fixture
def mixed(alpha: Person, flavor) -> list[str]:
    """The ids of reservations in the history and in Blazar, ordered by start."""
    add_record(flavor, "past-1", -20)
    add_record(flavor, "past-2", -10, status="ERROR", compute_flavor=None, status_reason="No host")
    add_record(flavor, "of beta", -15, project_id="project-beta")
    live = things.book(alpha, flavor)["id"]
    add_record(flavor, "past-3", 9)
    return ["past-1", "past-2", live, "past-3"]


@pytest.mark.parametrize("root", ["/v2", "/v2/warre/v1"])
def test_history_is_listed_together_with_live_reservations(site: Site, mixed, root):
    alpha = Person(site.app, "alpha", root)
    answer = alpha.get("reservations").json
    assert ([r["id"] for r in answer["results"]], answer["total"]) == (mixed, 4)
    pages = [alpha.get(f"reservations?limit=2&page={page}").json for page in (1, 2)]
    assert [r["id"] for page in pages for r in page["results"]] == mixed
    assert [page["total"] for page in pages] == [4, 4]
    by_state = {
        state: [r["id"] for r in alpha.get(f"reservations?status={state}").json["results"]]
        for state in ("COMPLETE", "ERROR", "ALLOCATED")
    }
    assert by_state == {
        "COMPLETE": ["past-1", "past-3"],
        "ERROR": ["past-2"],
        "ALLOCATED": [mixed[2]],
    }


@pytest.mark.parametrize("sort", ["start", "end", "created_at", "project_id", "user_id"])
def test_history_and_live_reservations_are_sorted_together(alpha: Person, mixed, sort):
    up = [r["id"] for r in alpha.get(f"reservations?sort={sort}").json["results"]]
    down = [r["id"] for r in alpha.get(f"reservations?sort={sort}:desc").json["results"]]
    assert sorted(up) == sorted(mixed)
    assert down == up[::-1]


def test_reservation_in_the_history_can_be_shown_and_deleted_but_not_changed(
    alpha: Person, beta: Person, mixed
):
    path = "reservations/past-2"
    shown = alpha.get(path).json
    assert (shown["status"], shown["status_reason"]) == ("ERROR", "No host")
    assert (shown["lease_id"], shown["compute_flavor"]) == (None, None)
    for body in ({"end": things.at(3)}, {"name": "x"}, {"instance_count": 2}):
        assert refusal(alpha.patch(path, body)) == (409, "invalid_state")
    assert refusal(beta.get(path)) == (404, "reservation_not_found")
    assert alpha.delete(path).status_int == 204
    assert refusal(alpha.get(path)) == (404, "reservation_not_found")
    assert [r["id"] for r in deleted(alpha)] == ["past-2"]


def test_filter_by_host_shows_no_reservation_in_the_history(admin: Person, mixed):
    found = admin.get("reservations?all_projects=true&host=host-1").json
    assert [r["id"] for r in found["results"]] == [mixed[2]]
