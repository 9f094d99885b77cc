"""Leases of Blazar's own types with the exact plugins, over v1, with two managers.

Each host of the cloud has room for one reservation of any of the types.
"""

import collections
import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from tests.functional.cloud import world
from tests.functional.cloud.conftest import Offer
from tests.functional.cloud.people import Person
from tests.functional.cloud.records import Records
from tests.functional.cloud.waiting import at_once

ASKED = 40
#: More than half of the memory of a host.
_MEMORY_MB = world.HOST_MEMORY_MB // 2 + 128
_RUNS = int(os.environ.get("WARRE_NEIGHBOR_RUNS", "1"))
_STOCK = ("physical:host", "virtual:instance", "flavor:instance")
#: The types of the leases that are asked for in turn.
KINDS = {**{kind: (kind,) for kind in _STOCK}, "mixed": (*_STOCK, "flavor:slot")}

run = pytest.mark.parametrize("run", range(_RUNS))
kinds = pytest.mark.parametrize("kinds", KINDS.values(), ids=KINDS)


@pytest.fixture(scope="module")
def places(admin: Person) -> int:
    """The number of hosts."""
    return len(admin.asks("GET", "/v1/os-hosts")["hosts"])


@pytest.fixture(scope="module")
def plain(admin: Person) -> Iterator[Any]:
    """A public Nova flavor."""
    made = admin.cloud.compute.create_flavor(
        name=world.unique("plain"), vcpus=1, ram=_MEMORY_MB, disk=1, is_public=True
    )
    yield made
    admin.cloud.compute.delete_flavor(made)


@pytest.fixture
def wanted(offer: Offer, plain: Any) -> Callable[[str], dict[str, Any]]:
    """A function that returns the reservation of a type in the body of a lease."""
    slots = offer(slots=100, memory_mb=_MEMORY_MB)

    def reservation(kind: str) -> dict[str, Any]:
        asked: dict[str, dict[str, Any]] = {
            "physical:host": {
                "min": 1,
                "max": 1,
                "hypervisor_properties": "",
                "resource_properties": "",
            },
            "virtual:instance": {
                "vcpus": 1,
                "memory_mb": _MEMORY_MB,
                "disk_gb": 1,
                "amount": 1,
                "affinity": None,
                "resource_properties": "",
            },
            "flavor:instance": {"flavor_id": plain.id, "amount": 1, "affinity": None},
            "flavor:slot": world.slot(slots),
        }
        return {"resource_type": kind, **asked[kind]}

    return reservation


def hosts_of(records: Records, made: list[dict[str, Any]]) -> collections.Counter[str]:
    """How many of some leases have each host."""
    ids = [reservation["id"] for one in made for reservation in one["reservations"]]
    rows = [records.rows("computehost_allocations", reservation_id=i) for i in ids]
    return collections.Counter(row["compute_host_id"] for row in itertools.chain(*rows))


@pytest.fixture
def request_at_once(
    beta: Person, lease: Callable[..., Any], wanted: Callable[[str], dict[str, Any]]
) -> Callable[..., list[Any]]:
    """A function that requests a lease for each period at the same time, and returns the answers.

    The leases are of some types in turn.
    """

    def answers(periods: Iterable[world.Period], kinds: tuple[str, ...]) -> list[Any]:
        turns = zip(periods, itertools.cycle(kinds), strict=False)
        bodies = [world.lease_body(period, wanted(kind)) for period, kind in turns]
        return at_once([lambda body=body: lease(beta, body) for body in bodies])

    return answers


@run
@kinds
def test_leases_at_once_get_exactly_what_there_is(
    request_at_once: Callable[..., list[Any]],
    records: Records,
    places: int,
    kinds: tuple[str, ...],
    run: int,
) -> None:
    answers = request_at_once([world.far()] * ASKED, kinds)
    outcomes = collections.Counter(answer.status_code for answer in answers)
    assert outcomes[201] == places, outcomes
    assert {status for status in outcomes if status != 201} <= {400, 409}, outcomes
    held = hosts_of(records, [a.json()["lease"] for a in answers if a.status_code == 201])
    assert sorted(held.values()) == [1] * places


@run
@kinds
def test_no_lease_is_refused_that_fits_between_others(
    request_at_once: Callable[..., list[Any]],
    records: Records,
    places: int,
    kinds: tuple[str, ...],
    run: int,
) -> None:
    first = world.far()
    periods = [first.moved(hour, hour) for hour in range(ASKED // places)]
    answers = request_at_once([period for period in periods for _ in range(places)], kinds)
    assert [a.text for a in answers if a.status_code != 201] == []
    held = hosts_of(records, [answer.json()["lease"] for answer in answers])
    assert sorted(held.values()) == [len(periods)] * places
