"""GPUs that Nova reports in Placement: no more of them are booked than there are.

Two computes have four GPUs each (``tools/devcloud up --gpus``).
"""

import collections
import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.functional.cloud import devcloud, world
from tests.functional.cloud.conftest import Offer
from tests.functional.cloud.people import Person
from tests.functional.cloud.placement_side import Placement
from tests.functional.cloud.records import Records
from tests.functional.cloud.waiting import at_once, until

#: The hosts that have GPUs, and how many each has.
HOSTS, EACH = world.PAIR, 4
CLASS = "CUSTOM_PCI_10DE_20B0"
#: How many bookings are requested at the same time.
ASKED = 10
ONE_GPU = {"slots": 100, "extra_specs": {"pci_passthrough:alias": "a100:1"}}
#: How often a server is booted before a test gives up.
_ATTEMPTS = 20


def _gpus(placement: Placement, host: str) -> list[str]:
    """The providers of a host's GPUs."""
    found = placement.asks("GET", f"/resource_providers?resources={CLASS}:1")
    return sorted(
        provider["uuid"]
        for provider in found["resource_providers"]
        if provider["name"].startswith(f"{host}_")
    )


def _held(placement: Placement, server_id: str) -> list[str]:
    """The providers of the GPUs that a server holds."""
    held = placement.asks("GET", f"/allocations/{server_id}")["allocations"]
    return [provider for provider, taken in held.items() if CLASS in taken["resources"]]


def _boots(who: Person, reservation: dict[str, Any]) -> str:
    """Boot a server on a reservation, and return its id.

    Nova tries one free GPU for each server. If another server gets that GPU at the same moment, the
    server fails, and its user has to boot it again.
    """
    for _ in range(_ATTEMPTS):
        server = who.boots(reservation["compute_flavor"], "functional-gpu")
        settled = until("a server", lambda i=server: who.server_settles(i))
        if settled.status == "ACTIVE":
            return str(server.id)
        who.cloud.compute.delete_server(server.id)
    raise AssertionError(settled.fault)


def test_as_many_bookings_as_gpus_boot_and_one_more_is_refused(
    placement: Placement,
    alpha: Person,
    offer: Offer,
    records: Records,
    clean: Callable[[], None],
) -> None:
    gpus = {provider for host in HOSTS for provider in _gpus(placement, host)}
    assert len(gpus) == len(HOSTS) * EACH
    flavor, period = offer(**ONE_GPU), world.from_now(2).moved(start=0.2)
    answers = at_once([lambda: world.book(alpha, flavor, period)] * ASKED)
    outcomes = collections.Counter((a.status_code, a.json().get("code")) for a in answers)
    expected = {(200, None): len(gpus), (400, "hosts_exhausted"): ASKED - len(gpus)}
    assert outcomes == expected, (answers[0].text, records.rows("warre_host_providers"))

    booked = [a.json() for a in answers if a.status_code == 200]
    records.start_now([reservation["lease_id"] for reservation in booked])
    for reservation in booked:
        world.becomes(alpha, reservation, "ACTIVE")
    servers = at_once([lambda r=reservation: _boots(alpha, r) for reservation in booked], 4)
    held = [provider for server in servers for provider in _held(placement, server)]
    assert len(held) == len(servers)
    assert set(held) == gpus

    ninth = world.book(alpha, flavor, period)
    assert (ninth.status_code, ninth.json()["code"]) == (400, "hosts_exhausted"), ninth.text
    at_once([lambda i=r["id"]: alpha.ask("DELETE", f"/v2/reservations/{i}/") for r in booked], 4)


@contextlib.contextmanager
def _taken_away(placement: Placement, provider: str) -> Iterator[None]:
    """Reserve a GPU in Placement while the block runs, as an operator does with a broken one."""
    _reserve(placement, provider, 1)
    try:
        yield
    finally:
        _reserve(placement, provider, 0)


