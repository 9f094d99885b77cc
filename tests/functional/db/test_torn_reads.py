"""A job that reads in several statements decides as if it had read everything at once.

On PostgreSQL each statement sees what was committed before it. So a generation must be read before
what it guards. Otherwise a job overlooks a change between the two reads, although it has read the
change's generation. Here each job is interrupted before each of its reads, and another job is done
there as a whole.
"""

import contextlib
import dataclasses
import functools
import itertools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from tests.fakes.cloud import Cloud
from tests.functional.db import databases, oversold, races, world
from tests.functional.db.outage import book_on, booked_on, fail, heal
from warre_blazar.db import session
from warre_blazar.db.booking import quotas
from warre_blazar.db.hosts import kept_hosts
from warre_blazar.domain.hosts.host_marks import Drain
from warre_blazar.domain.maintenance import Outcome, OverBookings
from warre_blazar.errors import exceptions
from warre_blazar.services.booking import admission
from warre_blazar.services.maintenance import over_bookings
from warre_blazar.services.moves import drained_hosts

pytestmark = pytest.mark.usefixtures("database")

hours = world.hours
#: What the project may hold: the two leases of the scene and one more of these.
LIMIT = 12
CONDITIONS = dataclasses.replace(world.conditions(rule=world.QUOTA), moves=10)


@dataclasses.dataclass
class Scene:
    """Two hosts for two instances each, with a lease of one instance on each of them."""

    hosts: list[str]
    flavor: Any
    #: Another flavor of the same size.
    other: Any
    #: A flavor whose instances need a whole host.
    large: Any
    leases: list[world.Lease]
    #: The reservations that a window or a drain has left on the first host. None: there is none.
    left: set[str] | None = None

    def book(self, flavor: Any) -> None:
        wish = world.request(flavor, hours(10, 14))
        wish = dataclasses.replace(wish, conditions=CONDITIONS)
        admission.book(world.add_lease(wish.span).reservation_id, wish)

    def book_same(self, _: world.Lease) -> None:
        self.book(self.flavor)

    def book_other(self, _: world.Lease) -> None:
        self.book(self.other)

    def squeeze(self, _: world.Lease) -> None:
        """Book a whole host, for which a reservation has to leave it."""
        self.book(self.large)

    def extend(self, lease: world.Lease) -> None:
        world.move(lease, hours(10, 18), rule=world.QUOTA)

    def grow(self, lease: world.Lease) -> None:
        world.move(lease, hours(10, 14), rule=world.QUOTA, count=2)

    def heal(self, _: world.Lease) -> None:
        fail(self.hosts[1])
        heal()

    def close(self, _: world.Lease) -> None:
        self.left = set()
        over = over_bookings.OverBookingsRequest(OverBookings.MOVE, CONDITIONS, world.NOW, "op")
        _, met = over_bookings.create(hours(8, 20), "fans", [], self.hosts[:1], over)
        left = [each.reservation for each in met if each.outcome is Outcome.LEFT]
        self.left |= {reservation.reservation_id for reservation in left}

    def drain(self, _: world.Lease) -> None:
        self.left = set()
        marked = Drain("op", world.NOW, "fans")
        drained = drained_hosts.drain(self.hosts[0], marked, CONDITIONS, world.NOW)
        self.left |= {each.on_host.reservation_id for each in drained.left}

    def faults(self, engine: sa.Engine) -> list[str]:
        found = oversold.find(engine)
        if self.left is not None:
            unlisted = booked_on(engine, self.hosts[0]) - self.left
            found += [f"{each} is on the host, and isn't listed" for each in unlisted]
        with session.reader() as db:
            used = quotas.usage(db, world.PROJECT, {"flavor:slot"})
        if used.hours > LIMIT:
            found.append(f"{used.hours} of {LIMIT} hours")
        return found


#: The jobs that don't wait for the lock on another job's lease.
NO_LOCKS = frozenset({"book_same", "book_other", "extend", "grow"})
JOBS = ("book_same", "book_other", "squeeze", "extend", "grow", "heal", "close", "drain")


@pytest.fixture
def scene(cloud: Cloud) -> Scene:
    """The scene. Its reservations hold two thirds of the project's hours."""
    cloud.keystone.limits[world.PROJECT, "hours"] = LIMIT
    ids = [world.add_host(cloud, name, vcpus=4) for name in ("a", "b")]
    flavor, other, large = (world.add_flavor(slots=3, vcpu=vcpu) for vcpu in (2, 2, 4))
    leases = [book_on(host_id, flavor, hours(10, 14)) for host_id in ids]
    return Scene(ids, flavor, other, large, leases)


@contextlib.contextmanager
def interrupted(
    engine: sa.Engine, at: int, by: Callable[[], Any], *, locks_matter: bool
) -> Iterator[list[int]]:
    """Do something as a whole before a read of this thread, in a thread of its own.

    Only reads of transactions that haven't written count, because the other thread could wait for
    what a transaction has written.

    :param at: which read it is, counted from 1.
    :param locks_matter: whether the other thread could also wait for rows that were only locked.
    :returns: a list that is no longer empty once the job has come to this read.
    """
    here, reads, reached = threading.get_ident(), itertools.count(1), []
    has_written = threading.local()

    def begins(_: Any) -> None:
        has_written.value = False

    def executes(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        is_read = statement.lstrip("( ").startswith(("SELECT", "WITH"))
        locks = locks_matter and " FOR " in statement
        has_written.value = has_written.value or not is_read or locks
        if threading.get_ident() == here and not has_written.value and next(reads) == at:
            reached.append(at)
            other = threading.Thread(target=by)
            other.start()
            other.join()

    sa.event.listen(engine, "begin", begins)
    sa.event.listen(engine, "before_cursor_execute", executes)
    try:
        yield reached
    finally:
        sa.event.remove(engine, "begin", begins)
        sa.event.remove(engine, "before_cursor_execute", executes)


def pairs() -> Iterator[Any]:
    """Each job with each other one. An eighth of the pairs, with all jobs in it, runs each time."""
    for (a, job), (b, other) in itertools.product(enumerate(JOBS), repeat=2):
        marks = () if (a + b) % 8 == 0 else pytest.mark.whole
        yield pytest.param(job, other, marks=marks)


@pytest.mark.parametrize("kind", ["postgresql"], indirect=True)
@pytest.mark.parametrize(("job", "other"), list(pairs()))
def test_what_is_done_between_two_reads_of_a_job_is_not_overlooked(
    database: sa.Engine,
    scene: Scene,
    monkeypatch: pytest.MonkeyPatch,
    job: str,
    other: str,
    stride: int,
):
    races.unlock(monkeypatch)
    rows, refusals = databases.dump(database), []

    def do(name: str, lease: world.Lease) -> None:
        try:
            getattr(scene, name)(lease)
        except exceptions.WarreError as error:
            refusals.append(error)

    for read in range(1, 200, stride):
        act = functools.partial(do, other, scene.leases[1])
        with interrupted(database, read, act, locks_matter=other not in NO_LOCKS) as reached:
            do(job, scene.leases[0])
        assert scene.faults(database) == [], (read, refusals)
        if not reached:
            assert read > 1, "the job was never interrupted"
            return
        databases.empty(database)
        databases.put_back(database, rows)
        # The generations of the hosts are again those of other rows.
        kept_hosts.forget()
        scene.left = None
        refusals.clear()
    pytest.fail("the job has more reads")
