"""Flavors with extra specs of which Nova or Placement says that no server could ever boot."""

from typing import Any

import pytest

from tests.functional.db import world
from tests.unit.api import things
from tests.unit.api.people import Person, refusal
from tests.unit.api.site import Site
from warre_blazar.domain.hosts.providers import Inventory, Provider

#: Extra specs, and what the refusal quotes. Nova refuses the first two, Placement the others.
NEVER = {
    "value that Nova doesn't know": (
        {"hw:cpu_policy": "shared", "hw:mem_page_size": "huge"},
        "Nova refused: hw:mem_page_size: ",
    ),
    "key of Nova's that doesn't exist": ({"hw:cpu_polizy": "dedicated"}, "hw:cpu_polizy"),
    "forbidden trait": ({"trait:CUSTOM_TYPO": "forbidden"}, "No such trait(s): CUSTOM_TYPO."),
    "required trait": ({"trait:CUSTOM_TYPO": "required"}, "No such trait(s): CUSTOM_TYPO."),
    "trait of a group": (
        {"resources1:VGPU": "1", "trait1:CUSTOM_TYPO": "required"},
        "No such trait(s): CUSTOM_TYPO.",
    ),
    "resource class": ({"resources:CUSTOM_TYPO": "1"}, "CUSTOM_TYPO"),
    "key that no aggregate has": (
        {"aggregate_instance_extra_specs:sdd": "true"},
        "Nova would never find a host: no aggregate has sdd in its metadata; set it with ",
    ),
    "key without a colon that no aggregate has": ({"sdd": "true"}, "no aggregate has sdd"),
}
#: Extra specs of which servers could boot on the site's host.
FINE = {"hw:cpu_policy": "shared", "trait:CUSTOM_KNOWN": "forbidden"}


@pytest.fixture(autouse=True)
def known(site: Site) -> None:
    site.cloud.add_elsewhere("CUSTOM_KNOWN")


def asked(specs: dict[str, str], **terms: Any) -> dict[str, Any]:
    return {**things.FLAVOR, "extra_specs": specs, **terms}


def codes(flavor: dict[str, Any]) -> list[str]:
    return [warning["code"] for warning in flavor["warnings"]]


@pytest.mark.parametrize("root", ["/v2", "/v2/warre/v1"])
@pytest.mark.parametrize(("specs", "quoted"), NEVER.values(), ids=NEVER)
def test_flavor_that_could_never_boot_is_refused(site: Site, root: str, specs, quoted):
    admin = Person(site.app, "admin", root)
    before = site.rows()
    answer = admin.post("flavors", asked(specs))
    assert refusal(answer) == (422, "invalid_field")
    assert quoted in answer.json["error_message"]
    assert site.rows() == before
    assert site.cloud.nova.flavors == {}


@pytest.mark.parametrize(("specs", "quoted"), NEVER.values(), ids=NEVER)
def test_change_after_which_a_flavor_could_never_boot_is_refused(
    site: Site, admin: Person, specs, quoted
):
    flavor = things.add_flavor(admin, extra_specs=FINE)
    before = site.rows()
    answer = admin.patch(f"flavors/{flavor['id']}", {"extra_specs": {**FINE, **specs}})
    assert refusal(answer) == (400, "invalid_field")
    assert quoted in answer.json["error_message"]
    assert site.rows() == before


def test_flavor_that_could_boot_is_made_without_warnings(site: Site, admin: Person):
    flavor = things.add_flavor(admin, extra_specs=FINE)
    assert codes(flavor) == []
    changed = admin.patch(f"flavors/{flavor['id']}", {"extra_specs": {"hw:cpu_cores": "1"}})
    assert codes(changed.json) == []
    assert site.cloud.nova.flavors == {}


def test_key_that_an_aggregate_has_is_accepted(site: Site, admin: Person):
    site.cloud.nova.aggregates[1] = {"id": 1, "name": "ssd", "hosts": [], "metadata": {"ssd": "a"}}
    assert codes(things.add_flavor(admin, extra_specs=FINE | {"ssd": "b"})) == []
    site.cloud.nova.aggregates.clear()
    specs = FINE | {"group_policy": "none"}
    assert codes(things.add_flavor(admin, name="other", extra_specs=specs)) == []


