"""Each call to a service, in each step, meets each kind of fault.

``doc/source/faults.rst`` prints the matrix. By default, a run tries one of 13 cells, always the
same ones. With ``WARRE_FAULTS=all`` it tries all cells, and with ``WARRE_FAULTS=write`` it also
writes the matrix anew.
"""

import dataclasses
import datetime
import itertools
import json
import os
import pathlib
from collections.abc import Callable

import pytest
import sqlalchemy as sa
from blazar.db import api as db_api
from oslo_limit import limit as oslo_limit
from oslo_utils import timeutils

from tests.fakes.cloud import Cloud
from tests.functional.db import databases, oversold, world
from tests.functional.db.faults import Call, Fault, Killed, Outside
from tests.functional.db.managers import OVER, RUNNING, WAITING, Manager, state
from tests.functional.db.outage import fail, hosts_of, recover
from warre_blazar import times
from warre_blazar.db import session, tables
from warre_blazar.domain.running import backing_names
from warre_blazar.errors import exceptions
from warre_blazar.openstack import caches
from warre_blazar.services.audit import looking
from warre_blazar.services.moves import failed_hosts
from warre_blazar.services.running import backing, blazar_start_end
from warre_blazar.services.running.repair import Repairer

# The calls to the services don't depend on the kind of database.
pytestmark = pytest.mark.parametrize("kind", ["sqlite"], indirect=True, scope="session")

WHOLE = os.environ.get("WARRE_FAULTS")
#: A short run tries one of this many cells. The number has no divisor in common with the number of
#: faults, so that a short run includes each kind of fault.
_SHARE = 13

FILE = pathlib.Path(__file__).parents[3] / "doc/source/_ext/fault_matrix.json"
SPAN = world.hours(1, 3)
MOVED = world.hours(1, 4)
PATIENCE = 60.0
#: Blazar's own plugins serve its own types.
STOCK = looking.StockTypes(lambda count: PATIENCE * count, are_exact=False)
STEP = datetime.timedelta(seconds=30)
#: After this many polls everything must be at rest.
POLLS = 6


class Site:
    """A database and a cloud, with a manager that can be killed and started again."""

    def __init__(self, cloud: Cloud, outside: Outside) -> None:
        self.cloud = cloud
        self.outside = outside
        self.now = world.NOW
        # The first host is the one that is chosen; the second is for when it fails.
        self.hosts = [_host(cloud, name) for name in ("a", "b")]
        self.flavor = world.add_flavor(slots=1)
        self.start_manager()

    def start_manager(self) -> None:
        """Start a new process. Of the one before, only what it has written is left."""
        with session.writer() as db:
            db.execute(tables.managers.update().values(heartbeat=world.LONG_AGO))
        caches.forget()
        oslo_limit._SDK_CONNECTION = None
        self.manager = Manager()
        self.seconds = 0.0
        self.repairer = Repairer(lambda count: PATIENCE * count, lambda: self.seconds)

    def go_to(self, now: datetime.datetime) -> None:
        self.now = now
        timeutils.set_time_override(now)

    def run(self, now: datetime.datetime) -> None:
        """Do what the executor does at this moment."""
        self.go_to(now)
        self.manager.executor.beat()
        self.manager.executor.claim(now)
        self.manager.executor.begin_due(now)

    def poll(self) -> None:
        """Do what a manager does periodically, and let time pass."""
        self.go_to(self.now + STEP)
        self.seconds += STEP.total_seconds()
        self.repairer.look(self.now, thorough=True)
        self.run(self.now)
        backing.make_ahead(self.now)
        backing.reconcile()

    def differences(self) -> list[str]:
        """The differences that the audit finds at this moment."""
        seen = looking.look(self.now, lambda count: PATIENCE * count, STOCK)
        assert not seen.away
        return [difference.text for difference in seen.differences]

    def book(self) -> world.Lease:
        return world.plan(world.request(self.flavor, SPAN, rule=world.QUOTA))

    def started(self) -> world.Lease:
        lease = self.book()
        self.run(SPAN.start - datetime.timedelta(seconds=5))
        self.run(SPAN.start)
        assert state(lease) == RUNNING
        self.cloud.nova.boot(backing_names.nova_flavor_id(lease.reservation_id), world.PROJECT)
        return lease


def _host(cloud: Cloud, name: str) -> str:
    host_id = world.add_host(cloud, name, vcpus=4)
    provider = cloud.placement.named(name)
    assert provider is not None
    for cls, total in {"VCPU": 4, "MEMORY_MB": 65536, "DISK_GB": 1000}.items():
        provider["inventories"][cls] = {"total": total, "reserved": 0, "allocation_ratio": 1.0}
    return host_id


State = tuple[str, str, str, str] | None


