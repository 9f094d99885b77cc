"""Waits over the API: who may see them, bad requests, and how a manager serves them."""

import datetime
from typing import Any

import pytest
import sqlalchemy as sa
from oslo_config import cfg
from oslo_utils import timeutils

from tests.unit.api import identity, things
from tests.unit.api.people import Person, refusal
from tests.unit.api.site import Site
from tests.unit.api.things import at
from warre_blazar.db import session, tables
from warre_blazar.db.messages import deliveries
from warre_blazar.domain.messages.notices import Kind
from warre_blazar.errors import exceptions
from warre_blazar.openstack import manager
from warre_blazar.services.waits.serving import WaitServer
from warre_blazar.site_rules import conditions, wait_permits


def wish(flavor: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """The body of a wait for two hours on the day after tomorrow."""
    usual = {"flavor_id": flavor["id"], "hours": 2, "from": at(2, 9), "to": at(2, 11)}
    return {name: value for name, value in {**usual, **changes}.items() if value is not None}


def post(person: Person, flavor: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return things.made(person.post("waits", wish(flavor, **changes)))


def serve(site: Site) -> None:
    """Do what a manager does every two seconds, just after it has started."""
    site.executor.beat()
    server = WaitServer(site.executor.manager_id, wait_permits.permit, conditions.of_users)
    server.look(timeutils.utcnow())


def shown(person: Person, wait: dict[str, Any]) -> dict[str, Any]:
    return person.get(f"waits/{wait['id']}").json


def told(kind: Kind) -> list[str]:
    """The waits of which the outbox says something to people."""
    with session.reader() as db:
        query = sa.select(tables.log_entries.c.subject).where(
            tables.log_entries.c.kind == kind.value
        )
        return list(db.scalars(query))


@pytest.fixture
def full(site: Site, admin: Person, beta: Person) -> tuple[dict[str, Any], dict[str, Any]]:
    """A flavor with one slot, and the reservation that takes it on the day after tomorrow."""

    def make() -> tuple[dict[str, Any], dict[str, Any]]:
        flavor = things.add_flavor(admin, slots=1, category="gpu")
        return flavor, things.book(beta, flavor)

    return site.remembered(make)


@pytest.fixture
def listened(full) -> None:
    """Somebody listens to the outbox."""
    session.change(deliveries.set_channels, {"message log": False})


def test_wait_is_booked_as_its_user_when_room_appears(site, alpha: Person, beta: Person, full):
    flavor, taken = full
    site.cloud.keystone.users[alpha.user_id] = {"email": "a@example.org"}
    wait = post(alpha, flavor, name="run 7", note="n", affinity=True, contact="a@example.org")
    assert (wait["status"], wait["position"]) == ("WAITING", 1)
    serve(site)
    assert shown(alpha, wait)["status"] == "WAITING"
    beta.delete(f"reservations/{taken['id']}")
    serve(site)
    served = shown(alpha, wait)
    assert (served["status"], served["position"]) == ("BOOKED", None)
    booked = alpha.get(f"reservations/{served['reservation_id']}").json
    assert booked["user_id"] == alpha.user_id
    assert booked["project_id"] == alpha.project_id
    same = ("name", "note", "affinity", "contact")
    assert {k: booked[k] for k in same} == {k: wait[k] for k in same}
    assert (booked["start"], booked["end"]) == (at(2, 9), at(2, 11))
    assert (served["found_start"], served["found_end"]) == (at(2, 9), at(2, 11))
    assert served["found_flavor"] == flavor["name"]


@pytest.mark.parametrize("change", [{"slots": 2}, {"end": at(2, 9)}], ids=["more slots", "shorter"])
def test_any_room_will_do(site, admin: Person, alpha: Person, beta: Person, full, change):
    flavor, taken = full
    if "end" in change:
        wait = post(alpha, flavor, **{"hours": 1, "from": at(2, 10)})
        beta.patch(f"reservations/{taken['id']}", {"end": at(2, 10)})
    else:
        wait = post(alpha, flavor)
        admin.patch(f"flavors/{flavor['id']}", change)
    serve(site)
    assert shown(alpha, wait)["status"] == "BOOKED"


def test_lifted_window_makes_room(site, admin: Person, alpha: Person):
    flavor = things.add_flavor(admin)
    window = things.add_window(admin, flavor, start=at(2), end=at(3))
    wait = post(alpha, flavor)
    serve(site)
    assert shown(alpha, wait)["status"] == "WAITING"
    admin.delete(f"maintenancewindows/{window['id']}")
    serve(site)
    assert shown(alpha, wait)["status"] == "BOOKED"


def test_admins_wait_is_not_booked_inside_a_window(site, admin: Person):
    flavor = things.add_flavor(admin)
    things.add_window(admin, flavor, start=at(2), end=at(3))
    wait = post(admin, flavor)
    serve(site)
    assert shown(admin, wait)["status"] == "WAITING"


def test_category_takes_any_of_its_flavors(site, admin: Person, alpha: Person, full):
    flavor, _ = full
    other = things.add_flavor(admin, name="gpu.other", category="gpu")
    wait = post(alpha, flavor, flavor_id=None, category="gpu")
    serve(site)
    served = shown(alpha, wait)
    assert (served["status"], served["found_flavor"]) == ("BOOKED", other["name"])


def test_first_waits_of_all_projects_come_first(site, admin, alpha: Person, beta: Person, full):
    flavor, taken = full
    waits = [post(alpha, flavor), post(alpha, flavor), post(beta, flavor)]
    people = [alpha, alpha, beta]
    positions = [shown(p, w)["position"] for p, w in zip(people, waits, strict=True)]
    assert positions == [1, 3, 2]
    beta.delete(f"reservations/{taken['id']}")
    for winner in (0, 2, 1):
        serve(site)
        served = shown(people[winner], waits[winner])
        assert served["status"] == "BOOKED"
        states = [shown(p, w)["status"] for p, w in zip(people, waits, strict=True)]
        assert "BOOKING" not in states
        people[winner].delete(f"reservations/{served['reservation_id']}")
        waits[winner] = served


def test_larger_wait_does_not_hold_up_those_that_fit(site, admin, alpha: Person, beta: Person):
    flavor = things.add_flavor(admin, slots=2)
    things.book(beta, flavor)
    large = post(alpha, flavor, instance_count=2)
    small = post(beta, flavor)
    serve(site)
    assert shown(alpha, large)["status"] == "WAITING"
    assert shown(beta, small)["status"] == "BOOKED"


@pytest.mark.usefixtures("listened")
def test_told_user_gets_a_message_and_nothing_is_booked(site, alpha: Person, beta: Person, full):
    flavor, taken = full
    first, second = (post(alpha, flavor, mode="tell") for _ in range(2))
    beta.delete(f"reservations/{taken['id']}")
    serve(site)
    assert shown(alpha, first)["status"] == "TOLD"
    assert told(Kind.WAIT_TOLD) == [first["id"]]
    assert alpha.get("reservations").json["total"] == 0
    serve(site)
    assert shown(alpha, second)["status"] == "WAITING"
    site.set_time(timeutils.utcnow() + datetime.timedelta(minutes=11))
    serve(site)
    assert shown(alpha, second)["status"] == "TOLD"


@pytest.mark.usefixtures("listened")
def test_wait_expires_after_its_last_minute(site, alpha: Person, full):
    flavor, _ = full
    wait = post(alpha, flavor)
    assert wait["expires_at"] == at(2, 9)
    site.set_time(things.moment(2, 9))
    serve(site)
    assert shown(alpha, wait)["status"] == "WAITING"
    site.set_time(things.moment(2, 9, 1))
    serve(site)
    assert shown(alpha, wait)["status"] == "EXPIRED"
    assert told(Kind.WAIT_ENDED) == [wait["id"]]


@pytest.mark.usefixtures("listened")
@pytest.mark.parametrize("how", identity.REFUSALS)
def test_user_who_is_gone_books_nothing(site, admin, alpha: Person, beta: Person, full, how):
    flavor, taken = full
    wait = post(alpha, flavor)
    behind = post(admin, flavor)
    beta.delete(f"reservations/{taken['id']}")
    site.cloud.keystone.lose("alpha", how)
    serve(site)
    ended = shown(admin, wait)
    assert ended["status"] == "REFUSED"
    assert ended["status_reason"]
    assert told(Kind.WAIT_ENDED) == [wait["id"]]
    assert shown(admin, behind)["status"] == "BOOKED"


def test_user_whose_roles_keystone_does_not_list_can_only_be_told(
    site: Site, alpha: Person, beta: Person, full
):
    """A federated user has roles by the token, and no role assignments."""
    flavor, booked = full
    site.cloud.keystone.roles[alpha.user_id, alpha.project_id] = []
    for path in ("waits", "waits?dry_run=true"):
        answer = alpha.post(path, wish(flavor))
        assert refusal(answer) == (403, "forbidden")
        assert "wait with the mode tell" in answer.json["error_message"]
    assert alpha.get("waits").json["results"] == []
    wait = post(alpha, flavor, mode="tell")
    beta.delete(f"reservations/{booked['id']}")
    serve(site)
    assert shown(alpha, wait)["status"] == "TOLD"


@pytest.mark.parametrize("mode", ["book", "tell"])
@pytest.mark.parametrize("noun", ["user", "project"])
def test_wait_of_somebody_disabled_is_refused_without_vain_advice(
    site: Site, alpha: Person, full, noun: str, mode: str
):
    """Their token may still be remembered as valid."""
    flavor, _ = full
    keystone = site.cloud.keystone
    (keystone.users if noun == "user" else keystone.projects)[f"{noun}-alpha"] = {"enabled": False}
    answer = alpha.post("waits", wish(flavor, mode=mode))
    assert refusal(answer) == (403, "forbidden")
    text = answer.json["error_message"]
    assert f"The {noun} {noun}-alpha is disabled" in text
    assert "tell" not in text
    assert "federated" not in text


def test_new_wait_with_a_contact_reads_its_user_once(site: Site, alpha: Person, full):
    flavor, _ = full
    site.cloud.keystone.requests.clear()
    post(alpha, flavor, contact="alpha@example.org")
    asked = [line for line in site.cloud.keystone.requests if line.startswith("GET /v3/users/")]
    assert asked == ["GET /v3/users/user-alpha"]


@pytest.mark.usefixtures("listened")
def test_user_with_another_role_by_now_books_nothing(site, alpha: Person, beta: Person, full):
    flavor, taken = full
    wait = post(alpha, flavor)
    beta.delete(f"reservations/{taken['id']}")
    site.cloud.keystone.roles[alpha.user_id, alpha.project_id] = ["reader"]
    serve(site)
    assert shown(alpha, wait)["status"] == "REFUSED"


@pytest.mark.parametrize("noun", ["user", "project"])
def test_disabled_domain_books_nothing(site, alpha: Person, beta: Person, full, noun):
    flavor, taken = full
    wait = post(alpha, flavor)
    beta.delete(f"reservations/{taken['id']}")
    keystone = site.cloud.keystone
    keystone.domains["far"] = {"enabled": False}
    users, projects = keystone.users, keystone.projects
    (users if noun == "user" else projects)[f"{noun}-alpha"] = {"domain_id": "far"}
    serve(site)
    assert shown(alpha, wait)["status"] == "REFUSED"


@pytest.mark.usefixtures("listened")
def test_wait_for_a_deleted_flavor_ends(site, admin: Person, alpha: Person):
    flavor = things.add_flavor(admin, name="closed")
    wait = post(alpha, flavor)
    admin.patch(f"flavors/{flavor['id']}", {"active": False})
    serve(site)
    assert shown(alpha, wait)["status"] == "WAITING"
    admin.delete(f"flavors/{flavor['id']}")
    serve(site)
    assert shown(alpha, wait)["status"] == "REFUSED"
    assert told(Kind.WAIT_ENDED) == [wait["id"]]


def test_nothing_is_decided_while_keystone_is_away(site, alpha: Person, beta: Person, full):
    flavor, taken = full
    wait = post(alpha, flavor)
    beta.delete(f"reservations/{taken['id']}")
    site.cloud.keystone.fail(match="GET /v3/role_assignments", status=503)
    serve(site)
    assert shown(alpha, wait)["status"] == "WAITING"
    site.cloud.mend()
    serve(site)
    assert shown(alpha, wait)["status"] == "BOOKED"


def test_quota_is_judged_when_it_is_booked(site, alpha: Person, beta: Person, full):
    flavor, taken = full
    site.cloud.keystone.limits[alpha.project_id, "hours"] = 1
    wait, behind = post(alpha, flavor), post(beta, flavor)
    beta.delete(f"reservations/{taken['id']}")
    serve(site)
    assert shown(alpha, wait)["status"] == "WAITING"
    assert shown(beta, behind)["status"] == "BOOKED"
    assert alpha.get("refusals").json["total"] == 0


def test_canceled_wait_is_not_booked(site, alpha: Person, beta: Person, full):
    flavor, taken = full
    wait = post(alpha, flavor)
    for _ in range(2):
        assert alpha.delete(f"waits/{wait['id']}").status_int == 204
    beta.delete(f"reservations/{taken['id']}")
    serve(site)
    assert shown(alpha, wait)["status"] == "CANCELED"
    assert alpha.get("reservations").json["total"] == 0


def test_booked_wait_can_not_be_canceled(site, admin: Person, alpha: Person):
    wait = post(alpha, things.add_flavor(admin))
    serve(site)
    assert refusal(alpha.delete(f"waits/{wait['id']}")) == (409, "wait_over")


def test_others_see_nothing_of_a_wait(admin, alpha: Person, beta: Person, reader, full):
    flavor, _ = full
    wait = post(alpha, flavor)
    path = f"waits/{wait['id']}"
    for answer in (beta.get(path), beta.delete(path)):
        assert refusal(answer) == (404, "wait_not_found")
    assert beta.get("waits").json["results"] == []
    assert refusal(beta.get("waits?all_projects=true")) == (403, "forbidden")
    assert [w["id"] for w in admin.get("waits?all_projects=true").json["results"]] == [wait["id"]]
    assert reader.get(path).json["id"] == wait["id"]
    assert refusal(reader.delete(path)) == (403, "forbidden")
    assert refusal(reader.post("waits", wish(flavor))) == (403, "forbidden")


def test_private_flavor_can_not_be_waited_for(admin: Person, beta: Person):
    secret = things.add_flavor(admin, is_public=False, category="secret")
    assert refusal(beta.post("waits", wish(secret))) == (404, "flavor_not_found")
    by_category = wish(secret, flavor_id=None, category="secret")
    assert refusal(beta.post("waits", by_category)) == (422, "invalid_field")


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("flavor_id", {"category": "gpu"}),
        ("flavor_id", {"flavor_id": None}),
        ("category", {"flavor_id": None, "category": "none"}),
        ("hours", {"hours": 0}),
        ("hours", {"hours": 0.001}),
        ("hours", {"hours": 1.0001}),
        ("hours", {"hours": "2"}),
        ("to", {"to": at(2, 10)}),
        ("to", {"to": at(1)}),
        ("to", {"from": at(-2), "to": at(-1)}),
        ("expires_at", {"expires_at": at(-1)}),
        ("instance_count", {"instance_count": 0}),
        ("mode", {"mode": "beg"}),
        ("contact", {"contact": "nobody"}),
        ("timezone", {"timezone": "Nowhere/None"}),
        ("priority", {"priority": 1}),
        ("status", {"status": "BOOKED"}),
        ("user_id", {"user_id": "user-beta"}),
    ],
)
def test_bad_field_is_named(alpha: Person, full, field: str, changes: dict[str, Any]):
    flavor, _ = full
    answer = alpha.post("waits", wish(flavor, **changes))
    assert refusal(answer) == (422, "invalid_field")
    assert answer.json["detail"]["field"] == field
    assert alpha.get("waits").json["total"] == 0


