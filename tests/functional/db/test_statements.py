"""The number of SQL statements of an operation doesn't grow with the number of rows."""

import contextlib
import datetime
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from tests.fakes.cloud import Cloud
from tests.functional.db import kept_beside_fresh, world
from warre_blazar.db import session, tables
from warre_blazar.db.booking import quotas as stored
from warre_blazar.db.booking.reservations import Filter
from warre_blazar.db.hosts import allocations, kept_hosts, reservable_hosts
from warre_blazar.db.running import executions
from warre_blazar.domain.running.execution import START
from warre_blazar.domain.slots import free_time
from warre_blazar.errors import exceptions
from warre_blazar.services.booking import admission, lookup, quotas
from warre_blazar.services.flavors import capacity, flavors
from warre_blazar.services.maintenance import maintenance_windows
from warre_blazar.services.running import backing
from warre_blazar.services.running import executor_transactions as transactions
from warre_blazar.services.slots import availability, free_slots, offers

# The comparison would read the providers of hosts, which a process reads only once.
pytestmark = [pytest.mark.usefixtures("database"), pytest.mark.uncompared]

SPAN = world.hours(1, 3)


@contextlib.contextmanager
def counted(engine: sa.Engine) -> Iterator[list[str]]:
    """Record the statements that are executed in a block."""
    statements: list[str] = []

    def note(connection, cursor, statement, *rest) -> None:
        if kept_beside_fresh.READS in connection.get_execution_options():
            return
        if statement != "BEGIN":  # Only on SQLite, this is a statement too.
            statements.append(statement)

    sa.event.listen(engine, "before_cursor_execute", note)
    yield statements
    sa.event.remove(engine, "before_cursor_execute", note)


def fill(engine: sa.Engine, host_count: int, reservation_count: int) -> None:
    """Add hosts with a property each, and reservations of another type on each of them."""
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
                tables.instance_reservations.insert().values(
                    id=lease.reservation_id, **ours, **usage
                )
            )
            connection.execute(
                tables.allocations.insert(),
                [{"id": f"{h}-{lease.id}"[:36], "compute_host_id": h, **ours} for h in host_ids],
            )
    with session.writer() as db:
        world.outdate_hosts(db)
    # A process reads the providers of new hosts once, all in one more statement.
    with counted(engine) as first, session.reader() as db:
        reservable_hosts.empty(db)
    with counted(engine) as second, session.reader() as db:
        reservable_hosts.empty(db)
    assert (len(first), len(second)) == (3, 2)


def statements(engine: sa.Engine, flavor) -> tuple[int, int]:
    """The numbers of statements of one read of all hosts, and of one admission."""
    with counted(engine) as looking, session.reader() as db:
        allocations.matching_hosts(db, flavor.id, lambda h: h.matches(flavor.shape, None))
    with counted(engine) as checking, contextlib.suppress(exceptions.WarreError):
        admission.check(world.request(flavor, SPAN))
    return len(looking), len(checking)


def test_statements_of_an_admission_do_not_grow_with_rows(database: sa.Engine):
    flavor = world.add_flavor(properties='["==", "$gpu", "a100"]')
    fill(database, 1, 1)
    few = statements(database, flavor)
    fill(database, 49, 19)
    assert statements(database, flavor) == few
    looking, checking = few
    assert looking <= 4
    assert checking <= 4


def life(engine: sa.Engine, flavor) -> dict[str, int]:
    """The number of statements of each step in a reservation's life."""
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


def test_statements_of_a_reservations_life_do_not_grow_with_rows(database: sa.Engine, cloud: Cloud):
    flavor = world.add_flavor(slots=99, properties='["==", "$gpu", "a100"]')
    fill(database, 2, 1)
    for number in range(50):
        cloud.add_host(f"host-{number}")
    life(database, flavor)  # The first claim of a host inserts a row, which later claims update.
    few = life(database, flavor)
    fill(database, 48, 19)
    assert life(database, flavor) == few


def starting(engine: sa.Engine, count: int) -> int:
    """The number of statements that write the starts of reservations."""
    flavor = world.add_flavor(slots=count)
    made = [world.book(world.request(flavor, SPAN)).id for _ in range(count)]
    session.change(executions.beat, "manager", "host")
    claimed = transactions.claim(made, START, "manager", SPAN.start, False)
    started = []
    for each in claimed:
        opened = {i: backing.prepare(i) for i in each.reservation_ids}
        assert all(backing.give_access(i, prepared) for i, prepared in opened.items())
        started.append(transactions.Started(each, opened))
    with counted(engine) as statements:
        transactions.finish_starts(started, "manager")
    return len(statements)


