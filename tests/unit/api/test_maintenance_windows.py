"""/maintenancewindows: times during which some flavors can't be booked."""

import pytest
import sqlalchemy as sa

from tests.functional.db import world
from tests.unit.api import things
from tests.unit.api.people import Person, refusal
from tests.unit.api.site import NOW, Site
from tests.unit.api.things import at
from warre_blazar.db import session
from warre_blazar.db.tables import compute_hosts
from warre_blazar.domain.hosts.host_marks import Drain
from warre_blazar.services.moves import drained_hosts


@pytest.fixture
def flavor(admin: Person) -> dict:
    return things.add_flavor(admin, name="b")


def of_user(window: dict) -> dict:
    """A window as users get it."""
    return {name: value for name, value in window.items() if name != "hosts"}


def test_create_and_show(admin: Person, alpha: Person, flavor):
    other = things.add_flavor(admin, name="a")
    window = things.add_window(admin, flavor, other, note="firmware")
    assert window == {
        "id": window["id"],
        "start": at(5),
        "end": at(6),
        "note": "firmware",
        "flavors": [{"id": f["id"], "name": f["name"]} for f in (other, flavor)],
        "hosts": [],
    }
    assert alpha.get(f"maintenancewindows/{window['id']}/").json == of_user(window)
    bare = things.add_bare_window(admin, start=at(3), end=at(4))
    assert bare == {**bare, "note": None, "flavors": []}
    # Listings are sorted by start.
    shown = {"results": [of_user(bare), of_user(window)], "total": 2}
    assert alpha.get("maintenancewindows").json == shown