def _reserve(placement: Placement, provider: str, amount: int) -> None:
    path = f"/resource_providers/{provider}/inventories/{CLASS}"

    def reserved() -> bool:
        # nova-compute may change the provider between the two requests.
        body = {**placement.asks("GET", path), "reserved": amount}
        return placement.ask("PUT", path, body).status_code == 200

    until("Placement to reserve a GPU", reserved)


def _refresh(host: str) -> tuple[int, str]:
    return devcloud.manage_host("refresh", host)


@pytest.fixture
def no_polls() -> Iterator[None]:
    """During the test, no manager reads hosts by itself."""
    with devcloud.manager_options("warre", {"provider_poll_interval": "0"}):
        yield


@pytest.mark.whole
def test_gpu_that_is_taken_away_is_seen_after_a_refresh(
    placement: Placement, alpha: Person, offer: Offer, no_polls: None
) -> None:
    host = HOSTS[1]
    flavor, period = offer(**ONE_GPU, properties=world.on_host(host)), world.far()
    assert _refresh(host)[0] == 0
    last = [world.booked(alpha, flavor, period) for _ in range(EACH)][-1]
    with _taken_away(placement, _gpus(placement, host)[0]):
        status, printed = _refresh(host)
        assert status == 1, printed
        assert f"{CLASS}: {EACH} -> {EACH - 1}" in printed
        assert "OVERBOOKED" in printed
        alpha.asks("DELETE", f"/v2/reservations/{last['id']}/", want=204)
        refused = world.book(alpha, flavor, period)
        assert (refused.status_code, refused.json()["code"]) == (400, "hosts_exhausted")
    assert world.book(alpha, flavor, period).status_code == 400
    status, printed = _refresh(host)
    assert (status, f"{CLASS}: {EACH - 1} -> {EACH}" in printed) == (0, True), printed
    world.booked(alpha, flavor, period)


def test_flavor_with_two_groups_boots(
    placement: Placement, alpha: Person, offer: Offer, records: Records
) -> None:
    """Nova's filter of aggregates compares ``group_policy`` with the aggregate's metadata."""
    specs = {f"resources{n}:{CLASS}": "1" for n in (1, 2)} | {"group_policy": "none"}
    flavor = offer(slots=1, extra_specs=specs)
    reservation = world.becomes(alpha, world.booked_now(alpha, flavor), "ACTIVE")
    server = _boots(alpha, reservation)
    assert len(_held(placement, server)) == 2


@pytest.mark.parametrize(
    ("specs", "quoted"),
    [
        ({"hw:cpu_polizy": "dedicated"}, "hw:cpu_polizy"),
        ({"hw:cpu_policy": "shared", "hw:mem_page_size": "huge"}, "hw:mem_page_size"),
        ({"trait:CUSTOM_NO_SUCH": "forbidden"}, "No such trait(s): CUSTOM_NO_SUCH"),
        ({"trait:CUSTOM_NO_SUCH": "required"}, "No such trait(s): CUSTOM_NO_SUCH"),
        ({"resources:CUSTOM_NO_SUCH": "1"}, "CUSTOM_NO_SUCH"),
        ({"resources1:CUSTOM_NO_SUCH": "1"}, "CUSTOM_NO_SUCH"),
    ],
)
def test_flavor_that_could_never_boot_is_refused(
    admin: Person, specs: dict[str, str], quoted: str
) -> None:
    """Nova's and Placement's own answers are as the fakes give them."""
    answer = admin.ask("POST", "/v2/flavors/", world.flavor_body(extra_specs=specs))
    assert answer.status_code == 422, answer.text
    assert quoted in answer.json()["error_message"]


def test_flavor_that_could_boot_is_made_without_a_warning(
    placement: Placement, offer: Offer
) -> None:
    groups = {f"resources{n}:{CLASS}": "1" for n in (1, 2)} | {"group_policy": "isolate"}
    made = offer(slots=1, extra_specs={**groups, "hw:cpu_policy": "shared"})
    assert made["warnings"] == []