def test_statements_of_starts_do_not_grow_with_their_number(database: sa.Engine, cloud: Cloud):
    world.add_host(cloud, "a", vcpus=99)
    assert starting(database, 1) == starting(database, 9) < 30


def offer(count: int) -> None:
    """Add private flavors with access, a booking, and a window for it and all earlier flavors."""
    made = [world.add_flavor(is_public=False, slots=4) for _ in range(count)]
    for number, flavor in enumerate(made):
        flavors.grant_access(flavor.id, world.PROJECT)
        world.book(world.request(flavor, SPAN))
        closed = [f.id for f in made[: number + 1]]
        maintenance_windows.create(world.hours(10 + number, 11 + number), "note", closed, world.NOW)


WHOLE = {"limit": None, "offset": 0}
OWN: dict[str, Any] = {"project_id": world.PROJECT, "everything": False}


def lists() -> dict[str, Callable[[], tuple[list[Any], int]]]:
    """The listings of each resource: without a limit, and with one."""
    return {
        "flavors": lambda: flavors.listing(**OWN, filters={}, **WHOLE),
        "flavors, page": lambda: flavors.listing(**OWN, filters={}, limit=2, offset=0),
        "access": lambda: flavors.accesses({}, None, 0),
        "reservations": lambda: lookup.listing(Filter()),
        "reservations, own": lambda: lookup.listing(
            Filter(project_id=world.PROJECT), limit=2, sort="created_at", descending=True
        ),
        "windows": lambda: maintenance_windows.listing(
            None, 0, project_id=world.PROJECT, everything=False
        ),
    }


def shows() -> dict[str, Callable[[], Any]]:
    """Reads of one object of each resource, with the most rows behind it, and computed values."""
    first_pages = {name: listing()[0] for name, listing in lists().items()}
    flavor = first_pages["flavors"][0]
    question = free_time.Question(
        flavor=flavor.id,
        **OWN,
        count=1,
        window=world.hours(0, 100),
        now=world.NOW,
        cleaning=world.NO_CLEANING,
    )
    return {
        "flavor": lambda: flavors.get(flavor.id, **OWN),
        "access": lambda: flavors.get_access(first_pages["access"][-1].id),
        "reservation": lambda: lookup.get(first_pages["reservations"][-1][0].id, None),
        "window": lambda: maintenance_windows.get(
            first_pages["windows"][-1].id, project_id=world.PROJECT, everything=False
        ),
        "usage": usage,
        "limits of all projects": lambda: quotas.of_all_projects(world.QUOTA),
        "free slots": lambda: free_slots.find(question),
        "why not free": lambda: free_slots.why_none(question),
        "offers": lambda: offers.find(question, offers.FlavorChoice(), world.NO_QUOTA),
        "availability": lambda: availability.find(
            question, offers.FlavorChoice(), datetime.timedelta(days=1)
        ),
        "bookable hosts": lambda: capacity.bookable_hosts(first_pages["flavors"]),
    }


def usage() -> Any:
    with session.reader() as db:
        return stored.usage_by_project(db, ["flavor:slot"])


def counts(engine: sa.Engine, asked: dict[str, Callable[[], Any]]) -> dict[str, int]:
    """By operation, the number of statements."""
    numbers = {}
    for name, ask in asked.items():
        with counted(engine) as statements:
            ask()
        numbers[name] = len(statements)
    return numbers


def test_statements_of_api_reads_do_not_grow_with_rows(database: sa.Engine, cloud: Cloud):
    world.add_host(cloud, "big", vcpus=1000, memory_mb=10**7, disk_gb=10**6)
    offer(2)

    def read() -> list[dict[str, int]]:
        kept_hosts.forget()
        return [counts(database, lists()), counts(database, shows())]

    few = read()
    offer(58)
    totals = {name: listing()[1] for name, listing in lists().items()}
    assert set(totals.values()) == {60}
    assert read() == few
    listing, showing = few
    assert max(listing.values()) < 6
    assert max(showing.values()) < 16
