"""What limits a flavor, by host, in the answer that shows the flavor."""

import pytest

from tests.functional.db import world
from tests.unit.api import things
from tests.unit.api.people import Person
from tests.unit.api.site import Site
from warre_blazar.domain.hosts.host_marks import Drain
from warre_blazar.services.moves import drained_hosts

GPU = '["==", "$gpu", "a100"]'


@pytest.fixture(autouse=True)
def elsewhere(site: Site) -> None:
    """Another host has what Blazar's hosts lack."""
    site.cloud.add_elsewhere("CUSTOM_X", classes=["VGPU"])


def limits(person: Person, flavor: dict) -> dict:
    answer = person.get(f"flavors/{flavor['id']}")
    assert answer.status_int == 200, answer
    shown = {k: v for k, v in answer.json.items() if k != "limits"}
    assert shown == things.without_warnings(flavor)
    return answer.json["limits"]


def vcpus(asked: int, *, capacity: int = 16, host: str = "host-1") -> dict:
    return {
        "kind": "resource_class",
        "name": "VCPU",
        "providers": [host],
        "asked": asked,
        "capacity": capacity,
        "have": None,
    }


def test_slots_limit_a_flavor_whose_hosts_hold_more(admin: Person):
    flavor = things.add_flavor(admin, slots=7)
    assert limits(admin, flavor) == {
        "by": "slots",
        "instances": 8,
        "hosts": [{"name": "host-1", "state": "bookable", "instances": 8, "limits": [vcpus(2)]}],
    }
    more = things.add_flavor(admin, name="more", slots=9)
    assert limits(admin, more)["by"] == "hosts"


#: Values of a flavor, and what limits it on the host.
LIMITS = {
    "zone": ({"availability_zone": "az2"}, "zone", "az2"),
    "property": ({"properties": '["==", "$vcpus", "1"]'}, "property", "vcpus == 1"),
    "missing": ({"properties": GPU}, "missing_property", "gpu"),
    "trait": ({"extra_specs": {"trait:CUSTOM_X": "required"}}, "required_trait", "CUSTOM_X"),
    "class": ({"extra_specs": {"resources:VGPU": "1"}}, "resource_class", "VGPU"),
}


@pytest.mark.parametrize("case", LIMITS)
def test_host_that_cannot_hold_a_flavor_says_why(admin: Person, case: str):
    terms, kind, name = LIMITS[case]
    flavor = things.add_flavor(admin, **terms)
    found = limits(admin, flavor)
    assert (found["by"], found["instances"]) == ("hosts", 0)
    (host,) = found["hosts"]
    assert host["instances"] == 0
    assert [(limit["kind"], limit["name"]) for limit in host["limits"]] == [(kind, name)]
    assert host["limits"][0]["have"] == ("16" if kind == "property" else None)


def test_each_host_is_there_with_the_tightest_limits(site: Site, admin: Person):
    world.add_host(site.cloud, "failed", reservable=False)
    world.add_host(site.cloud, "host-0", vcpus=4, memory_mb=4096, zone="az1")
    found = limits(admin, things.add_flavor(admin))
    failed, first, second = found["hosts"]
    assert (failed["state"], failed["instances"] > 0) == ("failed", True)
    assert (found["instances"], first["name"], second["name"]) == (10, "host-0", "host-1")
    assert {limit["name"] for limit in first["limits"]} == {"VCPU", "MEMORY_MB"}
    assert second["limits"] == [vcpus(2)]


def test_only_matching_host_is_there_although_it_is_drained(site: Site, admin: Person):
    flavor = things.add_flavor(admin, properties=GPU)
    host_id = world.add_host(site.cloud, "host-2", properties={"gpu": "a100"})
    drain = Drain("op", world.NOW, None)
    drained_hosts.drain(host_id, drain, world.conditions(), world.NOW)
    found = admin.get(f"flavors/{flavor['id']}").json["limits"]
    assert found["instances"] == 0
    assert [(h["name"], h["state"], h["instances"] > 0) for h in found["hosts"]] == [
        ("host-1", "bookable", False),
        ("host-2", "draining", True),
    ]


def test_sum_is_that_of_the_capacity(site: Site, admin: Person):
    world.add_host(site.cloud, "host-2", vcpus=5)
    world.add_host(site.cloud, "host-3", traits=("CUSTOM_X",), vcpus=7)
    for specs in ({}, {"trait:CUSTOM_X": "required"}, {"trait:CUSTOM_X": "forbidden"}):
        flavor = things.add_flavor(admin, extra_specs=specs)
        shown = admin.get(f"flavors/{flavor['id']}?detail=capacity").json
        assert shown["limits"]["instances"] == shown["capacity"]["instances"]
        holding = [h for h in shown["limits"]["hosts"] if h["instances"]]
        assert [{k: h[k] for k in ("name", "instances")} for h in holding] == (
            shown["capacity"]["hosts"]
        )


def test_hosts_are_shown_only_to_those_who_may_see_capacity(
    site: Site, admin: Person, alpha: Person, reader: Person
):
    flavor = things.add_flavor(admin)
    path = f"flavors/{flavor['id']}"
    for person in (alpha, reader, Person(site.app, "admin", "/v2/warre/v1")):
        shown = person.get(path)
        assert "limits" not in shown.json
        assert "host-1" not in shown.text
    for answer in (admin.get("flavors"), admin.patch(path, {"slots": 3})):
        assert "limits" not in answer.text
