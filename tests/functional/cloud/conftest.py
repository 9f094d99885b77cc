"""Fixtures of the tests on the dev cloud, which ``tools/test cloud`` starts."""

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.functional.cloud import nova_side, world
from tests.functional.cloud.people import Person
from tests.functional.cloud.placement_side import Placement
from tests.functional.cloud.records import Records
from tests.functional.cloud.waiting import at_once, until

Offer = Callable[..., dict[str, Any]]


def pytest_configure(config: pytest.Config) -> None:
    """Ignore openstacksdk's deprecation warnings."""
    config.addinivalue_line("filterwarnings", "ignore::DeprecationWarning:openstack")


@pytest.fixture(scope="session")
def people() -> dict[str, Person]:
    """All users of the cloud, by name."""
    if "WARRE_DEVCLOUD_HOME" not in os.environ:
        pytest.fail("no dev cloud: run these tests by 'tools/test cloud'", pytrace=False)
    return {name: Person(name) for name in ("admin", "alpha", "beta")}


@pytest.fixture(scope="session")
def admin(people: dict[str, Person]) -> Person:
    """The operator."""
    return people["admin"]


@pytest.fixture(scope="session")
def alpha(people: dict[str, Person]) -> Person:
    """A member of project alpha."""
    return people["alpha"]


@pytest.fixture(scope="session")
def beta(people: dict[str, Person]) -> Person:
    """A member of project beta."""
    return people["beta"]


@pytest.fixture(scope="session")
def placement(admin: Person) -> Placement:
    """Placement, as the operator sees it."""
    return Placement(admin)


@pytest.fixture(scope="session")
def records(people: dict[str, Person]) -> Records:
    """Blazar's database."""
    return Records()


@pytest.fixture(scope="session", autouse=True)
def hosts(admin: Person) -> None:
    """Register three hosts in Blazar. Two of them have a property."""
    known = {h["hypervisor_hostname"]: h for h in admin.asks("GET", "/v1/os-hosts")["hosts"]}
    for name in world.HOSTS:
        if name not in known:
            body = {"name": name}
            known[name] = admin.asks("POST", "/v1/os-hosts", body, want=201)["host"]
        if name in world.PAIR and world.PROPERTY not in known[name]:
            admin.asks("PUT", f"/v1/os-hosts/{known[name]['id']}", {world.PROPERTY: "pair"})


def _offering(admin: Person, alpha: Person) -> Iterator[Offer]:
    made: list[dict[str, Any]] = []

    def offer(**changes: Any) -> dict[str, Any]:
        made.append(admin.asks("POST", "/v2/flavors/", world.flavor_body(**changes), want=202))
        return made[-1]

    yield offer
    for flavor in made:
        _withdraw(admin, flavor)


def _withdraw(admin: Person, flavor: dict[str, Any]) -> None:
    """Delete a flavor, after the leases that have reservations of it."""
    query = f"/v2/reservations/?all_projects=true&flavor_id={flavor['id']}"
    leases = {r["lease_id"] for r in admin.asks("GET", query)["results"]}
    for lease in leases:
        world.delete_lease(admin, lease)
    path = f"/v2/flavors/{flavor['id']}/"
    until(
        f"flavor {flavor['name']} to be deleted",
        lambda: admin.ask("DELETE", path).status_code in (204, 404),
    )


@pytest.fixture
def offer(admin: Person, alpha: Person) -> Iterator[Offer]:
    """A function that makes flavors. They and their reservations are deleted after the test."""
    yield from _offering(admin, alpha)


@pytest.fixture(scope="module")
def shared_offer(admin: Person, alpha: Person) -> Iterator[Offer]:
    """The same as ``offer``, but flavors are deleted after the last test of the module."""
    yield from _offering(admin, alpha)


@pytest.fixture
def plain(admin: Person) -> Iterator[Any]:
    """A small public Nova flavor."""
    made = admin.cloud.compute.create_flavor(
        name=world.unique("plain"), vcpus=1, ram=128, disk=1, is_public=True
    )
    yield made
    admin.cloud.compute.delete_flavor(made)


@pytest.fixture
def lease(admin: Person) -> Iterator[Callable[..., Any]]:
    """A function that requests leases over v1. The leases are deleted after the test."""
    made: list[str] = []

    def create(who: Person, body: dict[str, Any]) -> Any:
        answer = who.ask("POST", "/v1/leases", body)
        if answer.status_code == 201:
            made.append(answer.json()["lease"]["id"])
        return answer

    yield create
    at_once([lambda i=i: world.delete_lease(admin, i) for i in made], 4)


@pytest.fixture
def clean(admin: Person, records: Records) -> Iterator[Callable[[], None]]:
    """A check that nothing new is left in Nova and Placement without a reservation.

    The check also runs after the test.
    """
    before = nova_side.orphans(admin, records)

    def check() -> None:
        until("leftovers to go", lambda: nova_side.orphans(admin, records) <= before)

    yield check
    check()
