"""Idle reservations are warned, and end early unless something saves them."""

import datetime
from typing import Any

import pytest
import sqlalchemy as sa
from blazar.db import api as db_api
from oslo_utils import timeutils

from tests.fakes.cloud import Cloud
from tests.functional.db import races, world
from tests.functional.db.managers import Manager
from tests.functional.db.notices import waiting
from warre_blazar.db import session
from warre_blazar.db.messages import deliveries
from warre_blazar.db.records import changes
from warre_blazar.db.records.usage import UsageFilter
from warre_blazar.db.running import idle as stored
from warre_blazar.domain.booking import reservation_states
from warre_blazar.domain.messages.notices import Kind, Notice
from warre_blazar.domain.records.changes import Change, ChangeKind
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions
from warre_blazar.plugins import change_records
from warre_blazar.services.booking import lookup
from warre_blazar.services.records import server_samples, usage
from warre_blazar.services.running import idle

pytestmark = pytest.mark.usefixtures("database", "told")

MINUTE = datetime.timedelta(minutes=1)
INTERVAL = 30 * MINUTE
SPAN = world.hours(1, 20)


@pytest.fixture
def told(database: sa.Engine) -> None:
    change_records.register()
    session.change(deliveries.set_channels, {"mail": False})


def start(cloud: Cloud, **terms: Any) -> world.Lease:
    """Begin a reservation of a flavor that warns after 2 hours and ends after 4."""
    world.add_host(cloud, "a")
    flavor = world.add_flavor(slots=1, **{"idle_warn_hours": 2, "idle_end_hours": 4, **terms})
    lease = world.book(world.request(flavor, SPAN))
    Manager().run(SPAN.start)
    return lease


def boot(cloud: Cloud, lease: world.Lease) -> str:
    flavor_id = lookup.get(lease.reservation_id, None)[0].nova_flavor
    assert flavor_id
    return cloud.nova.boot(flavor_id, world.PROJECT)


def pass_time(first: float, last: float, *, managers: int = 1) -> None:
    """Let managers sample and look from one hour of the reservation to another."""
    moment = SPAN.start + first * 60 * MINUTE
    while moment <= SPAN.start + last * 60 * MINUTE:
        timeutils.set_time_override(moment)
        server_samples.take(moment, "manager", INTERVAL)
        for _ in range(managers):
            idle.look(moment, INTERVAL)
        Manager().run(moment)
        moment += INTERVAL


def state(lease: world.Lease) -> str:
    return lookup.get(lease.reservation_id, None)[0].state


def notices(*kinds: Kind) -> list[Notice]:
    return [notice for notice in waiting("mail") if notice.news.kind in kinds]


def test_idle_reservation_is_warned_and_ends_early(cloud: Cloud):
    lease = start(cloud)
    pass_time(0, 4, managers=2)
    (warning,) = notices(Kind.IDLE)
    assert warning.news.after is not None
    # Samples are taken every half hour, and the first one was the first without a server.
    counted_from = f"{SPAN.start + INTERVAL:%Y-%m-%dT%H:%M:%S}+00:00"
    assert warning.news.after["idle_counted_from"] == counted_from
    assert (
        warning.news.after["ends_at"] == f"{SPAN.start + 4.5 * 60 * MINUTE:%Y-%m-%dT%H:%M:%S}+00:00"
    )
    assert state(lease) == reservation_states.ACTIVE
    pass_time(4.5, 5)
    assert state(lease) == reservation_states.COMPLETE
    (ended,) = notices(Kind.IDLE_END)
    assert ended.news.before is not None and ended.news.after is not None
    assert ended.news.before["end"] > ended.news.after["end"]
    assert len(notices(Kind.ENDED)) == 1
    log = [change.kind.value for change in lookup.log(lookup.get(lease.reservation_id, None)[0])]
    assert log == ["created", "started", "idle_end", "ended"]
    # The rest can be booked again, and counts as given back.
    world.book(world.request(lookup.get(lease.reservation_id, None)[1], world.hours(8, 10)))
    wanted = UsageFilter(window=Span(SPAN.start, SPAN.end))
    (sums,) = usage.report(wanted, None, SPAN.end).values()
    given_back = sums.instances.given_back / 3600
    assert given_back == pytest.approx(19 - 4.5)


def test_server_that_was_moved_out_without_a_confirmation_counts(cloud: Cloud):
    lease = start(cloud)
    flavor_id = lookup.get(lease.reservation_id, None)[0].nova_flavor
    assert flavor_id
    server = cloud.nova.boot(flavor_id, world.PROJECT, host="a")
    cloud.add_host("other", inventories={"VCPU": {"total": 4}})
    cloud.nova.move(server, "other", cloud.nova.make_flavor("m1"))
    pass_time(0, 5)
    assert state(lease) == reservation_states.ACTIVE
    assert notices(Kind.IDLE) == []