def test_key_is_accepted_if_novas_filter_is_off(site: Site, admin: Person, options):
    options(nova_aggregate_rules=["isolation"])
    assert codes(things.add_flavor(admin, extra_specs=FINE | {"sdd": "true"})) == []


def test_key_is_not_checked_while_nova_is_away(site: Site, admin: Person):
    site.cloud.nova.fail(match="os-aggregates", status=503)
    assert codes(things.add_flavor(admin, extra_specs=FINE | {"sdd": "true"})) == ["not_checked"]


def test_flavor_for_which_no_host_has_room_now_is_made_with_a_warning(site: Site, admin: Person):
    assert codes(things.add_flavor(admin, vcpu=1_000_001, extra_specs=FINE)) == ["no_candidates"]
    listed = admin.get("flavors").json["results"]
    assert ["warnings" in flavor for flavor in listed] == [False]


@pytest.mark.parametrize("service", ["nova", "placement"])
def test_flavor_is_made_with_a_warning_if_a_service_cannot_be_asked(
    site: Site, admin: Person, service: str
):
    getattr(site.cloud, service).fail(match="extra_specs|candidates", status=503)
    made = things.add_flavor(admin, extra_specs=FINE)
    assert codes(made) == ["not_checked"]
    assert "flavor check" in made["warnings"][0]["message"]


def test_flavor_is_made_with_a_warning_if_nova_is_too_old_to_check(site: Site, admin: Person):
    site.cloud.nova.fail(match="extra_specs", status=406)
    assert codes(things.add_flavor(admin, extra_specs=FINE)) == ["not_checked"]


def test_nothing_is_asked_about_a_flavor_without_extra_specs(site: Site, admin: Person):
    site.cloud.nova.fail(status=503)
    site.cloud.placement.fail(match="candidates", status=503)
    assert codes(things.add_flavor(admin)) == []


def test_a_refusal_is_found_even_if_the_other_service_is_away(site: Site, admin: Person):
    site.cloud.nova.fail(status=503)
    answer = admin.post("flavors", asked({"trait:CUSTOM_TYPO": "required"}))
    assert refusal(answer) == (422, "invalid_field")


def test_flavor_that_takes_other_amounts_of_the_same_devices_is_refused(site: Site, admin: Person):
    """If one unit is taken of each of two devices, four units of one device aren't free."""
    devices = tuple(
        Provider(f"gpu-{n}", f"gpu-{n}", "a", {"VGPU": Inventory(4)}, frozenset()) for n in range(2)
    )
    world.add_host(site.cloud, "a", children=devices)
    one = things.add_flavor(admin, name="one", extra_specs={"resources:VGPU": "1"})
    same = things.add_flavor(admin, name="same", extra_specs={"resources:VGPU": "1"})
    assert codes(one) == codes(same) == ["no_candidates"]
    for specs in ({"resources:VGPU": "4"}, {"resources1:VGPU": "1"}):
        refused = admin.post("flavors", asked(specs))
        assert refusal(refused) == (422, "invalid_field")
        assert "the flavor one takes VGPU" in refused.text
    admin.patch(f"flavors/{same['id']}", {"active": False})
    told = {"extra_specs": {"resources1:VGPU": "1"}}
    assert admin.patch(f"flavors/{one['id']}", told).status_int == 200
    four = things.add_flavor(admin, name="four", extra_specs={"resources1:VGPU": "4"})
    assert codes(four) == ["no_candidates"]
    refused = admin.patch(f"flavors/{same['id']}", {"active": True})
    assert refusal(refused) == (400, "invalid_field")


def test_flavors_that_share_devices_already_can_be_changed(site: Site, admin: Person):
    """The host has got its devices after the flavors were made."""
    one = things.add_flavor(admin, name="one", extra_specs={"resources:VGPU": "1"})
    things.add_flavor(admin, name="four", extra_specs={"resources:VGPU": "4"})
    devices = tuple(
        Provider(f"gpu-{n}", f"gpu-{n}", "a", {"VGPU": Inventory(4)}, frozenset()) for n in range(2)
    )
    world.add_host(site.cloud, "a", children=devices)
    changed = admin.patch(f"flavors/{one['id']}", {"extra_specs": {"resources:VGPU": "2"}})
    assert codes(changed.json) == ["no_candidates", "devices_shared"]
    assert "The flavor four takes VGPU" in changed.json["warnings"][1]["message"]
