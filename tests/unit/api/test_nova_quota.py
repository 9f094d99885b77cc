"""Bookings whose servers Nova's quota doesn't allow are warned of, and never refused for it."""

from typing import Any

import pytest

from tests.unit.api import things
from tests.unit.api.people import Person
from tests.unit.api.site import Site
from warre_blazar import times
from warre_blazar.openstack import nova_quotas

_TEXT = (
    "Nova's quota of the project is too small for all servers of this reservation: they need 4 of "
    "cores, and the quota allows 2; ask the operator for more before it starts"
)


@pytest.fixture
def flavor(site: Site, admin: Person, alpha: Person) -> dict[str, Any]:
    """A flavor with 2 vCPUs. Alpha may have 2 in Nova."""
    site.cloud.nova.quotas[alpha.project_id] = {"cores": 2}
    nova_quotas._asked.clear()  # The fixtures have asked before the quota was set.
    return things.add_flavor(admin)


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets bookings and changes wait for Nova's answer, which otherwise may come just too late."""
    limits = nova_quotas.LimitsAsked.limits
    monkeypatch.setattr(nova_quotas.LimitsAsked, "limits", lambda asked, _=0: limits(asked, 60))


def texts(answer: Any) -> list[str]:
    return [each["message"] for each in things.made(answer).get("warnings", [])]


@pytest.mark.usefixtures("answered")
def test_booking_and_dry_run_warn(alpha: Person, flavor: dict):
    body = things.booking(flavor, instance_count=2)
    dry = alpha.post("reservations?dry_run=true", body)
    assert (dry.json["bookable"], texts(dry)) == (True, [_TEXT])
    assert texts(alpha.post("reservations", body)) == [_TEXT]


@pytest.mark.usefixtures("answered")
def test_what_fits_is_not_warned_of(alpha: Person, beta: Person, flavor: dict):
    assert texts(alpha.post("reservations", things.booking(flavor))) == []
    two = things.booking(flavor, instance_count=2, start=things.at(3), end=things.at(4))
    assert texts(beta.post("reservations", two)) == []


@pytest.mark.usefixtures("answered")
def test_more_instances_are_warned_of_and_a_new_name_is_not(
    site: Site, alpha: Person, flavor: dict
):
    path = f"reservations/{things.book(alpha, flavor)['id']}"
    nova_quotas._asked.clear()
    site.cloud.nova.requests.clear()
    assert texts(alpha.patch(path, {"name": "training"})) == []
    assert site.cloud.nova.requests == []
    more = {"instance_count": 2}
    assert texts(alpha.patch(f"{path}?dry_run=true", more)) == [_TEXT]
    assert texts(alpha.patch(path, more)) == [_TEXT]


def test_reservation_is_shown_with_the_warning_that_came_too_late(
    site: Site, alpha: Person, flavor: dict, monkeypatch: pytest.MonkeyPatch
):
    """Nova doesn't answer while somebody books. Nobody waits for it."""
    site.cloud.nova.fail(match="os-quota-sets", hang=True)
    booked = things.made(alpha.post("reservations", things.booking(flavor, instance_count=2)))
    assert "warnings" not in booked
    site.cloud.mend()
    monkeypatch.setattr(times, "NOVA_QUOTA_WAIT", 60)
    assert texts(alpha.get(f"reservations/{booked['id']}")) == [_TEXT]


@pytest.mark.usefixtures("answered")
@pytest.mark.parametrize("fault", [{"status": 503}, {"status": 403}, {"drop": True}], ids=str)
def test_nova_that_fails_refuses_nothing(site: Site, alpha: Person, flavor: dict, fault: dict):
    site.cloud.nova.fail(match="os-quota-sets", **fault)
    booked = things.made(alpha.post("reservations", things.booking(flavor, instance_count=2)))
    assert texts(alpha.get(f"reservations/{booked['id']}")) == []


@pytest.mark.usefixtures("answered")
def test_nova_is_asked_once_for_many_requests(site: Site, alpha: Person, flavor: dict):
    path = f"reservations/{things.book(alpha, flavor)['id']}"
    for _ in range(3):
        alpha.get(path)
    asked = [line for line in site.cloud.nova.requests if "os-quota-sets" in line]
    assert len(asked) == 1


@pytest.mark.usefixtures("answered")
def test_clients_of_warre_get_no_field(alpha: Person, flavor: dict):
    body = things.booking(flavor, instance_count=2)
    assert "warnings" not in things.made(alpha.post("warre/v1/reservations", body))


@pytest.mark.usefixtures("answered")
def test_reservation_that_is_over_is_not_warned_of(site: Site, alpha: Person, flavor: dict):
    path = f"reservations/{things.book(alpha, flavor, instance_count=2)['id']}"
    site.set_time(things.moment(2, 9))
    site.execute()
    assert texts(alpha.get(path)) == [_TEXT]
    site.set_time(things.moment(2, 11))
    site.execute()
    assert texts(alpha.get(path)) == []
