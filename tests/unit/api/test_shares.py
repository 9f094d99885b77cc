"""/shares: a project lets others boot servers on the places of its reservations."""

import pytest
from oslo_config import cfg

from tests.unit.api import things
from tests.unit.api.people import Person, refusal
from tests.unit.api.site import Site
from warre_blazar.db import session
from warre_blazar.db.running import confined_projects
from warre_blazar.openstack import nova
from warre_blazar.services.running import backing


@pytest.fixture
def booked(admin: Person, alpha: Person) -> dict:
    return things.book(alpha, things.add_flavor(admin), contact="alpha@example.org")


def start(site: Site) -> None:
    site.set_time(things.moment(2, 9, 1))
    site.execute()


def allowed(site: Site) -> set[str]:
    """The projects that may use the reservation's Nova flavor."""
    backing.reconcile()
    (flavor,) = nova.flavors_of_reservations()
    return set(flavor.projects)


def tenants(site: Site) -> set[str]:
    """What the reservation's aggregate says about the projects that may use its hosts."""
    (aggregate,) = site.cloud.nova.aggregates.values()
    return {v for k, v in aggregate["metadata"].items() if k.startswith("filter_tenant_id")}


def test_share_is_made_shown_listed_and_ended(
    admin: Person, alpha: Person, beta: Person, booked: dict
):
    made = things.share(alpha, booked, beta.project_id)
    assert made == {
        "id": made["id"],
        "reservation_id": booked["id"],
        "project_id": beta.project_id,
        "owner_id": alpha.project_id,
        "created_at": made["created_at"],
    }
    for person in (alpha, beta, admin):
        assert person.get(f"shares/{made['id']}").json == made
    for person, query in (
        (alpha, ""),
        (beta, f"?reservation_id={booked['id']}"),
        (admin, "?all_projects=1"),
    ):
        assert person.get(f"shares{query}").json["results"] == [made]
    assert admin.get("shares").json["results"] == []
    assert refusal(beta.delete(f"shares/{made['id']}")) == (403, "forbidden")
    assert alpha.delete(f"shares/{made['id']}").status_int == 204
    assert refusal(alpha.delete(f"shares/{made['id']}")) == (404, "share_not_found")
    assert beta.get("reservations").json["results"] == []


def test_guest_sees_the_reservation_as_shared_and_cannot_change_it(
    alpha: Person, beta: Person, booked: dict
):
    path = f"reservations/{booked['id']}"
    assert refusal(beta.get(path)) == (404, "reservation_not_found")
    things.share(alpha, booked, beta.project_id)
    seen = {**booked, "shared": True, "contact": None}
    assert beta.get("reservations").json["results"] == [seen]
    assert beta.get(path).json == seen
    assert alpha.get("reservations").json["results"] == [booked]
    for refused in (
        beta.patch(path, {"name": "mine"}),
        beta.delete(path),
        beta.post("shares", {"reservation_id": booked["id"], "project_id": beta.project_id}),
    ):
        assert refusal(refused) == (403, "forbidden")
    assert "log" not in beta.get(f"{path}?detail=log").json
    # The quota and the usage stay the owner's.
    used = [p.get("limits").json["absolute"]["totalReservationsUsed"] for p in (alpha, beta)]
    assert used == [1, 0]


def test_guest_does_not_see_the_webhook(alpha: Person, beta: Person, booked: dict):
    path, url = f"reservations/{booked['id']}", "https://hooks.example.org/"
    things.share(alpha, booked, beta.project_id)
    cfg.CONF.set_override("project_webhook_hosts", ["*"], group="warre_messages")
    try:
        assert alpha.patch(path, {"webhook": url}).json["webhook"] == url
    finally:
        cfg.CONF.clear_override("project_webhook_hosts", group="warre_messages")
    assert beta.get(path).json["webhook"] is None
    assert beta.get("reservations").json["results"][0]["webhook"] is None


def test_guest_on_warres_path_gets_warres_fields(site: Site, alpha: Person, beta: Person, booked):
    things.share(alpha, booked, beta.project_id)
    warres = Person(site.app, "beta", "/v2/warre/v1")
    (seen,) = warres.get("reservations").json["results"]
    assert "shared" not in seen
    path = f"reservations/{booked['id']}"
    assert refusal(warres.patch(path, {"end": things.at(2, 12)})) == (404, "reservation_not_found")


