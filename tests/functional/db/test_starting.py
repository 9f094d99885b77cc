"""Starts that are due at the same time: the others are begun with while one has its turn."""

from concurrent import futures

import pytest
from blazar.db import api as db_api
from oslo_db import exception as db_exc

from tests.fakes.cloud import Cloud
from tests.functional.db import world
from warre_blazar import exceptions
from warre_blazar.db import backings, hosts, session
from warre_blazar.services import backing, reservations, starting

pytestmark = [
    pytest.mark.usefixtures("database"),
    # On SQLite, where one writes at a time, each is started in its turn only.
    pytest.mark.parametrize("kind", ["mariadb", "postgresql"], indirect=True, scope="module"),
]

SPAN = world.hours(1, 3)


@pytest.fixture
def leases(cloud: Cloud) -> list[world.Lease]:
    """Three that are due at once, and one an hour later."""
    world.add_host(cloud, "a")
    flavor = world.add_flavor(slots=9)
    spans = [SPAN, SPAN, SPAN, world.hours(2, 3)]
    booked = [world.book(world.request(flavor, span)) for span in spans]
    for lease in booked[:3]:
        world.set_event(lease, "start_lease", "IN_PROGRESS")
    return booked


class Inline:
    """A pool that has everything done at once, after something else was."""

    def __init__(self) -> None:
        self.before = lambda: None

    def submit(self, what, *args) -> futures.Future[None]:
        self.before()
        done: futures.Future[None] = futures.Future()
        done.set_result(what(*args))
        return done


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> Inline:
    """One without threads, to say what happens when."""
    inline = Inline()
    monkeypatch.setattr(starting, "_pool", inline)
    return inline


def is_open(lease: world.Lease) -> bool:
    with session.reader() as db:
        found = backings.get(db, lease.reservation_id)
    return found is not None and found.open_done


def test_those_due_are_opened_with_the_first(cloud: Cloud, leases: list[world.Lease]):
    world.begin(leases[0])
    futures.wait(list(starting._under_way.values()), timeout=60)
    assert [is_open(lease) for lease in leases] == [True, True, True, False]
    before = len(cloud.nova.requests), len(cloud.placement.requests)
    for lease in leases[1:3]:
        world.begin(lease)
    # Nothing is left for their turns; and nothing of it is done twice.
    assert (len(cloud.nova.requests), len(cloud.placement.requests)) == before
    assert not starting._under_way
    for lease in leases:
        world.finish(lease)
    assert cloud.is_clean()


@pytest.mark.usefixtures("pool")
def test_one_that_cannot_be_opened_ahead_says_so_in_its_turn(
    leases: list[world.Lease],
):
    broken = leases[1]
    with session.writer() as db:
        backings.update(db, broken.reservation_id, aggregate_id=999)
    world.begin(leases[0])
    assert [is_open(lease) for lease in leases] == [True, False, True, False]
    with pytest.raises(exceptions.ServiceRefused):
        world.begin(broken)


@pytest.mark.usefixtures("pool")
def test_one_that_no_manager_has_taken_waits(leases: list[world.Lease]):
    """An end of the same minute comes before it."""
    world.set_event(leases[1], "start_lease", "UNDONE")
    world.begin(leases[0])
    assert [is_open(lease) for lease in leases] == [True, False, True, False]


@pytest.mark.usefixtures("pool")
def test_ahead_once_only(cloud: Cloud, leases: list[world.Lease]):
    """What failed, or another manager is at, isn't tried in every other's turn."""
    world.begin(leases[0])
    with session.writer() as db:
        for lease in leases[1:]:
            backings.update(db, lease.reservation_id, open_done=False)
    before = len(cloud.placement.requests)
    reservations.start(leases[0].reservation_id, SPAN.start)
    assert len(cloud.placement.requests) == before
    assert [is_open(lease) for lease in leases] == [True, False, False, False]


def test_no_more_than_are_worked_on(leases: list[world.Lease], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(starting, "_AT_ONCE", 1)
    world.begin(leases[0])
    futures.wait(list(starting._under_way.values()), timeout=60)
    assert sum(is_open(lease) for lease in leases) == 2


def test_the_database_fails_at_a_start(
    cloud: Cloud, leases: list[world.Lease], monkeypatch: pytest.MonkeyPatch
):
    """It starts all the same, and is opened once the database is back."""

    def fail(*_):
        raise db_exc.DBConnectionError

    with monkeypatch.context() as patched:
        patched.setattr(backings, "waiting", fail)
        world.begin(leases[0])
    assert not is_open(leases[0])
    db_api.reservation_update(leases[0].reservation_id, {"status": "active"})
    backing.reconcile()
    assert is_open(leases[0])


@pytest.mark.parametrize("status", ["UPDATING", "DELETING"])
def test_one_that_is_being_changed_is_let_be(
    cloud: Cloud, leases: list[world.Lease], pool: Inline, status: str
):
    """Blazar's mark comes after we looked who is due."""
    changed = leases[1]
    pool.before = lambda: world.set_status(changed, status)
    world.begin(leases[0])
    assert [is_open(lease) for lease in leases] == [True, False, True, False]
    (offered,) = cloud.placement.offered().values()
    opened = [backing.resource_class(leases[n].reservation_id) for n in (0, 2)]
    assert sorted(offered) == sorted(opened)


@pytest.mark.usefixtures("pool")
def test_one_that_is_being_opened_stays_where_it_is(leases: list[world.Lease]):
    """Nothing says yet that it is ACTIVE."""
    world.add_host(None, "b")
    mine = leases[1]
    world.begin(leases[0])
    (host_id,) = allocated(mine)
    world.add_stock([host_id], world.hours(3, 4), "physical:host")
    world.set_status(mine, "UPDATING")
    for span, refusal in {
        world.hours(1, 4): exceptions.HostsExhausted,
        world.hours(2, 3): exceptions.InvalidState,
    }.items():
        with pytest.raises(refusal):
            reservations.move(mine.reservation_id, span, world.terms(), SPAN.start)
    assert list(allocated(mine)) == [host_id]
    # Moved away before its time came, as others are: what was marked for its start doesn't bind.
    reservations.move(mine.reservation_id, world.hours(2, 3), world.terms(), world.NOW)


def allocated(lease: world.Lease) -> dict[str, int]:
    with session.reader() as db:
        return hosts.allocated(db, lease.reservation_id)
