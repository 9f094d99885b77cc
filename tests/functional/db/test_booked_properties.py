"""Which properties of a booked host an operator can change, by Blazar's own check."""

import json

import pytest
from blazar.db import api as db_api
from blazar.db.sqlalchemy import utils
from blazar.plugins.oshosts import host_plugin

from tests.fakes.cloud import Cloud
from tests.functional.db import world
from warre_blazar.db import session, tables
from warre_blazar.plugins import booked_properties

pytestmark = pytest.mark.usefixtures("database")

#: The expression of a flavor on a host with these properties, and the properties that it locks.
PROPERTIES = {"gpu": "a100", "rack": "7", "note": "new"}
LOCKED = {
    '["==", "$gpu", "a100"]': {"gpu"},
    '["and", ["==", "$gpu", "a100"], [">", "$rack", "3"]]': {"gpu", "rack"},
    '["and", ["and", ["==", "$gpu", "a100"], ["<", "$rack", "9"]], ["!=", "$note", "x"]]': {
        *("gpu", "rack", "note"),
    },
    None: set(),
}


@pytest.fixture
def host_id(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> str:
    """A host, in a manager in which this package is enabled."""
    monkeypatch.setattr(utils, "get_plugin_reservation", utils.get_plugin_reservation)
    booked_properties.register()
    return world.add_host(cloud, "a", vcpus=16, properties=PROPERTIES)


def locked(host_id: str) -> set[str]:
    """The properties that Blazar lets nobody change."""
    capabilities = db_api.host_extra_capability_get_all_per_host(host_id)
    check = host_plugin.PhysicalHostPlugin.is_updatable_extra_capability
    return {name for capability, name in capabilities if not check(None, capability, name)}


@pytest.mark.parametrize("properties", LOCKED)
def test_only_properties_that_are_booked_are_locked(host_id: str, properties: str | None):
    flavor = world.add_flavor(properties=properties)
    lease = world.plan(world.request(flavor, world.hours(1, 3)))
    assert locked(host_id) == LOCKED[properties]
    # What was booked counts, and not what the flavor asks for now.
    with session.writer() as db:
        db.execute(tables.flavors.update().values(properties='["==", "$note", "new"]'))
    assert locked(host_id) == LOCKED[properties]
    db_api.lease_destroy(lease.id)
    assert locked(host_id) == set()


def test_reservations_of_nova_flavors_lock_nothing(host_id: str):
    source = json.dumps({"id": "f", "vcpus": 2, "ram": 2048, "disk": 20, "extra_specs": {}})
    world.add_stock([host_id], world.hours(1, 3), "flavor:instance", source=source)
    assert locked(host_id) == set()