def test_bad_shares_are_refused(site: Site, alpha: Person, beta: Person, booked: dict):
    body = {"reservation_id": booked["id"], "project_id": beta.project_id}
    assert refusal(beta.post("shares", body)) == (404, "reservation_not_found")
    own = alpha.post("shares", {**body, "project_id": alpha.project_id})
    assert refusal(own) == (422, "invalid_field")
    assert refusal(alpha.post("shares", {**body, "project_id": "nobodys"})) == (
        422,
        "invalid_field",
    )
    things.share(alpha, booked, beta.project_id)
    assert refusal(alpha.post("shares", body)) == (409, "share_exists")
    start(site)
    site.set_time(things.moment(2, 12))
    site.execute()
    assert refusal(alpha.post("shares", body)) == (409, "invalid_state")
    # It has ended with the reservation.
    assert alpha.get("shares").json["total"] == beta.get("reservations").json["total"] == 0


def test_guest_gets_access_at_the_start(site: Site, alpha: Person, beta: Person, booked: dict):
    things.share(alpha, booked, beta.project_id)
    start(site)
    assert allowed(site) == {alpha.project_id, beta.project_id}
    assert tenants(site) == {f"{p.project_id},reservation" for p in (alpha, beta)}


def test_access_follows_shares_of_a_running_reservation(
    site: Site, alpha: Person, beta: Person, booked: dict
):
    start(site)
    assert allowed(site) == {alpha.project_id}
    made = things.share(alpha, booked, beta.project_id)
    assert allowed(site) == {alpha.project_id, beta.project_id}
    assert f"{beta.project_id},reservation" in tenants(site)
    server = site.cloud.nova.boot(booked["compute_flavor"], beta.project_id)
    site.cloud.nova.boot(booked["compute_flavor"], alpha.project_id)
    path = f"reservations/{booked['id']}?detail=servers"
    seen = [[each["id"] for each in p.get(path).json["servers"]] for p in (alpha, beta)]
    assert len(seen[0]) == 2 and seen[1] == [server]
    alpha.delete(f"shares/{made['id']}")
    assert allowed(site) == {alpha.project_id}
    assert server in site.cloud.nova.servers
    things.share(alpha, booked, beta.project_id)
    assert allowed(site) == {alpha.project_id, beta.project_id}


def test_servers_in_a_shared_reservation_with_a_handle_are_shown(
    site: Site, admin: Person, alpha: Person, beta: Person
):
    """They aren't looked for by the Nova flavor, which other reservations have too."""
    booked = things.book(alpha, things.add_flavor(admin), handle="ci", instance_count=2)
    made = things.share(alpha, booked, beta.project_id)
    start(site)
    servers = [
        site.cloud.nova.boot(booked["compute_flavor"], person.project_id)
        for person in (alpha, beta)
    ]
    path = f"reservations/{booked['id']}?detail=servers"

    def seen(person: Person) -> list[str]:
        return sorted(each["id"] for each in things.made(person.get(path))["servers"])

    assert (seen(alpha), seen(beta)) == (sorted(servers), servers[1:])
    alpha.delete(f"shares/{made['id']}")
    assert seen(alpha) == sorted(servers), "the server of the former guest stays"
    assert refusal(beta.get(path)) == (404, "reservation_not_found")


def test_end_removes_the_servers_of_former_guests(
    site: Site, alpha: Person, beta: Person, booked: dict
):
    made = things.share(alpha, booked, beta.project_id)
    start(site)
    site.cloud.nova.boot(booked["compute_flavor"], beta.project_id)
    alpha.delete(f"shares/{made['id']}")
    site.set_time(things.moment(2, 12))
    site.execute()
    backing.reconcile()
    assert not site.cloud.nova.servers and not site.cloud.nova.flavors


def test_confined_guest_is_named_alone(site: Site, alpha: Person, beta: Person, booked: dict):
    """Nova looks for hosts of such a project only in aggregates that name it so."""
    session.change(confined_projects.replace, {beta.project_id})
    things.share(alpha, booked, beta.project_id)
    start(site)
    assert tenants(site) == {f"{alpha.project_id},reservation", beta.project_id}