#: Windows that can't be created while a reservation exists on day 2 from 9 to 11.
REFUSED = {
    "past": ({"start": at(0, 11, 59)}, (400, "invalid_period")),
    "backwards": ({"start": at(6), "end": at(5)}, (400, "invalid_period")),
    "no time": ({"start": at(6), "end": at(6)}, (400, "invalid_period")),
    "booked": ({"start": at(2, 10), "end": at(2, 12)}, (409, "window_conflict")),
    "unknown flavor": ({"flavor_ids": ["nope"]}, (404, "flavor_not_found")),
    "no flavors": ({"flavor_ids": []}, (422, "invalid_field")),
    "nothing closed": ({"flavor_ids": [], "host_ids": []}, (422, "invalid_field")),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_window_is_refused(site: Site, admin: Person, alpha: Person, flavor, case):
    changes, expected = REFUSED[case]
    things.book(alpha, flavor)
    before = site.rows()
    body = {"start": at(5), "end": at(6), "flavor_ids": [flavor["id"]], **changes}
    assert refusal(admin.post("maintenancewindows", body)) == expected
    assert site.rows() == before


def test_dry_run_of_a_window_writes_nothing(site: Site, admin: Person, flavor):
    body = {"start": at(5), "end": at(6), "note": "firmware", "flavor_ids": [flavor["id"]]}
    before = site.rows()
    foreseen = admin.post("maintenancewindows?dry_run=true", body)
    assert (foreseen.status_code, site.rows()) == (200, before)
    window = things.add_window(admin, flavor, note="firmware")
    assert foreseen.json == {**window, "id": foreseen.json["id"]}

    before = site.rows()
    path = f"maintenancewindows/{window['id']}?dry_run=true"
    assert admin.patch(path, {"end": at(7)}).json == {**window, "end": at(7)}
    assert site.rows() == before


@pytest.mark.parametrize("case", REFUSED)
def test_dry_run_of_a_window_is_refused_as_the_window_is(
    admin: Person, alpha: Person, flavor, case
):
    changes, expected = REFUSED[case]
    things.book(alpha, flavor)
    body = {"start": at(5), "end": at(6), "flavor_ids": [flavor["id"]], **changes}
    assert refusal(admin.post("maintenancewindows?dry_run=true", body)) == expected


def test_window_has_no_dry_run_on_warres_path(admin: Person, flavor):
    body = {"start": at(5), "end": at(6), "flavor_ids": [flavor["id"]]}
    answer = admin.post("warre/v1/maintenancewindows?dry_run=true", body)
    assert refusal(answer) == (422, "invalid_field")


def test_window_that_only_touches_a_booking_is_no_conflict(admin: Person, alpha: Person, flavor):
    things.book(alpha, flavor)
    things.add_window(admin, flavor, start=at(2, 8), end=at(2, 9))
    things.add_window(admin, flavor, start=at(2, 11), end=at(2, 12))
    # A window that closes another flavor, or none, isn't in conflict either.
    things.add_window(admin, things.add_flavor(admin, name="a"), start=at(2), end=at(3))
    things.add_bare_window(admin, start=at(2), end=at(3))


def test_window_closes_its_flavors_for_its_time(admin: Person, alpha: Person, flavor):
    other = things.add_flavor(admin, name="other")
    window = things.add_window(admin, flavor)

    def book(of: dict, start: str, end: str) -> int:
        return alpha.post("reservations", things.booking(of, start=start, end=end)).status_int

    assert book(flavor, at(4, 23), at(5, 0, 1)) == 400
    assert book(flavor, at(5, 23, 59), at(6, 1)) == 400
    assert book(flavor, at(4, 20), at(5)) == book(flavor, at(6), at(6, 1)) == 200
    assert book(other, at(5), at(6)) == 200
    assert admin.delete(f"maintenancewindows/{window['id']}").status_int == 204
    assert book(flavor, at(5), at(6)) == 200


def test_extension_into_window_is_refused_to_users(admin: Person, alpha: Person, flavor):
    things.add_window(admin, flavor)
    booked = things.book(alpha, flavor, start=at(4), end=at(4, 20))
    path = f"reservations/{booked['id']}"
    assert refusal(alpha.patch(path, {"end": at(5, 0, 1)})) == (400, "maintenance")
    assert alpha.get(path).json == booked
    assert alpha.patch(path, {"end": at(5)}).status_int == 200
    # An admin may extend it, although the reservation belongs to another project.
    assert admin.patch(path, {"end": at(5, 2)}).json["end"] == at(5, 2)


#: Changes of a window on day 5 with one flavor, and the refusals of those that are refused.
CHANGES = {
    "note": ({"note": "later"}, None),
    "no note": ({"note": None}, None),
    "end": ({"end": at(7)}, None),
    "start": ({"start": at(4)}, None),
    "no flavors": ({"flavor_ids": []}, (400, "invalid_field")),
    "nothing closed": ({"flavor_ids": [], "host_ids": []}, (400, "invalid_field")),
    "both": ({"start": at(8), "end": at(9)}, None),
    "backwards": ({"end": at(5)}, (400, "invalid_period")),
    "past": ({"start": at(0)}, (400, "invalid_period")),
    "booked": ({"start": at(2)}, (409, "window_conflict")),
    "unknown flavor": ({"flavor_ids": ["nope"]}, (404, "flavor_not_found")),
    "nothing": ({}, (400, "empty_body")),
    "unknown field": ({"colour": 1}, (400, "invalid_field")),
}


@pytest.mark.parametrize("case", CHANGES)
def test_update_is_made_or_refused(admin: Person, alpha: Person, flavor, case):
    changes, refused = CHANGES[case]
    things.book(alpha, flavor)
    window = things.add_window(admin, flavor)
    path = f"maintenancewindows/{window['id']}"
    answer = admin.patch(path, changes)
    if refused:
        assert refusal(answer) == refused
        assert admin.get(path).json == window
        return
    assert answer.json == admin.get(path).json == {**window, **changes}


def test_window_over_nothing_is_refused_with_what_it_needs(admin: Person):
    answer = admin.post("maintenancewindows", {"start": at(5), "end": at(6)})
    assert refusal(answer) == (422, "invalid_field")
    assert answer.json["error_message"] == (
        "flavor_ids: expected a flavor, or a host in host_ids; else the window closes nothing"
    )


def test_window_may_close_nothing_on_warres_path(admin: Person, flavor):
    bare = things.add_bare_window(admin)
    # What doesn't concern its flavors and hosts can be changed on both paths.
    assert admin.patch(f"maintenancewindows/{bare['id']}", {"note": "x"}).json["note"] == "x"
    path = f"warre/v1/maintenancewindows/{things.add_window(admin, flavor)['id']}"
    assert admin.patch(path, {"flavor_ids": []}).json["flavors"] == []


def test_window_that_has_begun_can_be_changed(site: Site, admin: Person, flavor):
    window = things.add_window(admin, flavor)
    site.set_time(things.moment(5, 12))
    path = f"maintenancewindows/{window['id']}"
    changes = {"start": window["start"], "end": at(7)}
    assert admin.patch(path, changes).json == {**window, "end": at(7)}


def test_users_may_only_read_windows(admin: Person, alpha: Person, nobody: Person, flavor):
    window = things.add_window(admin, flavor)
    path = f"maintenancewindows/{window['id']}"
    body = {"start": at(7), "end": at(8)}
    assert refusal(alpha.post("maintenancewindows", body)) == (403, "forbidden")
    for refused, root in ((403, "forbidden"), "/v2"), ((404, "window_not_found"), "/v2/warre/v1"):
        alpha.root = root
        assert refusal(alpha.patch(path, {"note": "x"})) == refused
        assert refusal(alpha.delete(path)) == refused
    alpha.root = "/v2"
    assert refusal(alpha.delete("maintenancewindows/nope")) == (404, "window_not_found")
    for asked in ("maintenancewindows", path):
        assert refusal(nobody.get(asked)) == (403, "forbidden")
    for send in (admin.get, admin.delete):
        assert refusal(send("maintenancewindows/nope")) == (404, "window_not_found")
    assert refusal(admin.patch("maintenancewindows/nope", {"note": "x"})) == (
        404,
        "window_not_found",
    )
    assert alpha.get(path).json == of_user(window)


def test_deleted_flavor_is_removed_from_its_windows(admin: Person, flavor):
    window = things.add_window(admin, flavor)
    assert admin.delete(f"flavors/{flavor['id']}").status_int == 204
    assert admin.get(f"maintenancewindows/{window['id']}").json["flavors"] == []


def test_conflict_lists_the_reservations_during_the_window(
    admin: Person, alpha: Person, beta: Person, flavor
):
    other = things.add_flavor(admin, name="a", slots=9)
    first = things.book(alpha, flavor)
    second = things.book(beta, other, start=at(2, 10), end=at(2, 20), instance_count=2)
    things.book(beta, other, start=at(3), end=at(4))
    body = {"start": at(2), "end": at(3), "flavor_ids": [flavor["id"], other["id"]]}
    refused = admin.post("maintenancewindows", body)
    assert refusal(refused) == (409, "window_conflict")
    names = ("id", "project_id", "instance_count", "start", "end")
    assert refused.json["detail"] == {
        "flavor": min(flavor["id"], other["id"]),
        "reservations": [
            {
                **{name: booked[name] for name in names},
                "flavor": {name: booked["flavor"][name] for name in ("id", "name")},
            }
            for booked in (first, second)
        ],
        "total": 2,
    }
    window = things.add_window(admin, flavor, other)
    moved = admin.patch(f"maintenancewindows/{window['id']}", {"start": at(2, 12)})
    assert refusal(moved) == (409, "window_conflict")
    # Now the conflict is with the second reservation and the one on day 3.
    assert moved.json["detail"]["reservations"][0]["id"] == second["id"]
    assert moved.json["detail"]["total"] == 2


def test_conflict_lists_at_most_twenty_reservations(admin: Person, alpha: Person, flavor):
    for minute in range(0, 44, 2):
        things.book(alpha, flavor, start=at(2, 9, minute), end=at(2, 9, minute + 1))
    body = {"start": at(2), "end": at(3), "flavor_ids": [flavor["id"]]}
    detail = admin.post("maintenancewindows", body).json["detail"]
    assert (len(detail["reservations"]), detail["total"]) == (20, 22)
    assert detail["reservations"][0]["start"] == at(2, 9)


@pytest.fixture(params=["maintenancewindows", "warre/v1/maintenancewindows"])
def windows(request: pytest.FixtureRequest) -> str:
    """The path of the windows, on v2 and on Warre's path."""
    return request.param


def test_windows_show_no_private_flavor_of_another_project(
    admin: Person, alpha: Person, beta: Person, flavor, windows: str
):
    secret = things.add_flavor(admin, name="secret", is_public=False)
    things.grant(admin, secret, beta.project_id)
    mixed = things.add_window(admin, flavor, secret, start=at(5), end=at(6))
    hidden = things.add_window(admin, secret, note="for beta", start=at(7), end=at(8))
    bare = things.add_bare_window(admin, start=at(9), end=at(10))

    def names(who: Person, window: dict) -> list[str]:
        return [f["name"] for f in who.get(f"{windows}/{window['id']}/").json["flavors"]]

    def listed(who: Person, query: str = "") -> list[str]:
        answer = who.get(f"{windows}/{query}").json
        assert len(answer["results"]) == min(answer["total"], 1 if query else 3)
        return [window["id"] for window in answer["results"]]

    everything = [w["id"] for w in (mixed, hidden, bare)]
    assert listed(admin) == listed(beta) == everything
    assert names(admin, mixed) == names(beta, mixed) == ["b", "secret"]
    assert listed(alpha) == [mixed["id"], bare["id"]]
    assert listed(alpha, "?limit=1&page=2") == [bare["id"]]
    assert alpha.get(f"{windows}/").json["results"][0]["flavors"] == [
        {"id": flavor["id"], "name": "b"}
    ]
    assert names(alpha, mixed) == ["b"]
    assert alpha.get(f"{windows}/{hidden['id']}/").status_int == 404
    assert "for beta" not in alpha.get(f"{windows}/").text


def test_window_over_a_deleted_private_flavor_stays_hidden(admin: Person, alpha: Person, flavor):
    secret = things.add_flavor(admin, name="secret", is_public=False)
    window = things.add_window(admin, secret, note="for beta")
    assert admin.delete(f"flavors/{secret['id']}").status_int == 204
    assert alpha.get("maintenancewindows").json == {"results": [], "total": 0}
    assert admin.get("maintenancewindows").json["results"] == [{**window, "flavors": []}]


@pytest.fixture
def host(site: Site) -> dict[str, str]:
    """The host of the site that the API lists first, as windows show it."""
    with session.reader() as db:
        query = sa.select(compute_hosts.c.id, compute_hosts.c.hypervisor_hostname)
        host_id, name = sorted(tuple(row) for row in db.execute(query))[0]
    return {"id": host_id, "name": name}


def test_host_window_is_made_by_name_and_changed_by_id(admin: Person, host):
    body = {"start": at(5), "end": at(6), "host_ids": [host["name"]]}
    window = things.made(admin.post("maintenancewindows", body))
    assert (window["flavors"], window["hosts"]) == ([], [host])
    path = f"maintenancewindows/{window['id']}"
    assert refusal(admin.patch(path, {"host_ids": []})) == (400, "invalid_field")
    assert admin.patch(path, {"host_ids": [host["id"]]}).json == window
    unknown = admin.post("maintenancewindows", {**body, "host_ids": ["nope"]})
    assert refusal(unknown) == (422, "invalid_field")
    wrong = admin.post("maintenancewindows", {**body, "bookings": "burn"})
    assert refusal(wrong) == (422, "invalid_field")


@pytest.mark.parametrize("field", ["host_ids", "bookings"])
def test_warres_path_knows_no_hosts_of_windows(admin: Person, flavor, host, field):
    body = {"start": at(5), "end": at(6), "flavor_ids": [flavor["id"]]}
    more = {"host_ids": [host["id"]], "bookings": "move"}
    answer = admin.post("warre/v1/maintenancewindows", {**body, field: more[field]})
    assert answer.status_int in (400, 422)
    things.made(admin.post("maintenancewindows", {**body, "host_ids": [host["id"]]}))
    assert "hosts" not in admin.get("warre/v1/maintenancewindows").json["results"][0]


def test_members_see_nothing_of_hosts_in_windows(admin: Person, alpha: Person, flavor, host):
    mixed = things.add_window(admin, flavor, host_ids=[host["id"]])
    only = things.add_window(admin, host_ids=[host["id"]], note="fans")
    listed = alpha.get("maintenancewindows")
    assert [w["id"] for w in listed.json["results"]] == [mixed["id"]]
    for text in (host["name"], "fans", "hosts"):
        assert text not in listed.text
    assert refusal(alpha.get(f"maintenancewindows/{only['id']}")) == (404, "window_not_found")
    assert admin.get("maintenancewindows").json["total"] == 2


def test_window_over_bookings_is_shown_and_made(site: Site, admin: Person, alpha: Person, flavor):
    booked = things.book(alpha, flavor, movable_hours=48)
    fixed = things.book(alpha, flavor, start=at(2, 12), end=at(2, 13))
    body = {"start": at(2), "end": at(3), "flavor_ids": [flavor["id"]]}
    assert refusal(admin.post("maintenancewindows", body)) == (409, "window_conflict")
    before = site.rows()
    shown = admin.post("maintenancewindows", {**body, "bookings": "show"})
    assert (shown.status_int, site.rows()) == (200, before)
    made = things.made(admin.post("maintenancewindows", {**body, "bookings": "move"}))
    assert made["reservations"] == shown.json["reservations"]
    first, second = made["reservations"]
    assert (first["id"], first["outcome"], first["new_start"]) == (
        booked["id"],
        "postponed",
        at(3),
    )
    assert (second["id"], second["outcome"], second["new_start"]) == (
        fixed["id"],
        "left",
        fixed["start"],
    )
    moved = alpha.get(f"reservations/{booked['id']}").json
    assert (moved["start"], moved["end"]) == (at(3), at(3, 2))
    again = admin.patch(f"maintenancewindows/{made['id']}", {"bookings": "move"}).json
    assert [each["id"] for each in again["reservations"]] == [fixed["id"]]
    assert "reservations" not in admin.get(f"maintenancewindows/{made['id']}").json


def test_owner_says_how_far_maintenance_may_move_a_reservation(alpha: Person, flavor):
    booked = things.book(alpha, flavor)
    path = f"reservations/{booked['id']}"
    assert booked["movable_hours"] == 0
    assert alpha.patch(path, {"movable_hours": 24}).json["movable_hours"] == 24
    assert alpha.get(path).json["movable_hours"] == 24
    assert refusal(alpha.patch(path, {"movable_hours": -1})) == (400, "invalid_field")


def test_window_tells_a_lack_of_matching_hosts_from_a_lack_of_room(
    site: Site, admin: Person, alpha: Person
):
    """The window and the drain of the same host give the same cause."""
    world.add_host(site.cloud, "host-2", vcpus=2, zone="az2")
    (closed, _) = admin.get("hosts").json["results"]
    sole = things.add_flavor(admin, name="sole", properties='["==", "$vcpus", "16"]')
    roomy = things.add_flavor(admin, name="roomy")
    asked = {"start": at(2), "end": at(3), "host_ids": [closed["id"]], "bookings": "show"}
    for flavor, count, cause in (
        (sole, 1, "no other host matches"),
        (roomy, 2, "no room for 2 of its instances at its time, on other hosts that match (1)"),
    ):
        booked = things.book(alpha, flavor, instance_count=count, affinity=True)
        (met,) = admin.post("maintenancewindows", asked).json["reservations"]
        assert met["reason"] == f"{cause}, and its owner allows no other time (movable_hours is 0)"
        foreseen = drained_hosts.foresee("host-1", Drain(None, None, None), world.conditions(), NOW)
        assert [left.why.partition(";")[0] for left in foreseen.left] == [cause]
        alpha.delete(f"reservations/{booked['id']}")
