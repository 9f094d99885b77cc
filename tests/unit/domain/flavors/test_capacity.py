"""The capacity of hosts and its use, compared with counts by the minute."""

import dataclasses
import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.domain.shapes import flavor, shape
from warre_blazar.domain.flavors import capacity
from warre_blazar.domain.flavors.capacity import HostLimit, LimitKind
from warre_blazar.domain.flavors.request_groups import Group
from warre_blazar.domain.hosts import bookable_host
from warre_blazar.domain.hosts.bookable_host import BookableHost
from warre_blazar.domain.hosts.holdings import Holding
from warre_blazar.domain.hosts.providers import Inventory, Provider
from warre_blazar.domain.timeline import Claim, Span

T0 = datetime.datetime(2100, 1, 1)
MINUTE = datetime.timedelta(minutes=1)


def span(start: int, end: int) -> Span:
    return Span(T0 + start * MINUTE, T0 + end * MINUTE)


def host(name: str, vcpus: int, gpu: str = "a100", held: tuple[Holding, ...] = ()) -> BookableHost:
    inventories = {
        cls: Inventory(total)
        for cls, total in (("VCPU", vcpus), ("MEMORY_MB", 10**6), ("DISK_GB", 10**6))
    }
    return BookableHost(name, name, "nova", {"gpu": gpu}, inventories, frozenset(), held)


SHAPE = shape(vcpu=4, properties='["==", "$gpu", "a100"]')


def test_hosts_when_empty():
    busy = (Holding("r", Span(datetime.datetime.min, datetime.datetime.max), None),)
    hosts = [host("c", 3), host("b", 17, held=busy), host("a", 8), host("d", 100, gpu="h100")]
    rooms = capacity.when_empty(hosts, SHAPE)
    assert [(r.host.name, r.instances) for r in rooms] == [("a", 2), ("b", 4)]


DEVICE = Provider("a_0000:81:00.0", "a_0000:81:00.0", "a", {"GPU": Inventory(1)}, frozenset("T"))


def with_devices(*devices: Provider) -> BookableHost:
    """A host with 8 virtual CPUs and the devices."""
    one = host("a", 8)
    root = Provider("a", "a", None, one.inventories, frozenset({"ROOT"}))
    return dataclasses.replace(one, providers=(root, *devices))


def gpu(amount: int = 1, *required: str) -> Group:
    return Group.of({"GPU": amount}, required)


LIMITS = {
    "CPUs": (shape(vcpu=4), 2, [(LimitKind.RESOURCE_CLASS, "VCPU", 2)]),
    "devices": (
        shape(vcpu=1, device_groups=(gpu(),)),
        1,
        [(LimitKind.RESOURCE_CLASS, "GPU", 1)],
    ),
    "another zone": (
        shape(availability_zone="east"),
        0,
        [(LimitKind.ZONE, "east", 0)],
    ),
    "another property": (
        shape(properties='["==", "$gpu", "h100"]'),
        0,
        [(LimitKind.PROPERTY, "gpu == h100", 0)],
    ),
    "no such property": (
        shape(properties='["!=", "$gpus", "h100"]'),
        0,
        [(LimitKind.MISSING_PROPERTY, "gpus", 0)],
    ),
    "a trait that no device has": (
        shape(device_groups=(gpu(1, "FAST"),)),
        0,
        [(LimitKind.REQUIRED_TRAIT, "FAST", 0)],
    ),
    "a trait that the root has not": (
        shape(extra_specs={"trait:T": "required"}),
        0,
        [(LimitKind.REQUIRED_TRAIT, "T", 0)],
    ),
    "a trait that the root has": (
        shape(extra_specs={"trait:ROOT": "forbidden"}),
        0,
        [(LimitKind.FORBIDDEN_TRAIT, "ROOT", 0)],
    ),
    "a class that it lacks": (
        shape(extra_specs={"resources:FPGA": "1"}),
        0,
        [(LimitKind.RESOURCE_CLASS, "FPGA", 0)],
    ),
    "classes of different providers in one group": (
        shape(vcpu=1, extra_specs={"resources1:GPU": "1", "resources1:VCPU": "1"}),
        0,
        [(LimitKind.GROUPS, "GPU, VCPU", 0)],
    ),
}


