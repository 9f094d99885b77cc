"""All views of bookings say the same, in random sites: what can be booked, and why not.

Hours take the place of minutes, so that quotas and terms, which count hours, limit something.
"""

import dataclasses
import datetime
import itertools
import random
from typing import Any

import pytest

from tests.fakes.cloud import Cloud
from tests.functional.db import world
from warre_blazar.domain.booking import verdict
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.slots.free_time import Question
from warre_blazar.domain.timeline import Span
from warre_blazar.domain.waits import Wait
from warre_blazar.errors import exceptions
from warre_blazar.services.booking import admission, changing, dry_run, lookup
from warre_blazar.services.flavors import flavors
from warre_blazar.services.maintenance import maintenance_windows
from warre_blazar.services.slots import availability, extension, free_slots, offers
from warre_blazar.services.waits import waits

pytestmark = [pytest.mark.usefixtures("database"), pytest.mark.same_logic]

HOUR = datetime.timedelta(hours=1)
#: The number of hours, from NOW on, that the tests look at.
HORIZON = 8
WINDOW = world.hours(0, HORIZON)
SPANS = [world.hours(*pair) for pair in itertools.combinations(range(HORIZON + 1), 2)]


@dataclasses.dataclass(frozen=True)
class Site:
    """A site, and what its project asks for."""

    flavor: Flavor
    #: A reservation of the project, if there is one.
    lease: world.Lease | None
    count: int
    affinity: bool | None
    cleaning: datetime.timedelta

    def request(self, span: Span, count: int | None = None) -> admission.BookingRequest:
        request = world.request(
            self.flavor, span, count or self.count, cleaning=self.cleaning, rule=world.QUOTA
        )
        return dataclasses.replace(request, affinity=self.affinity)

    def question(self, least: datetime.timedelta = HOUR) -> Question:
        return Question(
            flavor=self.flavor.id,
            project_id=world.PROJECT,
            everything=False,
            count=self.count,
            window=WINDOW,
            now=world.NOW,
            cleaning=self.cleaning,
            affinity=self.affinity,
            least=least,
        )


#: Some hours of the day that begins with NOW.
TIMES = f"{world.NOW:%a} 02:00-06:00".lower()


def a_site(chance: random.Random, cloud: Cloud) -> Site:
    cloud.keystone.limits |= {
        (world.PROJECT, "reservation"): chance.choice([-1, -1, 3]),
        (world.PROJECT, "hours"): chance.choice([-1, 12, 20]),
    }
    names = "abc"[: chance.randint(1, 3)]
    hosts = [world.add_host(cloud, name, vcpus=2 * chance.randint(1, 3)) for name in names]
    flavor = world.add_flavor(slots=chance.randint(1, 5), max_length_hours=HORIZON)
    cleaning = chance.choice([0, 0, 1]) * HOUR
    leases = []
    for _ in range(5):
        start = chance.randint(0, HORIZON - 1)
        span = world.hours(start, start + chance.randint(1, 3))
        project = chance.choice([world.PROJECT, "project-beta"])
        wanted = world.request(
            flavor, span, chance.randint(1, 2), project_id=project, cleaning=cleaning
        )
        try:
            lease = world.plan(wanted)
        except exceptions.WarreError:
            continue
        leases += [lease] if project == world.PROJECT else []
    for closed in ([flavor.id], []):
        start = chance.randint(0, HORIZON)
        if chance.random() < 0.4:
            maintenance_windows.create(
                world.hours(start, start + 2),
                None,
                closed,
                world.NOW,
                host_refs=[] if closed else [chance.choice(hosts)],
                over_bookings=True,
            )
    terms = {
        "max_length_hours": chance.choice([2, 4, HORIZON]),
        "max_instances_per_project": chance.choice([None, None, 2, 4]),
        "gap_hours": chance.choice([None, None, 0, 1]),
        "extend_within_hours": chance.choice([None, None, 2]),
        "weekly_hours": chance.choice([None, None, f"1h {TIMES} UTC"]),
        "notice_hours": chance.choice([0, 0, 2]),
        "start": chance.choice([None, None, world.hours(1, 2).start]),
        "end": chance.choice([None, None, world.hours(6, 7).start]),
        "active": chance.random() < 0.9,
        "properties": chance.choice([None] * 7 + ['["==", "$hypervisor_hostname", "z"]']),
    }
    flavor = flavors.update(flavor.id, terms).flavor
    affinity = chance.choice([None, None, True, False])
    lease = leases[0] if leases else None
    return Site(flavor, lease, chance.randint(1, 3), affinity, cleaning)


def codes(request: admission.BookingRequest) -> list[str]:
    return [error.code for error in admission.decide(request).refusals]


def key(span: Span) -> tuple[datetime.datetime, datetime.datetime]:
    return span.start, span.end


SITES = pytest.mark.parametrize("seed", range(14))


