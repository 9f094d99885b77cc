"""All views of bookings say the same, in random sites: what can be booked, and why not.

Usually hours take the place of minutes, and all times are tried. In the test with the mark ``long``
all that is booked and closed begins and ends at any minute, and bookings of a few lengths are tried
at each minute.
"""

import dataclasses
import datetime
import itertools
import random
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from blazar.db import api as db_api

from tests.fakes.cloud import Cloud
from tests.functional.db import world
from warre_blazar.domain.booking import verdict
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.hosts.providers import Inventory, Provider
from warre_blazar.domain.slots.free_time import Question
from warre_blazar.domain.slots.offers import NotOffered
from warre_blazar.domain.timeline import Span
from warre_blazar.domain.waits import Wait
from warre_blazar.errors import exceptions
from warre_blazar.services.booking import admission, changing, dry_run, lookup
from warre_blazar.services.flavors import flavors
from warre_blazar.services.maintenance import maintenance_windows
from warre_blazar.services.slots import availability, extension, free_slots, offers
from warre_blazar.services.waits import waits

pytestmark = [pytest.mark.usefixtures("database"), pytest.mark.same_logic]

HOUR, MINUTE = datetime.timedelta(hours=1), datetime.timedelta(minutes=1)
#: The number of hours, from NOW on, that the tests look at.
HORIZON = 8
WINDOW = world.hours(0, HORIZON)


@dataclasses.dataclass(frozen=True)
class Grid:
    """The times that are tried, and at which something is booked or closed."""

    step: datetime.timedelta
    spans: Sequence[Span]

    def moment(self, chance: random.Random, least: int, most: int) -> float:
        """A number of hours, from NOW on."""
        steps = HOUR // self.step
        return chance.randint(least * steps, most * steps) / steps


HOURS = Grid(HOUR, [world.hours(*pair) for pair in itertools.combinations(range(HORIZON + 1), 2)])
MINUTES = Grid(
    MINUTE,
    [
        Span(start, start + length * MINUTE)
        for start in (WINDOW.start + n * MINUTE for n in range(HORIZON * 60))
        for length in (60, 157)
        if start + length * MINUTE <= WINDOW.end
    ],
)


@dataclasses.dataclass(frozen=True)
class Site:
    """A site, and what its project asks for."""

    grid: Grid
    flavor: Flavor
    #: All reservations, and one of the project, if there is one.
    leases: Sequence[world.Lease]
    lease: world.Lease | None
    #: The host that is closed.
    closed: str | None
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


def gpu(host: str, name: str, amount: int, *traits: str) -> Provider:
    provider_id = f"{host}-{name}"
    return Provider(
        provider_id, provider_id, host, {"CUSTOM_GPU": Inventory(amount)}, frozenset(traits)
    )


#: What flavors take of the hosts' GPUs.
ANY_GPU = {"resources1:CUSTOM_GPU": "1"}
GOOD_GPU = {**ANY_GPU, "trait1:CUSTOM_GOOD": "required"}


def a_site(chance: random.Random, cloud: Cloud, grid: Grid) -> Site:
    cloud.keystone.limits |= {
        (world.PROJECT, "reservation"): chance.choice([-1, -1, 3]),
        (world.PROJECT, "hours"): chance.choice([-1, 12, 20]),
    }
    names = "abc"[: chance.randint(1, 3)]
    hosts = [
        world.add_host(
            cloud,
            name,
            vcpus=2 * chance.randint(1, 3),
            children=(
                gpu(name, "plain", 1),
                gpu(name, "good", chance.randint(1, 2), "CUSTOM_GOOD"),
            ),
        )
        for name in names
    ]
    offered = [
        world.add_flavor(
            slots=chance.randint(1, 5),
            max_length_hours=HORIZON,
            extra_specs=chance.choice([{}, ANY_GPU, GOOD_GPU]),
        )
        for _ in range(2)
    ]
    flavor = offered[0]
    cleaning = chance.choice([0, 0, 1]) * HOUR
    leases, own = [], None
    for _ in range(7):
        start = grid.moment(chance, 0, HORIZON - 1)
        span = world.hours(start, start + grid.moment(chance, 1, 3))
        project = chance.choice([world.PROJECT, "project-beta"])
        booked = chance.choice([flavor, *offered])
        wanted = world.request(
            booked, span, chance.randint(1, 2), project_id=project, cleaning=cleaning
        )
        try:
            lease = world.plan(wanted)
        except exceptions.WarreError:
            continue
        leases.append(lease)
        if own is None and project == world.PROJECT and booked is flavor:
            own = lease
    for closed in ([flavor.id], []):
        start = grid.moment(chance, 0, HORIZON)
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
        "start": chance.choice([None, None, world.hours(grid.moment(chance, 0, 2), 9).start]),
        "end": chance.choice([None, None, world.hours(grid.moment(chance, 5, 7), 9).start]),
        "active": chance.random() < 0.9,
        "properties": chance.choice([None] * 7 + ['["==", "$hypervisor_hostname", "z"]']),
    }
    flavor = flavors.update(flavor.id, terms).flavor
    drained = chance.choice([None, None, chance.choice(hosts)])
    if drained:
        db_api.host_update(drained, {"reservable": False})
    affinity = chance.choice([None, None, True, False])
    count = chance.randint(1, 3)
    return Site(grid, flavor, leases, own, drained, count, affinity, cleaning)


