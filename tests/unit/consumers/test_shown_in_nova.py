"""Nova flavors that show flavors of this package."""

from typing import Any

import pytest

from tests.unit.api import identity, things
from tests.unit.api.people import Person
from tests.unit.consumers.site import START, ExactSite, instance
from warre_blazar.services.flavors import shown_in_nova

PROJECT = identity.project_id("alpha")
TRAIT = "trait:CUSTOM_BOOTS_IN_RESERVATIONS_ONLY"


@pytest.fixture
def shown(site: ExactSite, admin: Person) -> dict[str, Any]:
    """A flavor that Nova shows."""
    flavor = things.add_flavor(admin, show_in_nova=True, extra_specs={"hw:cpu_policy": "shared"})
    shown_in_nova.look()
    return flavor


def change(admin: Person, flavor: dict[str, Any], **values: Any) -> None:
    assert admin.patch(f"flavors/{flavor['id']}", values).status_int == 200
    shown_in_nova.look()


def test_nova_flavor_has_the_id_the_name_and_the_sizes(site: ExactSite, shown: dict[str, Any]):
    known = site.cloud.nova.flavors[shown["id"]]
    assert known["name"] == shown["name"]
    assert (known["vcpus"], known["ram"], known["disk"]) == (2, 2048, 20)
    assert known["os-flavor-access:is_public"] is True
    assert not known.get("OS-FLV-DISABLED:disabled")
    # python-chi hides Nova flavors that ask for a class of a reservation.
    assert known["extra_specs"] == {"hw:cpu_policy": "shared", TRAIT: "required"}


def test_no_server_boots_on_it_outside_of_a_reservation(site: ExactSite, shown: dict[str, Any]):
    with pytest.raises(AssertionError, match="No valid host"):
        site.cloud.nova.boot(shown["id"], PROJECT, host="host-1")
    made = site.book(instance(shown["id"]))
    site.go_to(START)
    (reservation,) = made["reservations"]
    known = site.cloud.nova.flavors[reservation["id"]]
    assert TRAIT not in known["extra_specs"]
    assert shown["id"] in site.cloud.nova.flavors


def test_nova_is_asked_nothing_as_long_as_nothing_changes(
    site: ExactSite, admin: Person, shown: dict[str, Any]
):
    before = len(site.cloud.nova.requests), len(site.cloud.placement.requests)
    shown_in_nova.look()
    change(admin, shown, slots=1)
    assert (len(site.cloud.nova.requests), len(site.cloud.placement.requests)) == before


GOES: dict[str, dict[str, Any]] = {"hidden": {"show_in_nova": False}, "inactive": {"active": False}}


@pytest.mark.parametrize("values", GOES.values(), ids=GOES)
def test_it_goes_and_comes_back(
    site: ExactSite, admin: Person, shown: dict[str, Any], values: dict[str, Any]
):
    change(admin, shown, **values)
    assert shown["id"] not in site.cloud.nova.flavors
    change(admin, shown, **{name: not value for name, value in values.items()})
    assert shown["id"] in site.cloud.nova.flavors


def test_it_goes_with_the_flavor(site: ExactSite, admin: Person, shown: dict[str, Any]):
    assert admin.delete(f"flavors/{shown['id']}").status_int == 204
    shown_in_nova.look()
    assert list(site.cloud.nova.flavors) == ["plain"]


def test_it_follows_the_name_the_extra_specs_and_the_access(
    site: ExactSite, admin: Person, shown: dict[str, Any]
):
    change(admin, shown, name="gpu.large", extra_specs={}, is_public=False)
    known = site.cloud.nova.flavors[shown["id"]]
    assert (known["name"], known["os-flavor-access:is_public"]) == ("gpu.large", False)
    assert known["extra_specs"] == {TRAIT: "required"}
    assert known["access"] == set()
    things.grant(admin, shown, PROJECT)
    shown_in_nova.look()
    assert site.cloud.nova.flavors[shown["id"]]["access"] == {PROJECT}


def test_flavor_whose_name_nova_has_is_shown_once_the_name_is_free(
    site: ExactSite, admin: Person, caplog: pytest.LogCaptureFixture
):
    taken = site.cloud.nova.make_flavor("gpu.small")
    flavor = things.add_flavor(admin, show_in_nova=True)
    for _ in range(2):
        shown_in_nova.look()
        assert flavor["id"] not in site.cloud.nova.flavors
    assert "Perhaps another one has its name" in caplog.text
    del site.cloud.nova.flavors[taken]
    shown_in_nova.look()
    assert flavor["id"] in site.cloud.nova.flavors


def test_flavor_is_shown_once_nova_is_back(site: ExactSite, admin: Person):
    site.cloud.nova.stop()
    flavor = things.add_flavor(admin, show_in_nova=True)
    shown_in_nova.look()
    site.cloud.nova.start()
    shown_in_nova.look()
    assert flavor["id"] in site.cloud.nova.flavors
