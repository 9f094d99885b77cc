"""How many SQL statements things take: a number that doesn't grow with the rows."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from blazar.db.sqlalchemy import models as blazar

from tests.fakes.cloud import Cloud
from tests.functional.db import world
from warre_blazar import exceptions
from warre_blazar.db import hosts, session
from warre_blazar.db import quotas as stored
from warre_blazar.services import access, flavors, freeslots, quotas, reservations, windows

pytestmark = pytest.mark.usefixtures("database")

SPAN = world.hours(1, 3)


@contextlib.contextmanager
def counted(engine: sa.Engine) -> Iterator[list[str]]:
    """The statements of a block."""
    found: list[str] = []

    def note(connection, cursor, statement, *rest) -> None:
        if statement != "BEGIN":  # which only SQLite is sent like this
            found.append(statement)

    sa.event.listen(engine, "before_cursor_execute", note)
    yield found
    sa.event.remove(engine, "before_cursor_execute", note)


def fill(engine: sa.Engine, host_count: int, reservation_count: int) -> None:
    """Hosts with a property each, and reservations of another type on every one of them."""
    host_ids = [
        world.add_host(None, f"host-{n}", properties={"gpu": "a100"}) for n in range(host_count)
    ]
    leases = [
        world.add_lease(SPAN, resource_type="virtual:instance") for _ in range(reservation_count)
    ]
    usage = {"vcpus": 1, "memory_mb": 1, "disk_gb": 1, "amount": 1}
    with engine.begin() as connection:
        for lease in leases:
            ours = {"reservation_id": lease.reservation_id}
            connection.execute(
                blazar.InstanceReservations.__table__.insert().values(
                    id=lease.reservation_id, **ours, **usage
                )
            )
            connection.execute(
                blazar.ComputeHostAllocation.__table__.insert(),
                [{"id": f"{h}-{lease.id}"[:36], "compute_host_id": h, **ours} for h in host_ids],
            )


def statements(engine: sa.Engine, flavor) -> tuple[int, int]:
    """Of one look at all hosts, and of one admission."""
    with counted(engine) as looking, session.reader() as db:
        hosts.snapshot(db, flavor.id, flavor.shape, SPAN)
    with counted(engine) as checking, contextlib.suppress(exceptions.WarreError):
        reservations.check(world.request(flavor, SPAN))
    return len(looking), len(checking)


def test_one_or_many_hosts_and_reservations(database: sa.Engine):
    flavor = world.add_flavor(properties='["==", "$gpu", "a100"]')
    fill(database, 1, 1)
    few = statements(database, flavor)
    fill(database, 49, 19)
    assert statements(database, flavor) == few
    looking, checking = few
    assert looking <= 3
    assert checking < 7


def life(engine: sa.Engine, flavor) -> dict[str, int]:
    """Of a reservation's whole life."""
    made: list[world.Lease] = []

    def book() -> None:
        made.append(world.book(world.request(flavor, world.hours(1, 2))))

    steps = {
        "book": book,
        "extend": lambda: world.move(made[0], SPAN),
        "start": lambda: world.begin(made[0]),
        "end": lambda: world.finish(made[0]),
    }
    return counts(engine, steps)


def test_a_life_beside_few_or_many(database: sa.Engine, cloud: Cloud):
    flavor = world.add_flavor(slots=99, properties='["==", "$gpu", "a100"]')
    fill(database, 2, 1)
    for number in range(50):
        cloud.add_host(f"host-{number}")
    life(database, flavor)  # the first claim of a host writes the row that later ones change
    few = life(database, flavor)
    fill(database, 48, 19)
    assert life(database, flavor) == few


def offer(count: int) -> None:
    """Private flavors, each granted, booked, and in a window with all that came before it."""
    made = [world.add_flavor(is_public=False, slots=4) for _ in range(count)]
    for number, flavor in enumerate(made):
        access.grant(flavor.id, world.PROJECT)
        world.book(world.request(flavor, SPAN))
        closed = [f.id for f in made[: number + 1]]
        windows.create(world.hours(10 + number, 11 + number), "note", closed, world.NOW)


WHOLE = {"limit": None, "offset": 0}
OWN: dict[str, Any] = {"project_id": world.PROJECT, "everything": False}


def lists() -> dict[str, Callable[[], tuple[list[Any], int]]]:
    """Each noun's listing: everything, and as many as were asked for."""
    return {
        "flavors": lambda: flavors.listing(**OWN, filters={}, **WHOLE),
        "flavors, page": lambda: flavors.listing(**OWN, filters={}, limit=2, offset=0),
        "access": lambda: access.listing({}, None, 0),
        "reservations": lambda: reservations.listing(project_id=None, flavor_id=None, **WHOLE),
        "reservations, own": lambda: reservations.listing(
            project_id=world.PROJECT, flavor_id=None, limit=2, offset=0
        ),
        "windows": lambda: windows.listing(None, 0),
    }


def shows() -> dict[str, Callable[[], Any]]:
    """One of each noun, the one that most hangs on; and what is computed of all."""
    found = {name: listing()[0] for name, listing in lists().items()}
    flavor = found["flavors"][0]
    question = freeslots.Question(
        flavor=flavor.id,
        **OWN,
        count=1,
        window=world.hours(0, 100),
        now=world.NOW,
        cleaning=world.NO_CLEANING,
    )
    return {
        "flavor": lambda: flavors.get(flavor.id, **OWN),
        "access": lambda: access.get(found["access"][-1].id),
        "reservation": lambda: reservations.get(found["reservations"][-1][0].id, None),
        "window": lambda: windows.get(found["windows"][-1].id),
        "usage": usage,
        "limits of all projects": lambda: quotas.of_all_projects(world.QUOTA),
        "free slots": lambda: freeslots.find(question),
    }


def usage() -> Any:
    with session.reader() as db:
        return stored.usage_by_project(db, ["flavor:slot"])


def counts(engine: sa.Engine, asked: dict[str, Callable[[], Any]]) -> dict[str, int]:
    """How many statements each takes."""
    found = {}
    for name, ask in asked.items():
        with counted(engine) as statements:
            ask()
        found[name] = len(statements)
    return found


def test_two_or_sixty_of_every_noun(database: sa.Engine, cloud: Cloud):
    world.add_host(cloud, "big", vcpus=1000, memory_mb=10**7, disk_gb=10**6)
    offer(2)
    few = [counts(database, lists()), counts(database, shows())]
    offer(58)
    totals = {name: listing()[1] for name, listing in lists().items()}
    assert set(totals.values()) == {60}
    assert [counts(database, lists()), counts(database, shows())] == few
    listing, showing = few
    assert max(listing.values()) < 6
    assert max(showing.values()) < 16
