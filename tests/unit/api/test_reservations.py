"""/reservations: booking, changing and deleting, refusals, and who may do it."""

import datetime

import pytest

from tests.unit.api import things
from tests.unit.api.people import Person, refusal
from tests.unit.api.site import NOW, Site
from tests.unit.api.things import at
from warre_blazar.domain.running import backing_names
from warre_blazar.openstack import manager


@pytest.fixture
def flavor(admin: Person) -> dict:
    """A flavor with two slots, for at most 48 hours, which can be booked from day 1 to 20."""
    return things.add_flavor(admin, start=at(1), end=at(20))


@pytest.mark.parametrize("path", ["reservations", "reservations/"])
def test_booking_is_answered_and_stored(site: Site, alpha: Person, flavor, path):
    answer = alpha.post(path, things.booking(flavor, instance_count=2))
    made = things.made(answer)
    nova_flavor = backing_names.nova_flavor_id(made["id"])
    assert made == {
        "id": made["id"],
        "flavor": things.plain(flavor),
        "instance_count": 2,
        "affinity": None,
        "start": at(2, 9),
        "end": at(2, 11),
        "status": "ALLOCATED",
        "status_reason": None,
        "project_id": alpha.project_id,
        "user_id": alpha.user_id,
        "lease_id": made["lease_id"],
        "compute_flavor": nova_flavor,
        "created_at": at(0, 12),
        "name": None,
        "note": None,
        "contact": None,
        "timezone": None,
        "webhook": None,
        "before_end": "nothing",
        "movable_hours": 0,
        "handle": None,
        "visible_before_start": False,
        "series_id": None,
        "missing_resources": False,
        "resources_changed": False,
    }
    assert alpha.get(f"{path.rstrip('/')}/{made['id']}/").json == made
    # Nova has this flavor shortly before the start.
    assert site.cloud.is_clean()


def test_minute_that_passes_before_the_manager_checks_has_a_code_of_its_own(
    site: Site, admin: Person, alpha: Person, monkeypatch: pytest.MonkeyPatch
):
    """By this code clients know that they can try the next minute."""
    create = manager.create_lease

    def late(*args):
        site.set_time(NOW + datetime.timedelta(minutes=1))
        return create(*args)

    monkeypatch.setattr(manager, "create_lease", late)
    wanted = things.booking(things.add_flavor(admin), start=at(0, 12))
    began = site.clock.now()
    assert refusal(alpha.post("reservations", wanted)) == (400, "invalid_period")
    # Nothing waits for a lease that might have been made in spite of an error.
    assert site.clock.now() == began


def test_affinity_is_kept_and_shown(alpha: Person, flavor):
    """The site has one host."""
    apart = {"instance_count": 2, "affinity": False}
    assert refusal(alpha.post("reservations", things.booking(flavor, **apart))) == (
        400,
        "hosts_exhausted",
    )
    made = things.book(alpha, flavor, instance_count=2, affinity=True)
    assert made["affinity"] is True
    assert alpha.get("reservations").json["results"][0]["affinity"] is True


def test_flavor_can_be_booked_by_its_name(alpha: Person, flavor):
    assert things.book(alpha, {"id": flavor["name"]})["flavor"] == things.plain(flavor)