@dataclasses.dataclass(frozen=True)
class Step:
    """A step: an operation of a manager that calls services."""

    name: str
    #: Makes what the step needs. Returns the lease, or None if the step makes the lease.
    prepare: Callable[[Site], world.Lease | None]
    act: Callable[[Site, world.Lease | None], object]
    #: The lease's states in the end: those after success, and those after a failure.
    done: State
    undone: frozenset[State]
    #: Whether a user waits for an answer.
    has_answer: bool = True
    #: The lease's state when a request that hangs can't act any more, if that is another one.
    later: State = None


def move(site: Site, lease: world.Lease | None) -> object:
    assert lease is not None
    return world.move(lease, MOVED, rule=world.QUOTA)


def make(site: Site, lease: world.Lease | None) -> None:
    site.go_to(SPAN.start - times.MADE_AHEAD)
    backing.make_ahead(site.now)


def start(site: Site, lease: world.Lease | None) -> None:
    site.run(SPAN.start - datetime.timedelta(seconds=5))
    site.run(SPAN.start)


def end(site: Site, lease: world.Lease | None) -> None:
    site.run(SPAN.end)


def delete(site: Site, lease: world.Lease | None) -> None:
    """Delete a lease as Blazar's manager does."""
    assert lease is not None
    world.set_status(lease, "DELETING")
    blazar_start_end.end(lease.reservation_id, 5.0, None)
    db_api.lease_destroy(lease.id)


def stopped_deletion(site: Site) -> world.Lease:
    """A lease whose manager died during the deletion, long ago."""
    lease = site.started()
    world.set_status(lease, "DELETING")
    site.repairer.look(site.now, thorough=True)
    site.seconds += 2 * PATIENCE
    return lease


def repair(site: Site, lease: world.Lease | None) -> None:
    site.repairer.look(site.now, thorough=True)
    site.run(site.now)


def leftover(site: Site) -> None:
    """A lease that Blazar has deleted because another of its reservations couldn't be made."""
    lease = site.started()
    db_api.lease_destroy(lease.id)


def half_open(site: Site) -> world.Lease:
    lease = site.book()
    site.cloud.nova.fail(match="addTenantAccess|action", status=503)
    site.run(SPAN.start - datetime.timedelta(seconds=5))
    site.run(SPAN.start)
    site.cloud.mend()
    assert state(lease) == RUNNING
    return lease


def reconcile(site: Site, lease: world.Lease | None) -> None:
    backing.reconcile()


def on_failed_host(site: Site) -> world.Lease:
    lease = site.started()
    assert hosts_of(lease) == {site.hosts[0]: 1}
    fail(site.hosts[0])
    return lease


def heal(site: Site, lease: world.Lease | None) -> None:
    failed_hosts.heal(SPAN, world.conditions(), site.now)


STEPS = (
    Step("book", lambda site: None, lambda site, _: site.book(), WAITING, frozenset({None})),
    Step("move", lambda site: site.book(), move, WAITING, frozenset({WAITING})),
    Step("make", lambda site: site.book(), make, WAITING, frozenset(), False, RUNNING),
    Step("start", lambda site: site.book(), start, RUNNING, frozenset(), has_answer=False),
    Step("end", lambda site: site.started(), end, OVER, frozenset(), has_answer=False),
    Step("delete", lambda site: site.started(), delete, None, frozenset({None})),
    Step("repair", stopped_deletion, repair, None, frozenset(), has_answer=False),
    Step("reconcile: remove", leftover, reconcile, None, frozenset(), has_answer=False),
    Step("reconcile: open", half_open, reconcile, RUNNING, frozenset(), has_answer=False),
    Step("heal", on_failed_host, heal, RUNNING, frozenset(), has_answer=False),
)


