"""What hosts hold in all, and how much is booked of it, against counting by the minute."""

import datetime

from hypothesis import given
from hypothesis import strategies as st

from tests.unit.domain.shapes import flavor, shape
from warre_blazar.domain import capacity
from warre_blazar.domain.hosts import Holding, Host, Inventory
from warre_blazar.domain.timeline import Claim, Span

T0 = datetime.datetime(2100, 1, 1)
MINUTE = datetime.timedelta(minutes=1)


def span(start: int, end: int) -> Span:
    return Span(T0 + start * MINUTE, T0 + end * MINUTE)


def host(name: str, vcpus: int, gpu: str = "a100", held: tuple[Holding, ...] = ()) -> Host:
    inventories = {
        cls: Inventory(total)
        for cls, total in (("VCPU", vcpus), ("MEMORY_MB", 10**6), ("DISK_GB", 10**6))
    }
    return Host(name, name, "nova", {"gpu": gpu}, inventories, frozenset(), held)


SHAPE = shape(vcpu=4, properties='["==", "$gpu", "a100"]')


def test_hosts_when_empty():
    busy = (Holding("r", Span(datetime.datetime.min, datetime.datetime.max), None),)
    hosts = [host("c", 3), host("b", 17, held=busy), host("a", 8), host("d", 100, gpu="h100")]
    rooms = capacity.when_empty(hosts, SHAPE)
    assert [(r.host.name, r.instances) for r in rooms] == [("a", 2), ("b", 4)]


def test_who_shares_hosts():
    rooms = capacity.when_empty([host("a", 8), host("b", 16)], SHAPE)
    others = [
        flavor(id="any", shape=shape(vcpu=1)),
        flavor(id="large", shape=shape(vcpu=12)),
        flavor(id="too large", shape=shape(vcpu=17)),
        flavor(id="elsewhere", shape=shape(properties='["==", "$gpu", "h100"]')),
    ]
    found = capacity.sharing(rooms, others)
    assert [(s.flavor.id, s.hosts) for s in found] == [("any", ["a", "b"]), ("large", ["b"])]


def test_nothing_bookable():
    use = capacity.use([Claim(span(0, 9), 2)], span(0, 10), T0)
    assert use.utilisation(0, span(0, 10)) is None
    # More than there is, since slots were taken away.
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
