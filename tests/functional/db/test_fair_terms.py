"""Fair terms are exact, on every way in, and also among simultaneous bookings."""

import dataclasses
import datetime
import itertools

import pytest

from tests.fakes.cloud import Cloud
from tests.functional.db import races, world
from warre_blazar.domain.slots import free_time
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions
from warre_blazar.services.booking import admission, dry_run
from warre_blazar.services.slots import free_slots, offers

pytestmark = pytest.mark.usefixtures("database")

MANY = 24
OTHER = "project-beta"


def offer(cloud: Cloud, **terms: int):
    world.add_host(cloud, "big", vcpus=400, memory_mb=10**7, disk_gb=10**6)
    return world.add_flavor(slots=100, **terms)


def codes(request: admission.BookingRequest) -> list[str]:
    return [error.code for error in admission.decide(request).refusals]


def race(kind: str, requests: list[admission.BookingRequest], monkeypatch) -> races.Result:
    """Book everything at once, as many processes would do."""
    races.unlock(monkeypatch)
    whole = races.is_whole(kind)
    jobs = [races.Job(world.add_lease(r.span), r, whole) for r in requests]
    return races.in_threads(jobs)


def test_simultaneous_bookings_of_a_project_stay_within_its_instances(kind, cloud, monkeypatch):
    flavor = offer(cloud, max_instances_per_project=3)
    requests = [world.request(flavor, world.hours(1, 3)) for _ in range(MANY)]
    result = race(kind, requests, monkeypatch)
    assert result.outcomes == {"held": 3, "too_many_instances": MANY - 3}
    # Another project has its own.
    assert codes(world.request(flavor, world.hours(1, 3), 3, project_id=OTHER)) == []


def test_simultaneous_bookings_of_a_project_keep_the_gap(kind, cloud, monkeypatch):
    flavor = offer(cloud, gap_hours=2)
    spans = [world.hours(n, n + 1) for n in range(1, MANY + 1)]
    result = race(kind, [world.request(flavor, span) for span in spans], monkeypatch)
    assert set(result.outcomes) == {"held", "gap_too_short"}
    free = [span for span in spans if "gap_too_short" not in codes(world.request(flavor, span))]
    # Each hour is either booked or too near to what is booked.
    assert free == []
    assert result.outcomes["held"] >= MANY // 5


def test_more_instances_of_a_reservation_count(cloud: Cloud, kind):
    flavor = offer(cloud, max_instances_per_project=3)
    first = world.plan(world.request(flavor, world.hours(1, 3)))
    world.plan(world.request(flavor, world.hours(2, 4)))
    world.move(first, world.hours(1, 3), count=2)
    with pytest.raises(exceptions.FlavorNotBookable, match="at most 3 instances"):
        world.move(first, world.hours(1, 3), count=3)


def test_extension_into_the_gap_is_refused(cloud: Cloud, kind):
    flavor = offer(cloud, gap_hours=2)
    first = world.plan(world.request(flavor, world.hours(1, 3)))
    world.plan(world.request(flavor, world.hours(5, 6)))
    with pytest.raises(exceptions.FlavorNotBookable) as refused:
        world.move(first, world.hours(1, 4))
    assert refused.value.code == "gap_too_short"


def test_extension_waits_for_the_last_hours(cloud: Cloud, kind):
    flavor = offer(cloud, extend_within_hours=2)
    early = world.plan(world.request(flavor, world.hours(1, 10)))
    late = world.plan(world.request(flavor, world.hours(1, 2)))
    with pytest.raises(exceptions.FlavorNotBookable) as refused:
        world.move(early, world.hours(1, 11))
    assert refused.value.code == "too_early_to_extend"
    assert refused.value.detail["extend_from"] == f"{world.hours(8, 9).start.isoformat()}+00:00"
    world.move(late, world.hours(1, 3))


