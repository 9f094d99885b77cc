"""What a dry run says to be possible is accepted, and nothing beyond it."""

import dataclasses
import datetime
import random

import pytest

from tests.fakes.cloud import Cloud
from tests.functional.db import world
from warre_blazar.domain.booking.quota import Amount
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions
from warre_blazar.services.booking import admission, changing, dry_run, lookup
from warre_blazar.services.maintenance import maintenance_windows
from warre_blazar.services.running import backing

pytestmark = pytest.mark.usefixtures("database")

hours = world.hours
LONGEST = 12


def fill(chance: random.Random, cloud: Cloud) -> tuple[Flavor, list[world.Lease]]:
    """Add hosts, a flavor and random bookings and windows within two days."""
    for name in "ab":
        world.add_host(cloud, name, vcpus=chance.choice([4, 6]))
    flavor = world.add_flavor(slots=4, max_length_hours=LONGEST)
    other = world.add_flavor(slots=9)
    start = chance.randint(10, 40)
    maintenance_windows.create(hours(start, start + 3), None, [flavor.id], world.NOW)
    leases = []
    for _ in range(12):
        start = chance.randint(1, 40)
        span = hours(start, start + chance.randint(1, LONGEST))
        request = world.request(
            chance.choice([flavor, other]), span, chance.randint(1, 2), rule=world.QUOTA
        )
        try:
            lease = world.plan(request)
        except exceptions.WarreError:
            continue
        if request.flavor == flavor.id:
            leases.append(lease)
    return flavor, leases


def is_accepted(request: admission.BookingRequest) -> bool:
    try:
        admission.check(request)
    except exceptions.WarreError:
        return False
    return True


@pytest.mark.same_logic
@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.whole) for n in (1, 2))])
def test_alternatives_of_a_booking_are_exact(cloud: Cloud, seed: int):
    chance = random.Random(seed)
    cloud.keystone.limits = {
        (world.PROJECT, "reservation"): -1,
        (world.PROJECT, "hours"): chance.choice([-1, 200]),
    }
    flavor, _ = fill(chance, cloud)
    for _ in range(3):
        start, length = chance.randint(0, 50), chance.randint(1, LONGEST + 1)
        wish = world.request(
            flavor, hours(start, start + length), chance.randint(1, 5), rule=world.QUOTA
        )
        wish = dataclasses.replace(wish, affinity=chance.choice([None, None, True, False]))

        def at(begin: float, end: float, count: int, wish=wish) -> bool:
            return is_accepted(dataclasses.replace(wish, span=hours(begin, end), count=count))

        foreseen = dry_run.booking(wish)
        assert bool(foreseen.refusals) == (not is_accepted(wish))
        starts = (h for h in range(start, start + 60) if at(h, h + length, wish.count))
        first = next(starts, None)
        assert foreseen.next_start == (None if first is None else hours(first, first).start)
        lengths = (h for h in range(LONGEST, 0, -1) if at(start, start + h, wish.count))
        assert foreseen.longest.total_seconds() / 3600 == next(lengths, 0)
        counts = (n for n in range(5, 0, -1) if at(start, start + length, n))
        assert foreseen.most == next(counts, 0)


@pytest.mark.parametrize("begun", [False, True], ids=["before the start", "after the start"])
@pytest.mark.same_logic
@pytest.mark.parametrize("seed", range(2))
def test_alternatives_of_a_change_are_exact(cloud: Cloud, seed: int, begun: bool):
    """Each way is tried by a dry run of its own, whose refusals are those of the change."""
    flavor, leases = fill(random.Random(seed), cloud)
    if not leases:
        pytest.skip("nothing was booked")
    lease = leases[0]
    now = world.NOW
    if begun:
        backing.make_planned(lease.reservation_id)
        world.begin(lease)
        now = lease.span.start
    reservation, _ = lookup.get(lease.reservation_id, None)
    conditions, held = world.conditions(), reservation.instance_count

    def foreseen(span: Span, count: int) -> dry_run.Foreseen:
        outcome = changing.foresee(reservation, span, count, conditions, now)
        return dry_run.change(outcome, flavor, conditions, now)

    def lasting(length: int) -> dry_run.Foreseen:
        end = lease.span.start + datetime.timedelta(hours=length)
        return foreseen(Span(lease.span.start, end), held)

    longest = next(h for h in range(LONGEST, 0, -1) if not lasting(h).refusals)
    for length in (1, LONGEST):
        said = lasting(length)
        assert said.cost == Amount(0, max(length * held - reservation.amount.hours, 0))
        assert said.longest.total_seconds() / 3600 == longest
        assert bool(said.refusals) == (length > longest)
