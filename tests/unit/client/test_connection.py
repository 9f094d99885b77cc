"""The client as an attribute of a connection of openstacksdk."""

import pathlib
from collections.abc import Callable
from typing import Any

import openstack
import pytest
import yaml

from tests.unit.cli.fake_api import Api, error, flavor, listing
from warre_blazar.client import Client, add_to, errors, times

Connect = Callable[..., Any]


@pytest.fixture
def connect(api: Api, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Connect:
    """Connects to a cloud of ``clouds.yaml``, which has further settings."""
    path = tmp_path / "clouds.yaml"
    monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(path))
    login = {"auth_type": "admin_token", "auth": {"endpoint": f"{api.url}/v1", "token": "a-token"}}

    def connected(**settings: Any) -> Any:
        clouds = {"clouds": {"mine": {**login, **settings}}}
        path.write_text(yaml.safe_dump(clouds))
        return openstack.connect(cloud="mine")

    return connected


def test_connection_lists_flavors(api: Api, connect: Connect) -> None:
    api.answers["GET /v2/flavors"] = [listing(flavor(), next="/?page=2"), listing(flavor(id="2"))]
    connection = connect()
    add_to(connection)
    assert isinstance(connection.flavor_reservation, Client)
    assert api.seen == []
    found = connection.flavor_reservation.flavors(category="gpu")
    assert [each.id for each in found] == [flavor()["id"], "2"]
    assert [request.query for request in api.seen] == [{"category": "gpu"}, {"page": "2"}]
    assert api.seen[0].headers["x-auth-token"] == "a-token"


def test_hook_in_clouds_yaml_adds_the_client(api: Api, connect: Connect) -> None:
    api.answers["GET /v2/flavors"] = listing(flavor())
    connection = connect(vendor_hook="warre_blazar.client:add_to")
    assert [each.name for each in connection.flavor_reservation.flavors()] == ["gpu.large"]


def test_requests_go_through_the_sdk(api: Api, connect: Connect) -> None:
    """So the SDK's settings, metrics and ids of requests are those of the client too."""
    api.answers["GET /other/v2/flavors"] = listing()
    connection = connect(api_timeout=7, reservation_endpoint_override=f"{api.url}/other/v1")
    connection._global_request_id = "req-1d9d1b1e-8f2c-4c3e-9c3e-0a1b2c3d4e5f"
    add_to(connection)
    assert connection.flavor_reservation.flavors() == []
    assert api.seen[0].headers["x-openstack-request-id"].startswith("req-1d9d1b1e")
    assert "timeout" not in connection.flavor_reservation.transport._options
    assert connection.session.timeout == 7


def test_client_has_its_own_timeout_if_the_cloud_has_none(connect: Connect) -> None:
    connection = connect()
    add_to(connection)
    options = connection.flavor_reservation.transport._options
    assert options["timeout"] == times.ANSWER_TIMEOUT


def test_errors_keep_codes_and_data(api: Api, connect: Connect) -> None:
    api.answers["PATCH /v2/flavors/f"] = error(409, "2 are booked", "slots_booked", booked=2)
    api.answers["GET /v2/flavors/gone"] = error(404, "no", "no_flavor")
    connection = connect()
    add_to(connection)
    with pytest.raises(errors.ApiError, match="2 are booked") as refused:
        connection.flavor_reservation.flavors.update("f", slots=1)
    assert (refused.value.code, refused.value.detail) == ("slots_booked", {"booked": 2})
    with pytest.raises(errors.NotFound):
        connection.flavor_reservation.flavors.get("gone")