@pytest.mark.parametrize(
    ("code", "terms", "changes"),
    [
        ("flavor_inactive", {"active": False}, {}),
        ("slots_exhausted", {}, {"instance_count": 3}),
        ("too_many_instances", {"max_instances_per_project": 1}, {"instance_count": 2}),
        ("too_long", {"max_length_hours": 4}, {"hours": 5, "to": at(9)}),
        ("too_far_ahead", {"max_days_ahead": 1}, {"hours": 25, "to": at(9)}),
        ("too_short_notice", {"notice_hours": 48}, {}),
        ("before_flavor_start", {"start": at(2, 10)}, {}),
        ("after_flavor_end", {"end": at(2, 10)}, {}),
        ("too_far_ahead", {"max_days_ahead": 1}, {"expires_at": at(0, 23)}),
    ],
)
@pytest.mark.parametrize("by", ["flavor", "category"])
def test_wait_that_no_booking_could_fulfill_is_refused(
    site: Site, admin: Person, alpha: Person, code: str, terms, changes, by: str
):
    usual = {"slots": 2, "max_length_hours": 48, "category": "gpu"}
    flavor = things.add_flavor(admin, **{**usual, **terms})
    status = 400
    if by == "category":
        changes = {**changes, "flavor_id": None, "category": "gpu"}
        if code == "flavor_inactive":  # It isn't in the category then.
            status, code = 422, "invalid_field"
    before = site.rows()
    for path in ("waits", "waits?dry_run=true"):
        assert refusal(alpha.post(path, wish(flavor, **changes))) == (status, code)
    assert site.rows() == before
    things.add_flavor(admin, **{**usual, "name": "will.do", "category": "gpu", "slots": 3})
    if by == "category":
        post(alpha, flavor, **changes)


