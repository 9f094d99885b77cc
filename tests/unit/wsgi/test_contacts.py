"""To which addresses messages can be sent: on every way in, by the API and by the manager."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from oslo_config import cfg
from oslo_utils import timeutils

from tests.unit.api import things
from tests.unit.api.people import Person
from tests.unit.api.site import NOW
from tests.unit.wsgi import sending
from tests.unit.wsgi.label_ways import WAYS, Way
from tests.unit.wsgi.whole import WholeSite
from warre_blazar.db import session
from warre_blazar.db.messages import message_settings
from warre_blazar.services.waits.serving import WaitServer
from warre_blazar.site_rules import conditions, wait_permits

STRANGER = "victim@stranger.example"
OWN = "Alpha@example.org"
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=[name.split()[-1] for name in WAYS])


@pytest.fixture
def flavor(admin: Person) -> dict[str, Any]:
    return things.add_flavor(admin, slots=5)


@pytest.fixture
def booked(site: WholeSite, alpha: Person, flavor: dict[str, Any]) -> dict[str, Any]:
    """A reservation of alpha, who has an address in Keystone."""
    site.cloud.keystone.users[alpha.user_id] = {"name": "Alpha", "email": OWN}
    return things.book(alpha, flavor)


@pytest.fixture
def domains() -> Iterator[Callable[..., None]]:
    """A function that sets the mail domains in which contacts may be."""

    def allow(*names: str) -> None:
        cfg.CONF.set_override("contact_domains", list(names), group="warre_messages")

    yield allow
    cfg.CONF.clear_override("contact_domains", group="warre_messages")


def questions(site: WholeSite) -> int:
    """How often Keystone was asked for a user, who is shown with an address."""
    asked = site.cloud.keystone.requests
    return sum(line.startswith("GET /v3/users/") for line in asked)


def permits(site: WholeSite) -> int:
    """How often Keystone was asked whether a user may wait, for which the user is read once."""
    asked = site.cloud.keystone.requests
    return sum(line.startswith("GET /v3/role_assignments") for line in asked)


def expected(site: WholeSite, answer: Any) -> str:
    """What the refusal of a contact says."""
    assert answer.status_int in (400, 422), answer
    text: str = answer.json["error_message"]
    assert text.startswith("contact: ")
    return text


@every_way
def test_stranger_can_not_be_a_contact(
    site: WholeSite, alpha: Person, flavor: Any, booked: Any, way: Way
):
    before = site.rows()
    text = expected(site, way(alpha, flavor, booked, STRANGER))
    assert OWN in text
    assert site.rows() == before


@every_way
def test_own_address_can_be_a_contact_and_keystone_is_asked_once(
    site: WholeSite, alpha: Person, flavor: Any, booked: Any, way: Way
):
    before = questions(site)
    for contact in (OWN, OWN.lower()):
        answer = way(alpha, flavor, booked, contact)
        assert answer.status_int in (200, 201), answer
    assert questions(site) == before + 1


@every_way
def test_address_of_somebody_else_in_the_project_can_not_be_a_contact(
    site: WholeSite, alpha: Person, flavor: Any, booked: Any, way: Way
):
    site.cloud.keystone.users["user-colleague"] = {"email": "colleague@example.org"}
    expected(site, way(alpha, flavor, booked, "colleague@example.org"))


@every_way
@pytest.mark.parametrize("trouble", ["away", "refuses", "gone", "federated", "nonsense"])
def test_user_whose_address_is_not_known_gets_no_5xx(
    site: WholeSite, alpha: Person, flavor: Any, booked: Any, way: Way, trouble: str
):
    keystone = site.cloud.keystone
    match trouble:
        case "away":
            keystone.fail(match="/v3/users/", status=503)
        case "refuses":
            keystone.fail(match="/v3/users/", status=403)
        case "gone":
            keystone.fail(match="/v3/users/", status=404)
        case "federated":
            keystone.users[alpha.user_id] = {"name": "alpha"}
        case "nonsense":
            keystone.users[alpha.user_id] = {"name": "alpha", "email": {"a": 1}}
    before = site.rows()
    text = expected(site, way(alpha, flavor, booked, OWN))
    why = "doesn't tell at the moment" if trouble in ("away", "refuses") else "has none for you"
    assert why in text
    assert site.rows() == before


@every_way
def test_address_in_a_domain_of_the_operator_needs_no_keystone(
    site: WholeSite, alpha: Person, flavor: Any, booked: Any, domains: Any, way: Way
):
    domains("Stranger.example", "example.net")
    before = questions(site) - permits(site)
    assert way(alpha, flavor, booked, STRANGER).status_int in (200, 201)
    assert questions(site) - permits(site) == before
    for other in ("a@b.stranger.example", "a@xstranger.example", "a@stranger.example.com"):
        text = expected(site, way(alpha, flavor, booked, other))
        assert f"{OWN}, or one that ends with @stranger.example, @example.net" in text
    assert way(alpha, flavor, booked, OWN).status_int in (200, 201)


def test_operator_can_allow_all_domains(alpha: Person, flavor: Any, booked: Any, domains: Any):
    domains("*")
    assert WAYS["booking"](alpha, flavor, booked, STRANGER).json["contact"] == STRANGER


@every_way
@pytest.mark.parametrize("contact", [STRANGER, "Victim+5@Stranger.example"])
def test_address_whose_owner_has_stopped_messages_can_not_be_a_contact(
    site: WholeSite,
    alpha: Person,
    flavor: Any,
    booked: Any,
    domains: Any,
    way: Way,
    contact: str,
):
    domains("*")
    session.change(message_settings.stop, STRANGER, NOW)
    session.change(message_settings.stop, OWN.lower(), NOW)
    assert "has stopped messages" in expected(site, way(alpha, flavor, booked, contact))
    # What they stop is only about reservations of others.
    assert way(alpha, flavor, booked, OWN).status_int in (200, 201)


def test_contact_that_a_thing_has_stays(
    site: WholeSite, alpha: Person, flavor: Any, booked: Any, domains: Any
):
    """The operator may allow fewer domains later, and a user may get another address."""
    domains("*")
    contact = {"contact": STRANGER}
    reservation = things.book(alpha, flavor, **contact)
    series = things.add_series(alpha, flavor, **contact, rrule="FREQ=DAILY;COUNT=4")
    wait = things.add_wait(alpha, flavor, **contact)
    domains()
    path = f"reservations/{reservation['id']}"
    changed = alpha.patch(path, {**contact, "note": "x"})
    assert (changed.status_int, changed.json["note"]) == (200, "x")
    more = alpha.patch(f"series/{series['id']}", {"more": 2})
    assert (more.status_int, len(more.json["reservations"])) == (200, 6), more
    site.executor.beat()
    permit = wait_permits.permit
    WaitServer(site.executor.manager_id, permit, conditions.of_users).look(timeutils.utcnow())
    served = alpha.get(f"waits/{wait['id']}").json
    assert served["status"] == "BOOKED", served
    assert alpha.get(f"reservations/{served['reservation_id']}").json["contact"] == STRANGER
    # It doesn't help to name the wait or the series of another contact.
    for name in ("wait_id", "series_id"):
        asked = sending.slot(flavor, contact="other@stranger.example", **{name: series["id"]})
        answer = sending.send(site.app, "POST", "/v1/leases", sending.lease(asked))
        assert answer.status_int == 400