@pytest.mark.parametrize("status", ["ACTIVE", "BUILD", "SHUTOFF", "SHELVED_OFFLOADED", "ERROR"])
def test_server_of_any_state_counts(cloud: Cloud, status: str):
    lease = start(cloud)
    host = None if status in ("BUILD", "SHELVED_OFFLOADED") else "a"
    cloud.nova.servers[boot(cloud, lease)] |= {"status": status, "host": host}
    pass_time(0, 9)
    assert state(lease) == reservation_states.ACTIVE
    assert notices(Kind.IDLE) == []


def test_server_that_found_no_host_does_not_count(cloud: Cloud):
    lease = start(cloud)
    cloud.nova.servers[boot(cloud, lease)]["status"] = "ERROR"
    pass_time(0, 4.5)
    assert state(lease) == reservation_states.COMPLETE
    assert len(notices(Kind.IDLE)) == 1


def test_time_counts_from_the_last_server_on(cloud: Cloud):
    lease = start(cloud)
    server = boot(cloud, lease)
    pass_time(0, 3)
    del cloud.nova.servers[server]
    pass_time(3.5, 7)
    assert (state(lease), len(notices(Kind.IDLE))) == (reservation_states.ACTIVE, 1)
    pass_time(7.5, 8.5)
    assert state(lease) == reservation_states.COMPLETE


def test_server_after_the_last_sample_saves_it(cloud: Cloud):
    lease = start(cloud)
    pass_time(0, 4)
    boot(cloud, lease)
    later = SPAN.start + 4.5 * 60 * MINUTE
    idle.look(later, INTERVAL)
    with session.reader() as db:
        assert stored.limited(db) == []
    pass_time(4.5, 9)
    assert state(lease) == reservation_states.ACTIVE


def test_nova_away_is_never_idleness(cloud: Cloud):
    lease = start(cloud)
    pass_time(0, 1)
    # Nobody knows what was there in the next hours.
    pass_time(3, 4.5)
    assert notices(Kind.IDLE) == []
    pass_time(5, 6.5)
    assert (state(lease), len(notices(Kind.IDLE))) == (reservation_states.ACTIVE, 1)


def test_old_samples_end_nothing(cloud: Cloud):
    lease = start(cloud)
    pass_time(0, 4)
    idle.look(SPAN.start + 10 * 60 * MINUTE, INTERVAL)
    assert notices(Kind.IDLE_END) == []
    Manager().run(SPAN.start + 10 * 60 * MINUTE)
    assert state(lease) == reservation_states.ACTIVE


def test_nothing_is_ended_if_nova_does_not_answer_at_the_last_look(cloud: Cloud):
    lease = start(cloud)
    pass_time(0, 4)
    cloud.nova.fail(status=503)
    with pytest.raises(exceptions.ServiceUnavailable):
        idle.look(SPAN.start + 4.5 * 60 * MINUTE, INTERVAL)
    assert state(lease) == reservation_states.ACTIVE


def test_flavor_without_terms_ends_nothing(cloud: Cloud):
    lease = start(cloud, idle_warn_hours=None, idle_end_hours=None)
    pass_time(0, 15)
    assert state(lease) == reservation_states.ACTIVE
    assert notices(Kind.IDLE, Kind.IDLE_END) == []


def test_extension_begins_anew(cloud: Cloud):
    lease = start(cloud)
    pass_time(0, 4)
    longer = Span(SPAN.start, SPAN.end + 60 * MINUTE)
    world.write_dates(lease, longer)
    at = SPAN.start + 4 * 60 * MINUTE
    before, after = changes.span(SPAN), changes.span(longer)
    written = Change(at, ChangeKind.RESCHEDULED, "user", before, after)
    session.change(changes.add, lease.reservation_id, written)
    pass_time(4.5, 5.5)
    assert state(lease) == reservation_states.ACTIVE
    pass_time(6, 8)
    assert (state(lease), len(notices(Kind.IDLE))) == (reservation_states.COMPLETE, 2)


def test_change_at_the_same_moment_wins(cloud: Cloud):
    """What was read before the change decides nothing."""
    lease = start(cloud)
    pass_time(0, 4)
    with session.reader() as db:
        (item,) = stored.limited(db)
    now = SPAN.start + 4.5 * 60 * MINUTE
    for change in ({"end_date": SPAN.end + MINUTE}, {"status": "UPDATING"}):
        before = db_api.lease_get(lease.id)
        world.write_lease(lease.id, change)
        assert not session.change(idle._end, item, now)
        world.write_lease(lease.id, {name: before[name] for name in change})
    assert state(lease) == reservation_states.ACTIVE


def test_managers_that_look_at_once_end_it_once(cloud: Cloud, monkeypatch: pytest.MonkeyPatch):
    lease = start(cloud)
    pass_time(0, 4)
    races.unlock(monkeypatch)
    now = SPAN.start + 4.5 * 60 * MINUTE
    result = races.in_threads([lambda: idle.look(now, INTERVAL)] * 4)
    assert set(result.outcomes) == {"held"}
    assert len(notices(Kind.IDLE_END)) == 1
    Manager().run(now)
    assert state(lease) == reservation_states.COMPLETE
