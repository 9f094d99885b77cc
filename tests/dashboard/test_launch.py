"""The page that launches a server, while Glance, Neutron or Nova is away."""

from typing import Any

import pytest
from glanceclient import exc as glance_exc
from keystoneauth1 import exceptions as ksa
from novaclient import exceptions as nova_exc
from openstack import exceptions as sdk_exc
from openstack_dashboard.api import glance

from tests.dashboard import site
from tests.dashboard.conftest import Visitor
from tests.fakes.service import Answer
from tests.unit.cli.fake_api import Api, listing, reservation

PAGE = f"/project/flavor_reservations/{site.RESERVATION}/launch/"
FUNCTIONS = {
    "Glance": "glance.image_list_detailed",
    "Neutron": "neutron.network_list_for_tenant",
    "Nova": "nova.keypair_list",
}
FAILURES = [
    ("Glance", glance_exc.CommunicationError("Error finding address")),
    ("Glance", glance_exc.InvalidEndpoint("Error communicating")),
    ("Glance", glance_exc.HTTPServiceUnavailable("503")),
    ("Neutron", sdk_exc.HttpException("503: Server Error")),
    ("Neutron", ksa.ConnectFailure("Unable to establish connection")),
    ("Nova", nova_exc.ClientException(503)),
    ("Nova", ksa.ConnectTimeout("timed out")),
]
#: Horizon's own function, which the other tests replace.
_images = glance.image_list_detailed


@pytest.fixture(autouse=True)
def answers(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    site.fill(api, monkeypatch)
    running = Answer(200, reservation(status="ACTIVE"))
    api.answers[f"GET /v2/reservations/{site.RESERVATION}"] = running
    api.answers["GET /v2/messages"] = Answer(200, {"enabled": True})


def text(member: Visitor) -> str:
    answer = member.browser.get(PAGE)
    assert answer.status_code == 502
    return str(answer.content.decode())


def test_page_says_that_glance_is_away(member: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing listens at the address that the catalog has for Glance."""
    monkeypatch.setattr(f"openstack_dashboard.api.{FUNCTIONS['Glance']}", _images)
    assert "Glance can&#x27;t be asked" in text(member)


def test_page_says_when_the_server_is_deleted(member: Visitor) -> None:
    page = member.sees(PAGE)
    assert "is deleted when it ends, at Tue 2026-12-01 11:00." in page
    assert "Times are in the zone UTC." in page


@pytest.mark.parametrize(("service", "error"), FAILURES, ids=lambda value: type(value).__name__)
def test_page_names_the_service_that_fails(
    member: Visitor, monkeypatch: pytest.MonkeyPatch, service: str, error: Exception
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(f"openstack_dashboard.api.{FUNCTIONS[service]}", fail)
    assert f"{service} can&#x27;t be asked" in text(member)


def test_page_says_why_nova_refuses_the_server(
    member: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise nova_exc.Forbidden(403, "Quota exceeded for cores")

    monkeypatch.setattr("openstack_dashboard.api.nova.server_create", refuse)
    values = {
        "name": "worker",
        "image": "1",
        "network": "1",
        "count": "1",
        **site.hidden(member.sees(PAGE)),
    }
    page = member.sends(PAGE, values, 200).content.decode()
    assert "Quota exceeded for cores" in page
    assert "worker" in page


_SERVER = {"id": "s1", "name": "web", "status": "ACTIVE", "moved_out": False}
_LAUNCH = "Launch a server"


@pytest.mark.parametrize(
    ("servers", "is_full"),
    [
        ([_SERVER, {**_SERVER, "id": "s2"}], True),
        ([_SERVER, {**_SERVER, "id": "s2", "moved_out": True}], False),
        ([_SERVER], False),
        (None, False),
    ],
)
def test_full_reservation_says_so_and_launches_nothing(
    member: Visitor,
    monkeypatch: pytest.MonkeyPatch,
    servers: list[dict[str, Any]] | None,
    is_full: bool,
) -> None:
    """The reservation has two instances."""
    monkeypatch.setattr("warre_blazar.dashboard.servers.of", lambda *_: servers)
    launched: list[str] = []
    create = "openstack_dashboard.api.nova.server_create"
    monkeypatch.setattr(create, lambda _request, name, *_, **__: launched.append(name))
    shown = member.sees(PAGE.replace("launch/", ""))
    form = member.sees(PAGE)
    values = {"name": "worker", "image": "1", "network": "1", "count": "1", **site.hidden(form)}
    sent = member.sends(PAGE, values, 200 if is_full else 302).content.decode()
    said = ["All 2 instances have servers" in text for text in (shown, form)]
    assert said == [is_full] * 2
    assert (_LAUNCH in shown, launched) == ((False, []) if is_full else (True, ["worker"]))
    assert ("All 2 instances have servers" in sent) == is_full


@pytest.mark.parametrize(("count", "is_launched"), [("1", True), ("2", False)])
def test_no_more_servers_are_launched_than_there_is_room_for(
    member: Visitor, monkeypatch: pytest.MonkeyPatch, count: str, is_launched: bool
) -> None:
    """The reservation has two instances."""
    monkeypatch.setattr("warre_blazar.dashboard.servers.of", lambda *_: [_SERVER])
    launched: list[int] = []
    create = "openstack_dashboard.api.nova.server_create"
    monkeypatch.setattr(create, lambda *_, instance_count, **__: launched.append(instance_count))
    form = member.sees(PAGE)
    assert "There is room for 1." in form and "Cancel" in site.ours(form)
    values = {"name": "worker", "image": "1", "network": "1", "count": count, **site.hidden(form)}
    text = member.sends(PAGE, values, 302 if is_launched else 200).content.decode()
    assert launched == ([1] if is_launched else [])
    assert ("There is room for 1 only." in text) is not is_launched


def test_server_gets_the_security_groups_that_are_chosen(
    member: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    launched: list[Any] = []
    create = "openstack_dashboard.api.nova.server_create"
    monkeypatch.setattr(create, lambda *given, **__: launched.append(given[6]))
    form = member.sees(PAGE)
    values = {"name": "worker", "image": "1", "network": "1", "count": "1", **site.hidden(form)}
    member.sends(PAGE, {**values, "groups": ["7"]})
    assert "ssh</label>" in form
    assert launched == [["7"]]


@pytest.mark.parametrize("number", [1, 2])
def test_list_offers_no_launch_in_a_full_reservation(
    number: int, member: Visitor, monkeypatch: pytest.MonkeyPatch, api: Api
) -> None:
    monkeypatch.setattr("warre_blazar.dashboard.servers.of", lambda *_: [_SERVER] * number)
    api.answers["GET /v2/reservations"] = listing(reservation(status="ACTIVE"))
    page = member.sees(PAGE.partition(site.RESERVATION)[0])
    assert (_LAUNCH in page) is (number == 1)


def test_page_says_when_the_reservation_begins(member: Visitor, api: Api) -> None:
    api.answers[f"GET /v2/reservations/{site.RESERVATION}"] = Answer(200, reservation())
    assert "The reservation begins at " in member.sees(PAGE)
