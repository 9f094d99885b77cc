"""Those who wait are served once and in order, by managers in processes of their own."""

import datetime
import pathlib
from typing import Any

import pytest
import sqlalchemy as sa
from blazar.db import api as db_api
from oslo_utils import timeutils, uuidutils

from tests.fakes.cloud import Cloud
from tests.fakes.service import Request
from tests.functional.db import manager_process, own_processes, world
from warre_blazar.db import session, tables, waits
from warre_blazar.domain.timeline import Span
from warre_blazar.domain.waits import Wait, WaitState
from warre_blazar.plugins import change_records
from warre_blazar.services.running import blazar_start_end
from warre_blazar.services.waits import waits as posting

pytestmark = [
    pytest.mark.usefixtures("database"),
    # On SQLite, Blazar's own writes fail if two run at the same time.
    pytest.mark.parametrize("kind", ["mariadb"], indirect=True, scope="session"),
]

WAITING = 20
#: How many were served when a manager is killed.
BEFORE_KILL = 7
HOUR = datetime.timedelta(hours=1)


def started(config: str) -> Any:
    """A new manager process."""
    process = own_processes.context().Process(
        target=manager_process.run_whole, args=(config,), daemon=True
    )
    process.start()
    return process


def wait_of(number: int, flavor_id: str, span: Span, cloud: Cloud) -> Wait:
    """A wait for the only slot, by a user and a project that nobody else is."""
    user, project = f"user-{number}", f"project-{number}"
    cloud.keystone.users[user] = cloud.keystone.projects[project] = {"domain_id": "default"}
    cloud.keystone.roles[user, project] = ["member"]
    wait = Wait(
        id=uuidutils.generate_uuid(),
        project_id=project,
        user_id=user,
        flavor_id=flavor_id,
        category=None,
        instance_count=1,
        length=span.end - span.start,
        window=span,
        created_at=timeutils.utcnow().replace(microsecond=0),
        expires_at=span.start,
    )
    return posting.create(wait, 1, frozenset()).wait


def states(expected: list[Wait]) -> list[WaitState]:
    return [posting.get(each.id).state for each in expected]


def free(lease_id: str) -> None:
    """Delete a lease that hasn't begun, as Blazar does."""
    (reservation,) = db_api.lease_get(lease_id)["reservations"]
    blazar_start_end.end(reservation["id"], 5, None)
    db_api.lease_destroy(lease_id)


def has_turn() -> bool:
    with session.reader() as db:
        query = sa.select(tables.turns.c.name).where(tables.turns.c.name == "waits")
        return db.execute(query).first() is not None


@pytest.mark.whole
def test_each_is_booked_in_turn_although_a_manager_is_killed(
    database: sa.Engine, cloud: Cloud, tmp_path: pathlib.Path
):
    change_records.register_deletions()
    options = {
        **cloud.options(),
        "transport_url": "fake://",
        "database.connection": database.url.render_as_string(hide_password=False),
        "enforcement.enabled_filters": "StrictLeaseFilter",
        "manager.plugins": "flavor.slot.plugin",
        "warre.request_timeout": "5",
    }
    config = manager_process.written(tmp_path / "blazar.conf", options)
    world.add_host(cloud, "a")
    flavor = world.add_flavor(slots=1)
    start = timeutils.utcnow().replace(second=0, microsecond=0) + 24 * HOUR
    span = Span(start, start + 2 * HOUR)
    taken = world.plan(world.request(flavor, span, now=timeutils.utcnow()))
    world.settle(taken, None)
    line = [wait_of(number, flavor.id, span, cloud) for number in range(WAITING)]
    managers = [started(config)]
    killed: list[Request] = []

    def kill(request: Request) -> None:
        managers[0].kill()
        killed.append(request)

    def leases() -> list[str]:
        with session.reader() as db:
            return list(db.scalars(sa.select(tables.leases.c.id)))

    try:
        world.until(has_turn)
        managers += [started(config) for _ in range(2)]
        # The manager that has the turn asks for the roles just before it books.
        cloud.keystone.fail(then=kill, match="/role_assignments", first=BEFORE_KILL + 1, times=1)
        present = taken.id
        for number, wait in enumerate(line):
            free(present)
            world.until(lambda wait=wait: posting.get(wait.id).state is WaitState.BOOKED)
            rest = WAITING - number - 1
            assert states(line) == [WaitState.BOOKED] * (number + 1) + [WaitState.WAITING] * rest
            assert leases() == [wait.id]
            present = wait.id
    finally:
        for process in managers:
            process.kill()
            process.join()
    assert len(killed) == 1
    with session.reader() as db:
        assert not waits.is_any_open(db)
