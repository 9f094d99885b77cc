"""Given many offered starts, when all are taken at once, each is booked or lost to another one.

The number of offers that are taken is ``WARRE_OFFERS_AT_ONCE``, by default small.
"""

import dataclasses
import datetime
import itertools
import os
import random
from collections.abc import Callable

import pytest
import sqlalchemy as sa

from tests.fakes.cloud import Cloud
from tests.functional.db import databases, oversold, races, world
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.slots import free_time
from warre_blazar.domain.timeline import Span
from warre_blazar.services.booking import admission
from warre_blazar.services.slots import offers

pytestmark = pytest.mark.usefixtures("database")

TAKEN = int(os.environ.get("WARRE_OFFERS_AT_ONCE", "80"))
AT_ONCE = 40
PROJECTS = ("project-alpha", "project-beta", "project-gamma")
HOUR = datetime.timedelta(hours=1)
#: What another booking of the same round can have taken.
LOST = {"slots_exhausted", "hosts_exhausted", "too_many_instances", "gap_too_short"}


def site(cloud: Cloud) -> list[Flavor]:
    """Two hosts, and flavors that share them. Slots, hosts and terms run out."""
    world.add_host(cloud, "small", vcpus=8, memory_mb=10**6, disk_gb=10**5)
    world.add_host(cloud, "other", vcpus=6, memory_mb=10**6, disk_gb=10**5)
    return [
        world.add_flavor(slots=3, vcpu=2),
        world.add_flavor(slots=9, vcpu=4, gap_hours=1),
        world.add_flavor(slots=6, vcpu=3, max_instances_per_project=2),
    ]


def book_some(flavors: list[Flavor], dice: random.Random) -> None:
    """Book at random, so that offers begin and end at many times."""
    for _ in range(8):
        start = dice.randrange(40)
        span = world.hours(start, start + dice.randint(1, 6))
        request = world.request(dice.choice(flavors), span, project_id=dice.choice(PROJECTS))
        if not admission.decide(request).refusals:
            world.plan(request)


def offered(dice: random.Random) -> list[admission.BookingRequest]:
    """Requests at offered starts, of all projects, for times as long as the offers allow."""
    requests = []
    for project, count in itertools.product(PROJECTS, (1, 2)):
        question = free_time.Question(
            "", project, False, count, world.hours(0, 48), world.NOW, world.NO_CLEANING, least=HOUR
        )
        for offer in offers.find(question, offers.FlavorChoice(), world.NO_QUOTA).offers:
            length = HOUR * dice.randint(1, min(offer.longest // HOUR, 8))
            span = Span(offer.span.start, offer.span.start + length)
            requests.append(world.request(offer.flavor, span, count, project_id=project))
    # Requests may be equal, but each is an object of its own.
    return [dataclasses.replace(each) for each in dice.choices(requests, k=AT_ONCE)]


def taking(job: races.Job, booked: list[admission.BookingRequest]) -> Callable[[], None]:
    """The job, which also says that its request was booked."""

    def take() -> None:
        job()
        booked.append(job.request)

    return take


def test_each_offer_is_booked_or_lost_to_another(
    kind, database: sa.Engine, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
):
    races.unlock(monkeypatch)
    flavors, whole, total = site(cloud), races.is_whole(kind), races.Result()
    for number in range(-(-TAKEN // AT_ONCE)):
        dice = random.Random(number)
        book_some(flavors, dice)
        requests = offered(dice)
        assert [(r, x) for r in requests for x in admission.decide(r).refusals] == []
        jobs = [
            races.Job(world.add_lease(r.span, project_id=r.project_id), r, whole) for r in requests
        ]
        booked: list[admission.BookingRequest] = []
        result = races.in_threads([taking(job, booked) for job in jobs])
        total += result
        assert set(result.outcomes) <= {"held", *LOST}
        assert result.outcomes["held"] == len(booked) >= 1
        assert oversold.find(database) == []
        won = {id(request) for request in booked}
        for request in requests:
            # It was free before, so only another request of this round can have taken it.
            if id(request) not in won:
                assert admission.decide(request).refusals
        databases.delete_leases()
    print(f"\n{kind}: {dict(total.outcomes)}, {total.retries} retries")
