"""Operators add and remove hosts by their names, also where names are parts of others."""

from typing import Any

import pytest
from blazar.db import api as db_api

from tests.unit.wsgi import sending
from tests.unit.wsgi.whole import WholeSite

#: The IDs of computes, which Blazar doesn't have yet. Nova has IDs of two kinds.
COMPUTES = {
    "cmp1": "81",
    "cmp10": "82",
    "cmp11": "83",
    "gpu1.example": "6f8a0d4e-5f0c-4a8e-9a55-0d8a64a1c2aa",
}


@pytest.fixture(autouse=True)
def _computes(site: WholeSite) -> None:
    site.cloud.nova.hypervisors.update(COMPUTES)
    for name in COMPUTES:
        site.cloud.nova.hosts.add(name)
        site.cloud.placement.add_provider(name)


def add(site: WholeSite, name: str) -> Any:
    return sending.send(site.app, "POST", "/v1/os-hosts", {"name": name}, who="admin")


@pytest.mark.parametrize(
    ("given", "added"),
    [
        ("cmp1", "cmp1"),
        ("cmp10", "cmp10"),
        ("gpu1", "gpu1.example"),
    ],
)
def test_host_is_added(site, given, added):
    answer = add(site, given)
    assert answer.status_int == 201, answer
    shown = answer.json["host"]
    assert (shown["id"], shown["hypervisor_hostname"]) == (COMPUTES[added], added)
    assert db_api.host_get(COMPUTES[added])["service_name"] == added


@pytest.mark.parametrize("removed", ["cmp1", "cmp10"])
def test_host_is_removed(site, removed):
    add(site, removed)
    path = f"/v1/os-hosts/{COMPUTES[removed]}"
    assert sending.send(site.app, "DELETE", path, who="admin").status_int in (200, 204)
    assert db_api.host_get(COMPUTES[removed]) is None


def test_host_with_servers_is_not_added(site):
    site.cloud.nova.servers_on["cmp1"] = {"server-1"}
    answer = add(site, "cmp1")
    assert answer.status_int == 409
    assert "server-1" in answer.json["error_message"]


def test_servers_on_another_host_do_not_matter(site):
    site.cloud.nova.servers_on["cmp10"] = {"server-1"}
    assert add(site, "cmp1").status_int == 201


def test_ambiguous_name_says_what_to_give(site):
    answer = add(site, "cmp")
    assert answer.status_int == 409
    assert answer.json["error_message"] == (
        "3 hosts have 'cmp' in their names: cmp1, cmp10, cmp11; give the whole name of one "
        "(openstack hypervisor list)"
    )
    assert len(db_api.host_list()) == 3


def test_unknown_host_is_not_found(site):
    assert add(site, "nosuch").status_int == 404