#: Changes of a good booking, changes of the flavor before it, and how the booking is refused.
REFUSED = {
    "too long": ({"end": at(4, 10)}, {}, (400, "too_long")),
    "backwards": ({"end": at(2, 8)}, {}, (400, "invalid_period")),
    "no time at all": ({"end": at(2, 9)}, {}, (400, "invalid_period")),
    "past": ({"start": at(0, 11, 59), "end": at(0, 13)}, {}, (400, "invalid_period")),
    "before the flavor": ({"start": at(0, 23)}, {}, (400, "before_flavor_start")),
    "after the flavor": ({"start": at(19), "end": at(20, 0, 1)}, {}, (400, "after_flavor_end")),
    "inactive": ({}, {"active": False}, (400, "flavor_inactive")),
    "private": ({}, {"is_public": False}, (404, "flavor_not_found")),
    "slots": ({"instance_count": 3}, {}, (400, "slots_exhausted")),
    "hosts": ({"instance_count": 9}, {"slots": 9}, (400, "hosts_exhausted")),
    "no such host": ({}, {"availability_zone": "nowhere"}, (409, "no_host_matches")),
    "no such flavor": ({"flavor_id": "nope"}, {}, (404, "flavor_not_found")),
    "closed": ({"start": at(5, 1), "end": at(5, 2)}, {}, (400, "maintenance")),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_booking_leaves_nothing(site: Site, admin: Person, alpha: Person, flavor, case):
    changes, terms, expected = REFUSED[case]
    things.add_window(admin, flavor)
    if terms:
        admin.patch(f"flavors/{flavor['id']}", terms)
    before = site.rows()
    if case == "before the flavor":
        changes = {**changes, "end": at(1, 9)}
    assert refusal(alpha.post("reservations", things.booking(flavor, **changes))) == expected
    assert site.rows() == before
    assert site.cloud.is_clean()
    assert site.cloud.keystone.trusts == {}


def test_longest_and_latest_booking_is_accepted(alpha: Person, flavor):
    things.book(alpha, flavor, start=at(1), end=at(3))
    things.book(alpha, flavor, start=at(18), end=at(20), instance_count=2)


def test_booking_may_start_when_another_ends(alpha: Person, beta: Person, flavor):
    """A reservation's span is half-open: its end doesn't belong to it."""
    things.book(alpha, flavor, instance_count=2)
    things.book(beta, flavor, start=at(2, 11), end=at(2, 12), instance_count=2)
    things.book(beta, flavor, start=at(2, 8), end=at(2, 9), instance_count=2)
    crossing = things.booking(flavor, start=at(2, 10, 59), end=at(2, 11))
    assert refusal(beta.post("reservations", crossing)) == (400, "slots_exhausted")


def test_reader_and_user_without_role_may_not_book(reader: Person, nobody: Person, flavor):
    for person in (reader, nobody):
        assert refusal(person.post("reservations", things.booking(flavor))) == (403, "forbidden")
    assert refusal(nobody.get("reservations")) == (403, "forbidden")


def test_only_an_admin_may_book_inside_a_window(admin: Person, alpha: Person, flavor):
    things.add_window(admin, flavor)
    during = {"start": at(5, 1), "end": at(5, 2)}
    assert things.book(admin, flavor, **during)["status"] == "ALLOCATED"
    refused = alpha.post("reservations", things.booking(flavor, **during))
    assert refusal(refused) == (400, "maintenance")


def test_reservation_that_has_not_begun_needs_no_other_service(site: Site, alpha: Person, flavor):
    for service in site.cloud.services:
        if service is not site.cloud.keystone:
            service.fail(match="", status=503)
    made = things.book(alpha, flavor)
    path = f"reservations/{made['id']}"
    assert alpha.patch(path, {"start": at(2, 10), "end": at(2, 12)}).status_int == 200
    assert alpha.patch(path, {"instance_count": 2}).status_int == 200
    assert alpha.get("flavors").status_int == 200
    assert alpha.get(f"flavors/{flavor['id']}/freeslots").status_int == 200
    assert alpha.delete(path).status_int == 204


#: New ends of a reservation of both slots on day 2 from 9 to 11, and how they are refused.
MOVES = {
    "longer": (at(2, 12), None),
    "shorter": (at(2, 10), None),
    "as it is": (at(2, 11), None),
    "with an offset": ("2100-01-03T22:00:00+10:00", None),
    "no length": (at(2, 9), (400, "invalid_period")),
    "backwards": (at(2, 8), (400, "invalid_period")),
    "too long": (at(4, 9, 1), (400, "too_long")),
    "past the flavor": (at(20, 1), (400, "too_long")),
    "into another's": (at(2, 14, 1), (400, "slots_exhausted")),
}


@pytest.mark.parametrize("case", MOVES)
def test_change_of_end_is_made_or_refused(site: Site, alpha: Person, beta: Person, flavor, case):
    end, refused = MOVES[case]
    booked = things.book(alpha, flavor, instance_count=2)
    things.book(beta, flavor, start=at(2, 14), end=at(2, 15))
    path = f"reservations/{booked['id']}"
    before = site.rows()
    answer = alpha.patch(path, {"end": end})
    if refused:
        assert refusal(answer) == refused
        assert site.rows() == before
        return
    moved = alpha.get(path + "/").json
    assert answer.json == moved
    utc = "2100-01-03T12:00:00+00:00" if case == "with an offset" else end
    assert moved == {**booked, "end": utc}


def test_reservation_of_another_project_is_not_found(
    site: Site, alpha: Person, beta: Person, admin: Person, flavor
):
    """Only an admin can see and change it."""
    booked = things.book(alpha, flavor)
    path = f"reservations/{booked['id']}"
    before = site.rows()
    unknown = {
        "get": beta.get("reservations/nope"),
        "patch": beta.patch("reservations/nope", {"end": at(2, 12)}),
        "delete": beta.delete("reservations/nope"),
    }
    others = {
        "get": beta.get(path),
        "patch": beta.patch(path, {"end": at(2, 12)}),
        "delete": beta.delete(path),
    }
    for verb, answer in others.items():
        assert refusal(answer) == refusal(unknown[verb]) == (404, "reservation_not_found")
        # The answers differ only in the id.
        assert answer.text.replace(booked["id"], "nope") == unknown[verb].text
    # A bad body doesn't show either that the reservation exists.
    assert beta.patch(path, {"x": 1}).status_int == 404
    assert site.rows() == before
    assert admin.get(path).json == booked
    assert admin.patch(path, {"end": at(2, 12)}).status_int == 200
    assert admin.delete(path).status_int == 204


def test_reader_may_show_but_not_change(site: Site, alpha: Person, reader: Person, flavor):
    booked = things.book(alpha, flavor)
    path = f"reservations/{booked['id']}"
    before = site.rows()
    assert reader.get(path).json == booked
    assert reader.get("reservations").json["results"] == [booked]
    for answer in (reader.delete(path), reader.patch(path, {"end": at(2, 12)})):
        assert refusal(answer) == (403, "forbidden")
        assert "lets you see this, but not change it" in answer.json["error_message"]
    reader.root = "/v2/warre/v1"
    for answer in (reader.delete(path), reader.patch(path, {"end": at(2, 12)})):
        assert refusal(answer) == (404, "reservation_not_found")
    assert site.rows() == before


def test_listing_has_own_reservations_that_match_filters(
    alpha: Person, beta: Person, admin: Person, flavor
):
    other = things.add_flavor(admin, name="other")
    later = things.book(alpha, flavor, start=at(3), end=at(4))
    first = things.book(alpha, other)
    theirs = things.book(beta, flavor, start=at(6), end=at(7))

    def listed(person: Person, query: str = "") -> list[dict]:
        answer = person.get(f"reservations?{query}")
        assert answer.json["total"] == len(answer.json["results"])
        return answer.json["results"]

    everything = [first, later, theirs]
    assert listed(alpha) == [first, later]
    assert listed(beta) == [theirs]
    assert listed(admin) == []
    assert listed(admin, "all_projects=true") == everything
    assert listed(admin, f"project_id={beta.project_id}") == [theirs]
    assert listed(admin, f"all_projects=true&project_id={alpha.project_id}") == [first, later]
    assert listed(alpha, f"flavor_id={flavor['id']}") == [later]
    assert listed(admin, f"all_projects=1&flavor_id={flavor['id']}") == [later, theirs]
    assert listed(alpha, "flavor_id=nope") == []
    assert listed(beta, f"project_id={beta.project_id}") == [theirs]
    for query in ("all_projects=true", f"project_id={alpha.project_id}"):
        refused = beta.get(f"reservations?{query}")
        assert refusal(refused) == (403, "forbidden")
        assert refused.json["error_message"].startswith(query.partition("=")[0])


def test_reservation_runs_from_allocated_to_complete(
    site: Site, alpha: Person, admin: Person, flavor
):
    """A deleted flavor is still shown in the reservations that were made of it."""
    booked = things.book(alpha, flavor)
    path = f"reservations/{booked['id']}"
    site.set_time(things.moment(2, 9))
    site.run_events()
    zone = {"availability_zone": "az1"}
    assert alpha.get(path).json == {**booked, "status": "ACTIVE", **zone}
    assert site.cloud.nova.flavors[booked["compute_flavor"]]["access"] == {alpha.project_id}
    assert alpha.patch(path, {"end": at(2, 12)}).json["end"] == at(2, 12)
    assert refusal(admin.delete(f"flavors/{flavor['id']}")) == (409, "flavor_in_use")
    site.set_time(things.moment(2, 12))
    site.run_events()
    over = alpha.get(path).json
    assert over == {**booked, "status": "COMPLETE", "end": at(2, 12)}
    assert site.cloud.is_clean()
    refused = alpha.patch(path, {"end": at(2, 14)})
    assert refused.status_int in (400, 409)
    assert alpha.get(path).json == over
    assert admin.delete(f"flavors/{flavor['id']}").status_int == 204
    assert alpha.get("reservations").json["results"] == [over]


def test_running_reservation_is_deleted_with_its_servers(site: Site, alpha: Person, flavor):
    booked = things.book(alpha, flavor)
    site.set_time(things.moment(2, 9))
    site.run_events()
    site.cloud.nova.boot(booked["compute_flavor"], alpha.project_id)
    assert alpha.delete(f"reservations/{booked['id']}").status_int == 204
    assert site.cloud.is_clean()
    assert alpha.get("reservations").json["total"] == 0


def test_reservation_in_shared_lease_can_not_be_changed(site: Site, alpha: Person, flavor):
    """It can't be changed or deleted without the other reservations of the lease."""
    booked = things.book(alpha, flavor)
    things.add_to_lease(booked["lease_id"])
    path = f"reservations/{booked['id']}"
    before = site.rows()
    assert refusal(alpha.patch(path, {"end": at(2, 12)})) == (409, "lease_shared")
    assert refusal(alpha.delete(path)) == (409, "lease_shared")
    assert site.rows() == before