@pytest.mark.parametrize(
    ("changes", "detail"),
    [
        ({"instance_count": 3}, {"asked": 3, "free": 2, "slots": 2}),
        ({"hours": 5, "to": at(9)}, {"max_length_hours": 4}),
    ],
)
def test_refusal_of_a_number_says_the_largest_one(admin: Person, alpha: Person, changes, detail):
    flavor = things.add_flavor(admin, slots=2, max_length_hours=4)
    assert alpha.post("waits", wish(flavor, **changes)).json["detail"] == detail


def test_dry_run_says_the_position_and_writes_nothing(site, alpha: Person, beta: Person, full):
    flavor, _ = full
    for _ in range(2):
        post(beta, flavor)
    before = site.rows()
    answer = alpha.post("waits?dry_run=true", wish(flavor, name="run 7"))
    assert site.rows() == before
    assert answer.status_int == 200
    made = post(alpha, flavor, name="run 7")
    differ = {"id", "created_at"}
    assert {k: v for k, v in answer.json.items() if k not in differ} == {
        k: v for k, v in made.items() if k not in differ
    }
    assert made["position"] == 2


def test_dry_run_counts_the_waits_of_the_project(alpha: Person, full):
    flavor, _ = full
    cfg.CONF.set_override("max_waits_per_project", 1, group="warre")
    try:
        assert alpha.post("waits?dry_run=true", wish(flavor)).status_int == 200
        post(alpha, flavor)
        answer = alpha.post("waits?dry_run=true", wish(flavor))
        assert refusal(answer) == (413, "too_many_waits")
    finally:
        cfg.CONF.clear_override("max_waits_per_project", group="warre")