def test_extension_stays_within_the_days_ahead(cloud: Cloud, kind):
    flavor = offer(cloud, max_days_ahead=1)
    booked = world.plan(world.request(flavor, world.hours(1, 24)))
    with pytest.raises(exceptions.FlavorNotBookable) as refused:
        world.move(booked, world.hours(1, 25))
    assert refused.value.code == "too_far_ahead"


def test_deleted_reservation_keeps_the_gap_only_for_what_it_used(cloud: Cloud, kind):
    flavor = offer(cloud, gap_hours=2)
    unused = world.plan(world.request(flavor, world.hours(1, 3)))
    assert codes(world.request(flavor, world.hours(4, 5))) == ["gap_too_short"]
    world.db_api.lease_destroy(unused.id)
    assert codes(world.request(flavor, world.hours(4, 5))) == []
    ended = world.plan(world.request(flavor, world.hours(-5, -1), now=world.hours(-6, 0).start))
    world.set_status(ended, "TERMINATED")
    assert codes(world.request(flavor, world.hours(0, 1))) == ["gap_too_short"]
    assert codes(world.request(flavor, world.hours(1, 2))) == []


def question(flavor, **changes) -> free_time.Question:
    asked = free_time.Question(
        flavor.id, world.PROJECT, False, 1, world.hours(0, 48), world.NOW, world.NO_CLEANING
    )
    return dataclasses.replace(asked, **changes)


@pytest.mark.parametrize(
    "terms", [{"gap_hours": 2}, {"max_instances_per_project": 1}, {"max_days_ahead": 1}]
)
def test_free_slots_offers_and_dry_runs_know_the_terms(cloud: Cloud, kind, terms):
    flavor = offer(cloud, **terms)
    world.plan(world.request(flavor, world.hours(4, 6)))
    found = free_slots.find(question(flavor))
    for start, end in itertools.combinations(range(0, 30, 2), 2):
        span = world.hours(start, end)
        foreseen = dry_run.booking(world.request(flavor, span))
        assert any(free.contains(span) for free in found) == (not foreseen.refusals)
        assert foreseen.next_start is None or not codes(
            world.request(
                flavor, Span(foreseen.next_start, foreseen.next_start + (span.end - span.start))
            )
        )
    offered = offers.find(question(flavor), offers.FlavorChoice(flavor.id), world.NO_QUOTA)
    assert [offer_.span for offer_ in offered.offers] == found


def test_reasons_name_the_terms(cloud: Cloud, kind):
    flavor = offer(cloud, gap_hours=2, max_days_ahead=30)
    world.plan(world.request(flavor, world.hours(4, 6)))
    near = question(flavor, window=world.hours(3, 7))
    assert free_slots.why_none(near).why.code == "gap_too_short"
    far = question(flavor, window=world.hours(31 * 24, 32 * 24))
    assert free_slots.why_none(far).why.code == "too_far_ahead"
    missing = offers.find(near, offers.FlavorChoice(flavor.id), world.NO_QUOTA).missing
    assert [each.why.code for each in missing] == ["gap_too_short"]


def test_offers_respect_the_quota(cloud: Cloud, kind):
    flavor = offer(cloud)
    cloud.keystone.limits |= {(world.PROJECT, "reservation"): 2, (world.PROJECT, "hours"): 10}
    world.plan(world.request(flavor, world.hours(1, 5)))
    four = datetime.timedelta(hours=4)
    found = offers.find(question(flavor, least=four), offers.FlavorChoice(), world.QUOTA)
    # Six instance-hours are left.
    assert [o.longest for o in found.offers] == [datetime.timedelta(hours=6)]
    missing = offers.find(question(flavor, count=2, least=four), offers.FlavorChoice(), world.QUOTA)
    (without,) = missing.missing
    assert without.why.code == "quota_exceeded"
    assert without.fewer_instances is not None
    assert without.fewer_instances.count == 1
    assert without.fewer_hours is not None
    assert without.fewer_hours.longest == datetime.timedelta(hours=3)
