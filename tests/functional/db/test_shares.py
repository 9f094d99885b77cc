"""Shares on real rows: Nova gives access to guests, and forgets them with the reservation."""

import pytest

from tests.fakes.cloud import Cloud
from tests.functional.db import world
from warre_blazar.domain.running import backing_names
from warre_blazar.errors import exceptions
from warre_blazar.services.running import backing, shares

pytestmark = pytest.mark.usefixtures("database")


def test_guest_has_access_until_the_share_or_the_reservation_ends(cloud: Cloud) -> None:
    world.add_host(cloud, "a", vcpus=16)
    lease = world.book(world.request(world.add_flavor(slots=4), world.hours(10, 12), 2))
    reservation_id = lease.reservation_id
    flavor_id = backing_names.nova_flavor_id(reservation_id)
    share = shares.create("share-1", reservation_id, "guest")
    with pytest.raises(exceptions.ShareExists):
        shares.create("share-2", reservation_id, "guest")
    backing.open_to_project(reservation_id)
    owners = cloud.nova.flavors[flavor_id]["access"] - {"guest"}
    assert len(owners) == 1 and "guest" in cloud.nova.flavors[flavor_id]["access"]
    shares.delete(share)
    with pytest.raises(exceptions.ShareNotFound):
        shares.delete(share)
    backing.open_to_project(reservation_id)
    assert cloud.nova.flavors[flavor_id]["access"] == owners

    shares.create("share-3", reservation_id, "guest")
    backing.remove(reservation_id, 0)
    assert shares.listing(None, {}, None, 0) == ([], 0)
    with pytest.raises(exceptions.InvalidState):
        shares.create("share-4", reservation_id, "guest")


def test_share_that_comes_while_the_reservation_is_opened_takes_effect_later(cloud: Cloud) -> None:
    world.add_host(cloud, "a", vcpus=16)
    lease = world.book(world.request(world.add_flavor(slots=4), world.hours(10, 12), 2))
    prepared = backing.prepare(lease.reservation_id)
    shares.create("share-1", lease.reservation_id, "early")
    backing.grant(lease.reservation_id, prepared)
    assert world.phase(lease) == "opening"
    backing.open_to_project(lease.reservation_id)
    assert world.phase(lease) == "open"
    access = cloud.nova.flavors[backing_names.nova_flavor_id(lease.reservation_id)]["access"]
    assert "early" in access
