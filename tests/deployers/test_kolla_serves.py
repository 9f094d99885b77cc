"""What Kolla and Kolla-Ansible render serves this package's API, with one line of ours.

The containers' own commands run: the bootstrap, the manager, and uWSGI with one thread.
"""

import datetime
import http.client
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from devcloud_lib.deployers import Release
from devcloud_lib.layout import Layout

from tests.deployers import environments, kolla_ansible, serving
from tests.deployers.kolla_images import Image
from tests.functional.cloud.waiting import until
from tests.unit.api import identity, things
from tests.unit.api.people import Person
from tests.unit.api.site import SiteCloud

# Tests of the API that need nothing but the API. Here they run with a server.
from tests.unit.api.test_flavors import (  # noqa: F401
    offer,
    test_create_fills_in_defaults_and_refuses_duplicates,
    test_dry_run_of_a_flavor_has_the_warnings_and_changes_nothing,
    test_user_without_role_is_forbidden,
)
from tests.unit.api.test_reservations import (  # noqa: F401
    flavor,
    test_affinity_is_kept_and_shown,
    test_booking_may_start_when_another_ends,
    test_flavor_can_be_booked_by_its_name,
    test_only_an_admin_may_book_inside_a_window,
    test_reader_and_user_without_role_may_not_book,
)
from tests.unit.wsgi import sending

LIMIT = 128 * 1024


@pytest.fixture(scope="session")
def running_servers(layout: Layout) -> Iterator[None]:
    with serving.servers(layout):
        yield


@pytest.fixture(scope="session")
def blazar(
    running_servers: None,
    release: Release,
    layout: Layout,
    cloud: SiteCloud,
    written: dict[str, Path],
    images: dict[str, Image],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[..., Any]]:
    """The API after Kolla-Ansible has deployed Blazar, as a WSGI application."""
    # Nothing of this package is in Keystone yet.
    cloud.keystone.registered.clear()
    cloud.keystone.system_roles.clear()
    root, programs = tmp_path_factory.mktemp("containers"), environments.home() / release.name
    made = serving.Blazar(root, programs, written[kolla_ansible.OURS], images["blazar-api"])
    with serving.database(layout):
        made.bootstrap()
        serving.furnish(cloud)
        with made.running(layout.ports.blazar) as application:
            yield application


@pytest.fixture(autouse=True)
def present(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count days from today, because the server has the machine's clock."""
    today = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
    monkeypatch.setattr(things, "NOW", today.replace(minute=0, second=0, microsecond=0))


def person(application: Callable[..., Any], name: str) -> Person:
    return Person(application, name)


@pytest.fixture
def admin(blazar: Callable[..., Any]) -> Iterator[Person]:
    """An admin. What a test has made is removed after it."""
    found = person(blazar, "admin")
    yield found
    for path in (
        "reservations?all_projects=true",
        "maintenancewindows",
        "flavors?all_projects=true",
    ):
        for item in found.get(path).json["results"]:
            url = f"{path.partition('?')[0]}/{item['id']}"
            answer = found.delete(url)
            if answer.status_int == 404 and answer.json["detail"].get("by") == "user-admin":
                # ``forwarding`` repeats a request after a 503. The first one was carried out.
                continue
            assert answer.status_int in (200, 202, 204), answer
            if answer.status_int == 202:
                # A process with one thread doesn't wait long for a manager.
                until(f"{url} to be gone", lambda url=url: found.get(url).status_int == 404)


@pytest.fixture
def alpha(blazar: Callable[..., Any]) -> Person:
    return person(blazar, "alpha")


@pytest.fixture
def beta(blazar: Callable[..., Any]) -> Person:
    return person(blazar, "beta")


@pytest.fixture
def reader(blazar: Callable[..., Any]) -> Person:
    return person(blazar, "reader")


@pytest.fixture
def nobody(blazar: Callable[..., Any]) -> Person:
    return person(blazar, "nobody")


def test_bootstrap_has_registered_limits_and_given_the_role(blazar, cloud):
    assert set(cloud.keystone.registered) == {"reservation", "hours"}
    assert cloud.keystone.system_roles


def test_limits_are_read_with_the_login_of_the_middleware(alpha, cloud):
    limits = things.made(alpha.get("limits"))["absolute"]
    assert limits["maxHours"] == cloud.keystone.registered["hours"]


def test_warres_path_serves_the_same(admin, alpha):
    made = things.add_flavor(admin)
    listed = alpha.get("/v2/warre/v1/flavors/").json["results"]
    assert [item["id"] for item in listed] == [made["id"]]


def test_booking_is_a_lease_over_v1(blazar, admin, alpha):
    booked = things.book(alpha, things.add_flavor(admin))
    answer = sending.send(blazar, "GET", f"/v1/leases/{booked['lease_id']}")
    reservations = answer.json["lease"]["reservations"]
    assert [r["resource_type"] for r in reservations] == ["flavor:slot"]


@pytest.mark.parametrize("key", ["status", "degraded", "trust_id"])
def test_guard_refuses_what_a_lease_may_not_have(blazar, key):
    answer = sending.send(blazar, "POST", "/v1/leases", sending.lease(**{key: "x"}))
    assert sending.refused(answer)[0] == 400
    assert answer.json["detail"]["field"] == key


def test_body_over_the_limit_is_refused(alpha):
    assert alpha.send("POST", "reservations", b"x" * (LIMIT + 1)).status_int == 413


def test_health_check_of_the_load_balancer_is_answered_by_this_package(blazar):
    """Kolla's load balancer expects 401. Each process has one thread."""
    answer = sending.send(blazar, "OPTIONS", "/", who=None)
    assert answer.status_int == 401
    assert answer.headers["X-Warre-Blazar"].endswith("; threads=1")


def test_body_in_chunks_is_read(admin, layout):
    """uWSGI decodes chunks with the options that Kolla gives it."""
    body = json.dumps(things.FLAVOR).encode()
    connection = http.client.HTTPConnection("127.0.0.1", layout.ports.blazar, timeout=90)
    headers = {"X-Auth-Token": identity.token("admin"), "Content-Type": "application/json"}
    parts = iter((body[:20], body[20:]))
    connection.request("POST", "/v2/flavors", parts, headers, encode_chunked=True)
    answer = connection.getresponse()
    assert json.loads(answer.read())["name"] == things.FLAVOR["name"]
