"""Hosts whose IDs are UUIDs, as Nova has them from version 2.53 on, beside those with numbers."""

import pytest
from blazar.db import api as db_api
from oslo_utils import uuidutils

from tests.functional.db import world
from tests.unit.wsgi import sending
from tests.unit.wsgi.whole import WholeSite

UUID = "a4c3ffea-0d5e-4c80-9d5a-57ab6a3a9f02"


@pytest.fixture(autouse=True)
def _host(site: WholeSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world, "_numbers", iter([UUID]))
    world.add_host(site.cloud, "host-9")
    # Nova's newer versions give a document, which Blazar stores as Python writes it.
    db_api.host_update(UUID, {"cpu_info": "{'model': 'fake'}"})
    for host in db_api.host_list():
        db_api.host_update(host["id"], {"trust_id": uuidutils.generate_uuid(dashed=False)})


@pytest.mark.parametrize("path", ["/v1/os-hosts/{id}", "/v2/os-hosts/{id}"])
def test_host_is_shown(site, path):
    answer = sending.send(site.app, "GET", path.format(id=UUID), who="admin")
    assert answer.status_int == 200, answer.text
    shown = answer.json.get("host", answer.json)
    assert (shown["id"], shown["hypervisor_hostname"]) == (UUID, "host-9")


def test_hosts_are_listed(site):
    answer = sending.send(site.app, "GET", "/v2/os-hosts", who="admin")
    assert answer.status_int == 200, answer.text
    ids = [host["id"] for host in answer.json]
    assert UUID in ids
    # Numbers are shown as before.
    assert all(isinstance(each, int) for each in ids if each != UUID)
    assert len(ids) == 4


@pytest.mark.parametrize("path", ["/v1/os-hosts/{id}", "/v2/os-hosts/{id}"])
def test_unknown_host_is_not_found(site, path):
    unknown = UUID.replace("a4", "b5")
    answer = sending.send(site.app, "GET", path.format(id=unknown), who="admin")
    assert (answer.status_int, answer.json["error_code"]) == (404, 404)


def test_deletion_reaches_the_manager(site):
    """Blazar's manager finds the host, but the fake Keystone has no trust for it."""
    answer = sending.send(site.app, "DELETE", f"/v2/os-hosts/{UUID}", who="admin")
    assert "Could not find trust" in answer.json["error_message"]


def test_host_can_be_in_a_window(site, admin):
    window = {"start": "2100-01-05T00:00:00Z", "end": "2100-01-06T00:00:00Z", "host_ids": [UUID]}
    assert admin.post("maintenancewindows", window).status_int in (200, 201, 202)
    assert UUID in str(admin.get("maintenancewindows").json)