@pytest.fixture
def outside(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> Outside:
    return Outside(cloud, monkeypatch)


@pytest.fixture
def site(database: sa.Engine, cloud: Cloud, outside: Outside):
    timeutils.set_time_override(world.NOW)
    yield Site(cloud, outside)


def answer_of(step: Step, site: Site, lease: world.Lease | None) -> str:
    """The answer that the user gets."""
    try:
        step.act(site, lease)
    except exceptions.WarreError as error:
        return error.code
    except Killed:
        return "no answer"
    return "done"


def the_lease(given: world.Lease | None) -> world.Lease | None:
    """The lease of the step, even if the step itself has made it."""
    if given is not None:
        return given
    rows = db_api.lease_list()
    assert len(rows) <= 1
    if not rows:
        return None
    (reservation,) = rows[0]["reservations"]
    return world.Lease(rows[0]["id"], reservation["id"], SPAN)


def state_of(lease: world.Lease | None) -> str:
    """A lease's state in one or two words, for people."""
    row = db_api.lease_get(lease.id) if lease is not None else None
    if row is None:
        return "gone"
    return f"{row['status']}, reservation {row['reservations'][0]['status']}"


def clear(site: Site) -> None:
    """Restore the initial state, except for the hosts and the flavor."""
    databases.delete_leases()
    with session.writer() as db:
        db.execute(tables.backings.delete())
        db.execute(tables.host_generations.delete())
    for host_id in site.hosts:
        recover(host_id)
    nova, placement = site.cloud.nova, site.cloud.placement
    for listed in (nova.flavors, nova.aggregates, nova.servers, placement.classes):
        listed.clear()
    for provider in placement.providers.values():
        if provider["name"].startswith("blazar_"):
            provider["inventories"].clear()
    assert site.cloud.leftovers() == {}
    site.go_to(world.NOW)
    site.start_manager()


def calls_of(step: Step, site: Site) -> list[Call]:
    """The calls that a run of the step makes, in order for each service.

    Calls to different services may run at the same time.
    """
    lease = step.prepare(site)
    now = site.now
    _forget_sessions()
    site.go_to(now)
    with site.outside.failing(None):
        assert answer_of(step, site, lease) == "done"
        calls = list(site.outside.calls)
    clear(site)
    return sorted(set(calls), key=lambda call: (call.service, calls.index(call)))


def _forget_sessions() -> None:
    """Drop the sessions, because a process that has just begun logs in too."""
    caches.forget()
    oslo_limit._SDK_CONNECTION = None


@dataclasses.dataclass(frozen=True)
class Cell:
    """A cell of the matrix: the result of a step, one of whose calls met a fault."""

    step: str
    call: str
    fault: str
    answer: str
    at_once: str
    in_the_end: str


def run_cell(step: Step, site: Site, call: Call, fault: Fault, engine: sa.Engine) -> Cell:
    """Run one cell of the matrix, and check everything that must hold in it."""
    clear(site)
    given = step.prepare(site)
    _forget_sessions()
    with site.outside.failing(call, fault):
        answer = answer_of(step, site, given)
        assert call in site.outside.calls
    where = (step.name, str(call), str(fault), answer)
    if not step.has_answer:
        answer = "—"
    killed = fault in (Fault.KILLED_BEFORE, Fault.KILLED_AFTER)
    lease = the_lease(given)
    at_once = state_of(lease)
    assert oversold.find(engine) == [], where
    if killed:
        site.start_manager()
    site.outside.act_late()
    for _ in range(POLLS):
        site.poll()
    if lease is not None and step.name == "move":
        world.age_promise(lease, 9999)
        site.poll()
    if fault is Fault.HANGS:
        site.go_to(site.now + times.ANSWER_MAY_BE_LATE)
        site.poll()
        step = dataclasses.replace(step, done=step.later or step.done)
    check(step, site, lease, answer, where)
    assert oversold.find(engine) == [], where
    return Cell(step.name, str(call), str(fault), answer, at_once, state_of(lease))


def check(
    step: Step, site: Site, lease: world.Lease | None, answer: str, where: tuple[str, ...]
) -> None:
    """Check everything that must hold in the end."""
    left = state(lease) if lease is not None else None
    if answer == "done" or not step.has_answer:
        assert left == step.done, (where, left)
    else:
        assert left in step.undone | {step.done}, (where, left)
    assert site.differences() == [], where
    if step.name == "heal" and lease is not None:
        assert hosts_of(lease) == {site.hosts[1]: 1}, where
    if step.name == "move" and lease is not None:
        row = db_api.lease_get(lease.id)
        ends = {MOVED.end} if answer == "done" else {SPAN.end, MOVED.end}
        assert row["end_date"] in ends, where


@pytest.mark.parametrize("step", STEPS, ids=[step.name.replace(" ", "-") for step in STEPS])
def test_step(database: sa.Engine, site: Site, step: Step):
    cells, failures = [], []
    for call, fault in itertools.islice(
        itertools.product(calls_of(step, site), Fault), 0, None, 1 if WHOLE else _SHARE
    ):
        try:
            cells.append(run_cell(step, site, call, fault, database))
        except AssertionError as failure:
            failures.append(f"{call}, {fault}: {failure}".partition("\nassert")[0])
    assert failures == []
    assert cells
    results = [dataclasses.asdict(cell) for cell in cells]
    if WHOLE == "write":
        known = json.loads(FILE.read_text()) if FILE.exists() else {}
        known[step.name] = results
        ordered = {s.name: known[s.name] for s in STEPS if s.name in known}
        FILE.write_text(json.dumps(ordered, indent=1) + "\n")
    written = json.loads(FILE.read_text())[step.name]
    assert written[:: 1 if WHOLE else _SHARE] == results