@SITES
def test_views_of_a_booking_agree(cloud: Cloud, seed: int) -> None:
    site = a_site(random.Random(seed), cloud)
    why = {key(span): codes(site.request(span)) for span in SPANS}
    bookable = {span for span, refusals in why.items() if not refusals}
    assert {code for refusals in why.values() for code in refusals} <= {*verdict.CODES}
    check_free_slots(site, why)
    check_offers(site, bookable)
    check_dry_runs(site, why)
    check_availability(site)
    if bookable:
        check_wait(site)


def check_free_slots(site: Site, why: dict[Any, list[str]]) -> None:
    """Free slots are for any project's quota."""
    others = {span for span, refusals in why.items() if not {*refusals} - {"quota_exceeded"}}
    for length in {span.end - span.start for span in SPANS}:
        free = free_slots.find(site.question(length))
        long = [span for span in SPANS if span.end - span.start == length]
        assert {key(span) for span in long if any(each.contains(span) for each in free)} == {
            key(span) for span in long if key(span) in others
        }
    if not others:
        none = free_slots.why_none(site.question())
        assert none is not None
        # It is one of the refusals of each booking for which another one isn't told.
        assert any(none.why.code in refusals for refusals in why.values())


def check_offers(site: Site, bookable: set[Any]) -> None:
    found = offers.find(site.question(), offers.FlavorChoice(), world.QUOTA)
    if not site.flavor.active:
        assert (bookable, found.offers) == (set(), [])
        return
    assert bool(found.offers) == bool(bookable)
    for offer in found.offers:
        ends = [end for start, end in bookable if start == offer.span.start]
        assert offer.span.end == max(ends)
    for each in found.missing:
        assert any(each.why.code in codes(site.request(span)) for span in SPANS)


def check_dry_runs(site: Site, why: dict[Any, list[str]]) -> None:
    bookable = {span for span, refusals in why.items() if not refusals}
    for span in SPANS[::5]:
        foreseen = dry_run.booking(site.request(span))
        assert sorted(error.code for error in foreseen.refusals) == sorted(why[key(span)])
        length = span.end - span.start
        starts = [s for s, e in bookable if e - s == length and s >= span.start]
        if starts:
            assert foreseen.next_start == min(starts)
        elif foreseen.next_start is not None:  # It is after the hours that are looked at.
            later = Span(foreseen.next_start, foreseen.next_start + length)
            assert later.end > WINDOW.end
            assert codes(site.request(later)) == []
        ends = [e for s, e in bookable if s == span.start]
        if ends and max(ends) < WINDOW.end:
            assert foreseen.longest == max(ends) - span.start
        assert foreseen.most == most(site, span)


def most(site: Site, span: Span) -> int:
    return next((n for n in (6, 5, 4, 3, 2, 1) if not codes(site.request(span, n))), 0)


def check_availability(site: Site) -> None:
    question = dataclasses.replace(site.question(), count=1)
    found = availability.find(question, offers.FlavorChoice(), HOUR)
    counted = {key(span): n for each in found for span, n in each.parts}
    for hour in range(0, HORIZON, 3):
        span = world.hours(hour, hour + 1)
        wanted = next(
            (n for n in (6, 5, 4, 3, 2, 1) if not {*codes(site.request(span, n))} - QUOTA), 0
        )
        assert counted.get(key(span), 0) == wanted


QUOTA = {"quota_exceeded"}


def check_wait(site: Site) -> None:
    """What can be booked now can be waited for."""
    wait = Wait(
        id="w",
        project_id=world.PROJECT,
        user_id="u",
        flavor_id=site.flavor.id,
        category=None,
        instance_count=site.count,
        length=HOUR,
        window=WINDOW,
        created_at=world.NOW,
        expires_at=WINDOW.end - HOUR,
    )
    assert waits.foresee(wait, 9, frozenset()).position == 1


@SITES
def test_views_of_an_extension_agree(cloud: Cloud, seed: int) -> None:
    site = a_site(random.Random(seed), cloud)
    if site.lease is None:
        return
    conditions = dataclasses.replace(world.conditions(site.cleaning), quotas=world.QUOTA)
    reservation, flavor = lookup.get(site.lease.reservation_id, None)
    found = extension.find(reservation, flavor, conditions, world.NOW)
    span = reservation.span

    def refusals(end: datetime.datetime) -> list[str]:
        outcome = changing.foresee(
            reservation, Span(span.start, end), reservation.instance_count, conditions, world.NOW
        )
        return [error.code for error in outcome.refusals]

    ends = [span.end + n * HOUR for n in range(HORIZON + 2)]
    allowed = [end for end in ends if not refusals(end)]
    if found.end < ends[-1]:
        assert found.end == allowed[-1]
        assert found.stop is not None
        assert found.stop.code in refusals(found.end + HOUR)
