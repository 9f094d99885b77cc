"""What the owner of a reservation is shown of calls of its webhook that fail."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from oslo_config import cfg

from tests.unit.api import things
from tests.unit.api.people import Person
from tests.unit.api.site import Site
from warre_blazar.db import session
from warre_blazar.db.messages import deliveries
from warre_blazar.services.messages.delivery import Delivery
from warre_blazar.services.messages.webhooks import ProjectWebhooks

URL = "https://hooks.example.org/started"


@pytest.fixture(autouse=True)
def hosts(site: Site) -> Iterator[None]:
    """A site that calls webhooks."""
    group, name = "warre_messages", "project_webhook_hosts"
    cfg.CONF.set_override(name, ["hooks.example.org"], group=group)
    session.change(deliveries.set_channels, {ProjectWebhooks.name: False})
    yield
    session.change(deliveries.set_channels, {})
    cfg.CONF.clear_override(name, group=group)


def test_failed_call_is_shown_to_those_who_have_booked(
    site: Site, admin: Person, alpha: Person, beta: Person
):
    booked = things.book(alpha, things.add_flavor(admin), webhook=URL)
    things.share(alpha, booked, beta.project_id)
    path = f"reservations/{booked['id']}"
    site.set_time(things.moment(2, 9, 1))
    site.execute()
    assert "warnings" not in alpha.get(path).json

    def refuse(url: str, key: str, document: Mapping[str, Any]) -> None:
        assert (url, document["event"]) == (URL, "started")
        raise RuntimeError("the receiver answers with the status 503")

    Delivery(ProjectWebhooks(refuse), site.executor.manager_id).run()
    (warning,) = alpha.get(path).json["warnings"]
    assert warning["code"] == "webhook_failed"
    assert "started: the receiver answers with the status 503" in warning["message"]
    assert "warnings" not in beta.get(path).json
    assert "warnings" not in alpha.get("reservations").json["results"][0]
    assert "warnings" not in Person(site.app, "alpha", "/v2/warre/v1").get(path).json
    alpha.patch(path, {"webhook": None})
    assert "warnings" not in alpha.get(path).json