@pytest.mark.parametrize("case", LIMITS)
def test_limits_of_an_empty_host(case: str):
    wanted, instances, expected = LIMITS[case]
    found = capacity.limits(with_devices(DEVICE), wanted)
    fewest = [limit for limit in found.limits if limit.instances == found.limits[0].instances]
    assert found.instances == instances
    assert [(limit.kind, limit.name, limit.instances) for limit in fewest] == expected


def test_a_limit_says_which_providers_have_how_much():
    other = dataclasses.replace(DEVICE, id="b", name="a_0000:82:00.0")
    wanted = shape(vcpu=1, device_groups=(gpu(), gpu()))
    first, *_ = capacity.limits(with_devices(DEVICE, other), wanted).limits
    assert first == HostLimit(
        LimitKind.RESOURCE_CLASS, "GPU", 1, (DEVICE.name, other.name), asked=2, capacity=2
    )


def test_flavors_that_can_be_on_the_same_hosts_share_them():
    rooms = capacity.when_empty([host("a", 8), host("b", 16)], SHAPE)
    others = [
        flavor(id="any", shape=shape(vcpu=1)),
        flavor(id="large", shape=shape(vcpu=12)),
        flavor(id="too large", shape=shape(vcpu=17)),
        flavor(id="elsewhere", shape=shape(properties='["==", "$gpu", "h100"]')),
    ]
    found = capacity.sharing(rooms, others)
    assert [(s.flavor.id, s.hosts) for s in found] == [("any", ["a", "b"]), ("large", ["b"])]


def test_utilisation_with_nothing_bookable_is_none():
    use = capacity.use([Claim(span(0, 9), 2)], span(0, 10), T0)
    assert use.utilisation(0, span(0, 10)) is None
    # More is booked than can be, because the flavor has lost slots since.
    assert use.utilisation(1, span(0, 10)) == 1.8


CLAIMS = st.lists(
    st.builds(
        lambda start, length, amount: Claim(span(start, start + length), amount),
        st.integers(-5, 25),
        st.integers(1, 12),
        st.integers(1, 4),
    ),
    max_size=6,
)


@given(CLAIMS, st.integers(0, 10), st.integers(1, 10), st.integers(-5, 25), st.integers(1, 9))
def test_use_by_the_minute(claims, start, length, now, instances):
    window = span(start, start + length)

    def taken(minute: int) -> int:
        moment = span(minute, minute + 1)
        return sum(c.amount for c in claims if c.span.overlaps(moment))

    by_minute = [taken(minute) for minute in range(start, start + length)]
    use = capacity.use(claims, window, T0 + now * MINUTE)
    assert (use.now, use.peak) == (taken(now), max(by_minute))
    assert use.utilisation(instances, window) == sum(by_minute) / (instances * length)


@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(1, 10), st.integers(1, 3)), max_size=8),
    st.integers(1, 6),
)
def test_overbooked_against_minutes(booked, slots):
    claims = [Claim(span(start, start + length), amount) for start, length, amount in booked]
    levels = [
        sum(amount for start, length, amount in booked if start <= minute < start + length)
        for minute in range(40)
    ]
    beyond = [minute for minute, level in enumerate(levels) if level > slots]
    found = capacity.overbooked(claims, slots)
    if not beyond:
        assert found is None
    else:
        until = T0 + (beyond[-1] + 1) * MINUTE
        assert found == capacity.OverbookedSlots(max(levels), until)


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 10), st.integers(1, 3)), max_size=6))
def test_use_of_a_host_against_minutes(booked):
    holdings = tuple(
        Holding(str(n), span(start, start + length), shape(vcpu=vcpu).request)
        for n, (start, length, vcpu) in enumerate(booked)
    )
    levels = [
        sum(vcpu for start, length, vcpu in booked if start <= minute < start + length)
        for minute in range(40)
    ]
    found = {
        u.resource_class: u
        for u in bookable_host.use(host("h", 99, held=holdings), span(5, 15), T0)
    }
    vcpus = found["VCPU"]
    assert (vcpus.capacity, vcpus.now, vcpus.peak) == (99, levels[0], max(levels[5:15]))


def test_whole_host_takes_all_of_each_class():
    whole = (Holding("r", span(0, 9), None),)
    used = {
        u.resource_class: u.now for u in bookable_host.use(host("h", 4, held=whole), span(0, 9), T0)
    }
    assert used == {"VCPU": 4, "MEMORY_MB": 10**6, "DISK_GB": 10**6}
