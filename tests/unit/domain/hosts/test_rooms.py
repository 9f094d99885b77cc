"""The room on many hosts for many requests, beside the room on each host."""

import dataclasses
import datetime

from hypothesis import given
from hypothesis import strategies as st

from warre_blazar.domain.flavors.request_groups import PlacementRequest
from warre_blazar.domain.hosts import placing
from warre_blazar.domain.hosts.bookable_host import BookableHost
from warre_blazar.domain.hosts.holdings import Holding
from warre_blazar.domain.hosts.providers import Inventory
from warre_blazar.domain.timeline import JointLevels, Levels, Span

HOUR = datetime.timedelta(hours=1)
START = datetime.datetime(2100, 1, 1)
WINDOW = Span(START, START + 2 * HOUR)
REQUESTS = [PlacementRequest.plain({"VCPU": n, "MEMORY_MB": 5 - n}) for n in (1, 2, 3)]


@st.composite
def holdings(draw: st.DrawFn) -> Holding:
    start = START + draw(st.integers(-2, 2)) * HOUR
    end = start + draw(st.integers(1, 4)) * HOUR
    return Holding("r", Span(start, end), draw(st.sampled_from([*REQUESTS, *REQUESTS, None])))


@st.composite
def hosts(draw: st.DrawFn) -> BookableHost:
    number = draw(st.integers(0, 10**9))
    totals = {cls: Inventory(draw(st.sampled_from([8, 9]))) for cls in ("VCPU", "MEMORY_MB")}
    held = draw(st.lists(holdings(), max_size=3))
    closed = draw(st.lists(holdings(), max_size=1))
    whole = [holding._replace(request=None) for holding in closed]
    return BookableHost(str(number), "host", None, {}, totals, frozenset(), held, whole)


@given(hosts())
def test_closed_host_has_no_room_during_its_window(host: BookableHost):
    is_closed = any(holding.span.overlaps(WINDOW) for holding in host.closed)
    for request in REQUESTS:
        room = dataclasses.replace(host, closed=()).room(request, WINDOW)
        assert host.room(request, WINDOW) == (0 if is_closed else room)


@given(st.lists(hosts(), max_size=6, unique_by=lambda host: host.id), st.integers(0, 20))
def test_room_is_the_sum_of_the_rooms(found: list[BookableHost], most: int):
    rooms = placing.Rooms(found, WINDOW)
    among = {host.id for host in found[1:]}
    for request in REQUESTS:
        each = [host.room(request, WINDOW) for host in found if host.id in among]
        assert rooms.room(request, among, most) == min(sum(each), most)


def test_lowest_level_is_what_is_available_throughout():
    moments = [START, START + HOUR]
    assert Levels(list(zip(moments, [3, 2], strict=True))).lowest() == 2
    assert Levels(list(zip(moments, [3, -2], strict=True))).lowest() == 0
    joint = JointLevels(list(zip(moments, [(1, 5), (4, -1)], strict=True)), sum)
    assert joint.lowest() == 1