def test_project_has_at_most_so_many_waits(alpha: Person, beta: Person, full):
    flavor, _ = full
    cfg.CONF.set_override("max_waits_per_project", 2, group="warre")
    try:
        waits = [post(alpha, flavor) for _ in range(2)]
        assert refusal(alpha.post("waits", wish(flavor))) == (413, "too_many_waits")
        post(beta, flavor)
        alpha.delete(f"waits/{waits[0]['id']}")
        post(alpha, flavor)
    finally:
        cfg.CONF.clear_override("max_waits_per_project", group="warre")


def test_request_with_a_key_makes_one_wait(alpha: Person, full):
    flavor, _ = full
    made = [
        alpha.send("POST", "waits", wish(flavor), {"Idempotency-Key": "k"}).json["id"]
        for _ in range(2)
    ]
    assert made[0] == made[1]
    assert alpha.get("waits").json["total"] == 1


def test_lists_are_filtered_by_state(alpha: Person, full):
    flavor, _ = full
    first, second = post(alpha, flavor), post(alpha, flavor)
    alpha.delete(f"waits/{first['id']}")
    found = alpha.get("waits?status=waiting,booking").json["results"]
    assert [each["id"] for each in found] == [second["id"]]
    assert refusal(alpha.get("waits?status=BORED")) == (422, "invalid_field")


def test_lease_of_v1_can_not_pass_for_a_wait(site, alpha: Person, beta: Person, full):
    flavor, _ = full
    wait = post(beta, flavor)
    reservation = {
        "resource_type": "flavor:slot",
        "flavor_id": flavor["id"],
        "amount": 1,
        "wait_id": wait["id"],
    }
    context = {"user_id": alpha.user_id, "project_id": alpha.project_id, "roles": ["member"]}
    values = {
        "name": "lease",
        "start_date": "2100-01-09 09:00",
        "end_date": "2100-01-09 11:00",
        "events": [],
        "trust_id": None,
        "reservations": [reservation],
        "user_id": alpha.user_id,
    }
    with pytest.raises(exceptions.Refused, match="wait_id"):
        manager.create_lease(context, values)
    assert shown(beta, wait)["status"] == "WAITING"
