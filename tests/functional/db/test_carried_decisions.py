"""Decisions that are carried from Blazar's first call of the plugin to its last."""

import contextlib
import time
from concurrent import futures

import pytest
from blazar import context
from blazar import exceptions as blazar_exc
from blazar.db import api as db_api
from oslo_utils import timeutils

from tests.fakes.cloud import Cloud
from tests.functional.db import oversold, world
from tests.functional.db.outage import fail, hosts_of
from tests.functional.db.plugin_calls import SPAN, reserve, values
from warre_blazar.domain.hosts.host_marks import Drain
from warre_blazar.errors import exceptions
from warre_blazar.plugins import carried_decisions, flavor_slot
from warre_blazar.services.booking import admission
from warre_blazar.services.flavors import flavors
from warre_blazar.services.maintenance import maintenance_windows
from warre_blazar.services.moves import drained_hosts

pytestmark = pytest.mark.usefixtures("database")


@pytest.fixture
def plugin(cloud: Cloud):
    """The plugin in a request that creates a lease, with two hosts for four instances each."""
    for name in ("a", "b"):
        world.add_host(cloud, name, vcpus=8)
    timeutils.set_time_override(world.NOW)
    with (
        context.BlazarContext(project_id=world.PROJECT, user_id="user"),
        carried_decisions.carrying(),
    ):
        yield flavor_slot.FlavorSlotPlugin()


@pytest.fixture
def flavor(plugin):
    return world.add_flavor(slots=4)


@pytest.fixture
def decided_anew(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The reservations that were decided in the transaction that booked them."""
    claim, anew = admission._claim, []

    def claiming(reservation_id, *rest):
        anew.append(reservation_id)
        return claim(reservation_id, *rest)

    monkeypatch.setattr(admission, "_claim", claiming)
    return anew


def test_decision_of_the_request_is_written(plugin, flavor, decided_anew):
    (host_id,) = plugin.allocation_candidates(values(flavor))
    shown = plugin.get(host_id)
    lease = reserve(plugin, flavor)
    assert hosts_of(lease) == {host_id: 2}
    assert decided_anew == []
    # When nothing is carried any more, the plugin reads the host from Blazar's tables.
    read = plugin.get(host_id)
    changed = {"updated_at": shown["updated_at"]}
    assert shown == {**read, **changed}


CHANGES = {
    "another booking of the flavor": lambda flavor, host: world.book(world.request(flavor, SPAN)),
    "another booking of the host": lambda flavor, host: world.book(
        world.request(world.add_flavor(vcpu=6), SPAN)
    ),
    "a drain": lambda flavor, host: drained_hosts.drain(
        host, Drain("op", world.NOW, "fans"), world.conditions(), world.NOW
    ),
    "a failure": lambda flavor, host: fail(host),
    "a change of the flavor": lambda flavor, host: flavors.update(flavor.id, {"slots": 3}),
}


@pytest.mark.parametrize("case", CHANGES, ids=[name.replace(" ", "-") for name in CHANGES])
def test_stale_decision_is_made_anew(plugin, flavor, database, decided_anew, case):
    (host_id,) = plugin.allocation_candidates(values(flavor))
    CHANGES[case](flavor, host_id)
    decided_anew.clear()
    lease = reserve(plugin, flavor)
    assert decided_anew == [lease.reservation_id]
    assert sum(hosts_of(lease).values()) == 2
    assert oversold.find(database) == []
    if case in ("a drain", "a failure"):
        assert host_id not in hosts_of(lease)


REFUSED = {
    "slots_exhausted": lambda flavor: world.book(world.request(flavor, SPAN, 3)),
    "maintenance": lambda flavor: maintenance_windows.create(SPAN, None, [flavor.id], world.NOW),
    "flavor_inactive": lambda flavor: flavors.update(flavor.id, {"active": False}),
}


@pytest.mark.parametrize("code", REFUSED)
def test_stale_decision_is_refused_as_the_request_is_now(plugin, flavor, code):
    plugin.allocation_candidates(values(flavor))
    REFUSED[code](flavor)
    with pytest.raises(blazar_exc.InvalidInput) as refused:
        reserve(plugin, flavor)
    assert refused.value.kwargs["warre"]["code"] == code


def test_decision_that_exceeds_the_quota_by_now_is_refused(plugin, flavor, cloud: Cloud):
    cloud.keystone.limits = {(world.PROJECT, "reservation"): 1, (world.PROJECT, "hours"): -1}
    request = world.request(flavor, SPAN, rule=world.QUOTA)
    decision = admission.check(request)
    world.book(world.request(world.add_flavor(vcpu=1), SPAN, rule=world.QUOTA))
    lease = world.add_lease(SPAN)
    with pytest.raises(exceptions.QuotaExceeded):
        admission.book(lease.reservation_id, request, decision)


@pytest.mark.parametrize(
    "asked", [{"amount": 1}, {"affinity": True}, {"name": "mine"}], ids=lambda asked: str([*asked])
)
def test_decision_about_another_booking_is_not_written(plugin, flavor, decided_anew, asked):
    plugin.allocation_candidates(values(flavor))
    lease = reserve(plugin, flavor, **asked)
    assert decided_anew == [lease.reservation_id]


def test_decision_of_another_request_is_not_written(plugin, flavor, decided_anew):
    plugin.allocation_candidates(values(flavor))
    with carried_decisions.carrying():
        lease = reserve(plugin, flavor)
    assert decided_anew == [lease.reservation_id]


def test_no_booking_of_the_process_outdates_a_decision_in_its_turn(
    plugin, flavor, database, decided_anew
):
    def book() -> None:
        with contextlib.ExitStack() as turn:
            request = world.request(flavor, SPAN)
            decision = admission.check(request, turn)
            time.sleep(0.05)  # Long enough for the others to decide too.
            admission.book(world.add_lease(SPAN).reservation_id, request, decision)

    with futures.ThreadPoolExecutor(4) as threads:
        for done in [threads.submit(book) for _ in range(4)]:
            done.result()
    assert decided_anew == []
    assert oversold.find(database) == []


def test_outdated_decision_gives_its_turn_back(plugin, flavor, decided_anew, monkeypatch):
    """What follows may ask services, and pauses after each lost race."""
    were_free, rows = [], admission.LeaseRows()
    with rows.turn:
        request = world.request(flavor, SPAN)
        decision = admission.check(request, rows.turn)
        world.book(request)
        lease = world.add_lease(SPAN)
        monkeypatch.setattr(
            admission.new_hosts, "read", lambda: were_free.append(world.is_anybodys_turn())
        )
        assert not world.is_anybodys_turn()
        admission.book(lease.reservation_id, request, decision, rows)
    assert were_free == [True]


def test_refused_request_gives_its_turn_back_at_once(plugin, flavor):
    with contextlib.ExitStack() as turn, futures.ThreadPoolExecutor(1) as other:
        with pytest.raises(exceptions.SlotsExhausted):
            admission.check(world.request(flavor, SPAN, 5), turn)
        other.submit(world.book, world.request(flavor, SPAN)).result(timeout=30)


def test_each_reservation_of_a_lease_is_decided(plugin, flavor, database, decided_anew):
    """The second decision was made before the first reservation was booked."""
    for _ in range(2):
        plugin.allocation_candidates(values(flavor))
    leases = [reserve(plugin, flavor) for _ in range(2)]
    assert decided_anew == [leases[1].reservation_id]
    assert oversold.find(database) == []
    with pytest.raises(blazar_exc.InvalidInput, match="0 of 4 slots are free"):
        reserve(plugin, flavor)
    assert db_api.lease_list()