def codes(request: admission.BookingRequest) -> list[str]:
    return [error.code for error in admission.decide(request).refusals]


def key(span: Span) -> tuple[datetime.datetime, datetime.datetime]:
    return span.start, span.end


SITES = pytest.mark.parametrize(
    "seed", [*range(4), *(pytest.param(n, marks=pytest.mark.whole) for n in range(4, 10))]
)


@SITES
def test_views_of_a_booking_agree(cloud: Cloud, seed: int) -> None:
    check_bookings(a_site(random.Random(seed), cloud, HOURS))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 108))
def test_views_of_a_booking_agree_in_every_minute(cloud: Cloud, seed: int) -> None:
    check_bookings(a_site(random.Random(seed), cloud, MINUTES))


def check_bookings(site: Site) -> None:
    why = {key(span): codes(site.request(span)) for span in site.grid.spans}
    assert {code for refusals in why.values() for code in refusals} <= {*verdict.CODES}
    check_free_slots(site, why)
    check_offers(site, why)
    check_availability(site, why)
    some = site.grid.spans[:: len(site.grid.spans) // 8]
    foreseen = {span: dry_run.booking(site.request(span)) for span in some}
    for span, of_span in foreseen.items():
        check_dry_run(site, span, of_span, why)
    check_waits(site, foreseen)


def check_free_slots(site: Site, why: dict[Any, list[str]]) -> None:
    """Free slots are for any project's quota."""
    others = {span for span, refusals in why.items() if not {*refusals} - QUOTA}
    for length in {span.end - span.start for span in site.grid.spans}:
        free = free_slots.find(site.question(length))
        long = [span for span in site.grid.spans if span.end - span.start == length]
        assert {key(span) for span in long if any(each.contains(span) for each in free)} == {
            key(span) for span in long if key(span) in others
        }
    if not any(end - start >= HOUR for start, end in others):
        none = free_slots.why_none(site.question())
        # It is one of the refusals of each booking for which another one isn't told.
        assert none is not None
        assert any(none.why.code in refusals for refusals in why.values())


def check_offers(site: Site, why: dict[Any, list[str]]) -> None:
    found = offers.find(site.question(), offers.FlavorChoice(), world.QUOTA)
    of_flavor = [offer for offer in found.offers if offer.flavor.id == site.flavor.id]
    bookable = [s for s, e in why if not why[s, e] and e - s >= HOUR]
    assert bool(of_flavor) == bool(bookable)
    for offer in of_flavor:
        assert codes(site.request(offer.span)) == []
        longer = Span(offer.span.start, offer.span.end + site.grid.step)
        assert longer.end > WINDOW.end or codes(site.request(longer))
    check_missing(site, found.missing, why)


def check_missing(site: Site, missing: Iterable[NotOffered], why: dict[Any, list[str]]) -> None:
    for each in missing:
        if each.flavor.id == site.flavor.id:
            assert any(each.why.code in refusals for refusals in why.values())


def check_dry_run(
    site: Site, span: Span, foreseen: dry_run.Foreseen, why: dict[Any, list[str]]
) -> None:
    assert sorted(error.code for error in foreseen.refusals) == sorted(why[key(span)])
    length, start = span.end - span.start, foreseen.next_start
    starts = [s for s, e in why if e - s == length and s >= span.start and not why[s, e]]
    if start is None:
        assert starts == []
    else:
        assert codes(site.request(Span(start, start + length))) == []
        assert all(start <= each for each in starts)
    if foreseen.longest:
        longest = span.start + foreseen.longest
        assert codes(site.request(Span(span.start, longest))) == []
        if longest < WINDOW.end:
            assert codes(site.request(Span(span.start, longest + site.grid.step)))
    # What is shorter than all spans that were tried may be free all the same.
    least = min(e - s for s, e in why)
    assert (foreseen.longest >= least) == any(
        s == span.start and not refusals for (s, _), refusals in why.items()
    )
    assert foreseen.most == most(site, span)


def most(site: Site, span: Span) -> int:
    return next((n for n in (6, 5, 4, 3, 2, 1) if not codes(site.request(span, n))), 0)


def check_availability(site: Site, why: dict[Any, list[str]]) -> None:
    question = dataclasses.replace(site.question(2 * HOUR), count=1)
    found, missing = availability.find(question, offers.FlavorChoice(), HOUR, starts=True)
    parts = {
        key(part.span): part
        for each in found
        if each.flavor.id == site.flavor.id
        for part in each.parts
    }
    counted = {span: part.instances for span, part in parts.items()}
    for hour in range(0, HORIZON, 3):
        span = world.hours(hour, hour + 1)
        wanted = next(
            (n for n in (6, 5, 4, 3, 2, 1) if not {*codes(site.request(span, n))} - QUOTA), 0
        )
        assert counted.get(key(span), 0) == wanted
        if part := parts.get(key(span)):
            assert (part.reason is None) == (wanted > 0)
            assert part.reason is None or part.reason in codes(site.request(span, 1))
            begins = not {*codes(site.request(Span(span.start, span.end + HOUR), 1))} - QUOTA
            assert part.can_start or not begins
            assert begins or not part.can_start or site.grid.step < HOUR
    check_missing(site, missing, why)
    if site.flavor.active:
        assert bool(counted) != any(each.flavor.id == site.flavor.id for each in missing)


QUOTA = {"quota_exceeded"}


def check_waits(site: Site, foreseen: dict[Span, dry_run.Foreseen]) -> None:
    """A wait is what could be booked if nothing was booked and closed."""
    waited = {span: can_wait(site, span) for span in foreseen}
    for lease in site.leases:
        db_api.lease_destroy(lease.id)
    every, _ = maintenance_windows.listing(None, 0, project_id=None, everything=True)
    for window in every:
        maintenance_windows.delete(window.id)
    if site.closed:
        db_api.host_update(site.closed, {"reservable": True})
    alone = {span: codes(site.request(span)) for span in site.grid.spans}
    for span, of_span in foreseen.items():
        assert waited[span] == (not {*alone[span]} - QUOTA)
        length, start = span.end - span.start, of_span.wait_start
        starts = [s.start for s in alone if s.end - s.start == length and not alone[s]]
        first = min((each for each in starts if each >= span.start), default=None)
        if start is None:
            assert not of_span.refusals or first in (None, of_span.next_start)
        else:
            assert codes(site.request(Span(start, start + length))) == []
            assert of_span.refusals
            assert first is None or start <= first


def can_wait(site: Site, span: Span) -> bool:
    """Whether one can wait for exactly this time."""
    wait = Wait(
        id="w",
        project_id=world.PROJECT,
        user_id="u",
        flavor_id=site.flavor.id,
        category=None,
        instance_count=site.count,
        length=span.end - span.start,
        window=span,
        created_at=world.NOW,
        expires_at=span.start,
        affinity=site.affinity,
    )
    try:
        return waits.foresee(wait, 9, frozenset()).position == 1
    except exceptions.WarreError as error:
        assert error.code in verdict.CODES
        return False


@SITES
def test_views_of_an_extension_agree(cloud: Cloud, seed: int) -> None:
    check_extension(a_site(random.Random(seed), cloud, HOURS))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 108))
def test_views_of_an_extension_agree_in_every_minute(cloud: Cloud, seed: int) -> None:
    check_extension(a_site(random.Random(seed), cloud, MINUTES))


def check_extension(site: Site) -> None:
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

    steps = (HORIZON + 2) * (HOUR // site.grid.step)
    ends = [span.end + n * site.grid.step for n in range(steps)]
    allowed = [end for end in ends if not refusals(end)]
    if found.end < ends[-1]:
        assert found.end == allowed[-1]
        assert found.stop is not None
        assert found.stop.code in refusals(found.end + site.grid.step)
