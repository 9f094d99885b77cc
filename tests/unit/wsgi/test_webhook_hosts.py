"""Which webhooks users can give: on every way in, by the API and by the manager."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from oslo_config import cfg

from tests.unit.api import things
from tests.unit.api.people import Person
from tests.unit.wsgi import sending
from tests.unit.wsgi.label_ways import WAYS, Way
from tests.unit.wsgi.whole import WholeSite

URL = "https://hooks.example.org/started"
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=list(WAYS))


@pytest.fixture
def flavor(admin: Person) -> dict[str, Any]:
    return things.add_flavor(admin, slots=5)


@pytest.fixture
def booked(alpha: Person, flavor: dict[str, Any]) -> dict[str, Any]:
    return things.book(alpha, flavor)


@pytest.fixture
def allow() -> Iterator[Callable[..., None]]:
    """A function that sets the hosts at which webhooks may be."""

    def set_hosts(*names: str) -> None:
        cfg.CONF.set_override("project_webhook_hosts", list(names), group="warre_messages")

    yield set_hosts
    cfg.CONF.clear_override("project_webhook_hosts", group="warre_messages")


def said(site: WholeSite, way: Way, *args: Any) -> str:
    """What the refusal of a webhook says. Nothing is written."""
    before = site.rows()
    answer = way(*args, "webhook")
    assert answer.status_int in (400, 422), answer
    assert site.rows() == before
    text: str = answer.json["error_message"]
    assert text.startswith("webhook: ")
    return text


@every_way
def test_site_without_hosts_takes_no_webhooks(
    site: WholeSite, alpha: Person, flavor: Any, booked: Any, way: Way
):
    assert "calls no webhooks" in said(site, way, alpha, flavor, booked, URL)


@every_way
def test_webhook_at_another_host_is_refused(
    site: WholeSite, alpha: Person, flavor: Any, booked: Any, allow: Any, way: Way
):
    allow("hooks.example.org", ".lab.example.org")
    for url in ("https://example.com/hooks.example.org", "https://hooks.example.org:8443/"):
        refused = said(site, way, alpha, flavor, booked, url)
        assert "hooks.example.org, .lab.example.org" in refused
    for url in ("https://hooks.example.org@example.com/", "https://2130706433/", "https://[::1]/"):
        assert "the name of a host" in said(site, way, alpha, flavor, booked, url)


@every_way
def test_webhook_at_an_allowed_host_is_taken(
    alpha: Person, flavor: Any, booked: Any, allow: Any, way: Way
):
    allow("HOOKS.example.org")
    assert way(alpha, flavor, booked, URL, "webhook").status_int in (200, 201)


def test_webhook_that_a_thing_has_stays(alpha: Person, flavor: Any, allow: Any, site: WholeSite):
    allow("hooks.example.org")
    reservation = things.book(alpha, flavor, webhook=URL)
    series = things.add_series(alpha, flavor, webhook=URL, rrule="FREQ=DAILY;COUNT=2")
    wait = things.add_wait(alpha, flavor, webhook=URL)
    assert (reservation["webhook"], series["webhook"], wait["webhook"]) == (URL, URL, URL)
    allow()
    path = f"reservations/{reservation['id']}"
    assert alpha.patch(path, {"webhook": URL, "note": "x"}).json["note"] == "x"
    more = alpha.patch(f"series/{series['id']}", {"more": 1}).json["reservations"]
    its = [alpha.get(f"reservations/{each['id']}").json["webhook"] for each in more]
    assert its == 3 * [URL]
    assert alpha.patch(path, {"webhook": None}).json["webhook"] is None
    assert alpha.patch(path, {"webhook": URL}).status_int == 400
    # It doesn't help to name the series of another webhook.
    other = sending.slot(flavor, webhook=f"{URL}/other", series_id=series["id"])
    assert sending.send(site.app, "POST", "/v1/leases", sending.lease(other)).status_int == 400


def test_series_changes_the_webhook_of_what_has_not_begun(alpha: Person, flavor: Any, allow: Any):
    allow("hooks.example.org")
    series = things.add_series(alpha, flavor, rrule="FREQ=DAILY;COUNT=2")
    changed = alpha.patch(f"series/{series['id']}", {"webhook": URL}).json
    assert changed["webhook"] == URL
    for each in changed["reservations"]:
        assert alpha.get(f"reservations/{each['id']}").json["webhook"] == URL
