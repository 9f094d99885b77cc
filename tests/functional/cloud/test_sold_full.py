"""On hosts whose devices are sold full, every server boots, whatever candidates servers take.

The tests run few hosts. ``WARRE_SOLD_HOSTS=2000 WARRE_SOLD_ORDERS=10`` runs many, in some hours.
"""

import os

import pytest

from tests.functional.cloud import devcloud, sold_full, world
from tests.functional.cloud.placement_side import Placement
from tests.functional.cloud.waiting import at_once, until

_HOSTS = int(os.environ.get("WARRE_SOLD_HOSTS", "8"))
_ORDERS = int(os.environ.get("WARRE_SOLD_ORDERS", "2"))


@pytest.mark.together
@pytest.mark.usefixtures("hosts")
def test_every_server_boots(placement: Placement) -> None:
    jobs = [lambda s=seed: sold_full.check(placement, s, _ORDERS) for seed in range(_HOSTS)]
    assert sum(at_once(jobs, threads=2)) > 5 * _HOSTS


@pytest.mark.usefixtures("hosts")
def test_compute_keeps_a_trait_that_it_did_not_set(placement: Placement) -> None:
    """A compute that starts writes its own provider's inventories and traits."""
    name, trait = world.HOSTS[0], "CUSTOM_KEPT_BY_NOVA"
    (root,) = placement.asks("GET", f"/resource_providers?name={name}")["resource_providers"]
    path = f"/resource_providers/{root['uuid']}/traits"
    placement.asks("PUT", f"/traits/{trait}")
    read = placement.asks("GET", path)
    before = sorted(read["traits"])
    placement.asks("PUT", path, {**read, "traits": [*before, trait]})
    try:
        # What the compute sets anew shows that it has written the traits.
        own = next(each for each in before if each.startswith("COMPUTE_"))
        read = placement.asks("GET", path)
        placement.asks("PUT", path, {**read, "traits": sorted({*read["traits"]} - {own})})
        devcloud.restart(f"nova-compute-{name}")
        until("the compute's own trait", lambda: own in placement.asks("GET", path)["traits"])
        assert trait in placement.asks("GET", path)["traits"]
    finally:
        read = placement.asks("GET", path)
        placement.asks("PUT", path, {**read, "traits": sorted({*read["traits"]} - {trait})})
        placement.ask("DELETE", f"/traits/{trait}")
