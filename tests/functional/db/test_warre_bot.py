"""The leases for which Warre's user must stay in Keystone."""

import json
from collections.abc import Callable

import pytest
from blazar.db import api as db_api

from tests.functional.db import warre_site, world
from tests.functional.db.managers import Manager
from tests.functional.db.warre_scene import Said, Scene
from tests.functional.db.warre_site import ACTIVE, ALPHA, THIRD, TWO, day
from warre_blazar import warre_import
from warre_blazar.domain.timeline import Span

pytestmark = [
    pytest.mark.parametrize("kind", ["mariadb"], indirect=True, scope="session"),
    pytest.mark.usefixtures("database"),
]


def needing() -> list[str]:
    """The ids of the leases that need the bot."""
    return [lease.id for lease in warre_import.needs_bot().leases]


def test_leases_of_warre_need_its_bot_until_they_are_adopted(scene: Scene):
    assert set(needing()) == {lease.id for lease in scene.leases.values()}
    world.write_lease(scene.leases[TWO].id, {"status": "ERROR"})
    scene.take_over()
    assert needing() == [scene.leases[TWO].id]
    world.write_lease(scene.leases[TWO].id, {"status": "TERMINATED"})
    assert needing() == []


def test_leases_of_others_do_not_need_the_bot(scene: Scene):
    scene.take_over()
    lease = warre_site.book(scene.cloud, "mine", ALPHA, Span(day(27), day(28)), 1)
    assert needing() == [lease.id]
    world.write_lease(lease.id, {"user_id": "user-alpha"})
    assert needing() == []


def test_import_that_can_be_undone_needs_the_bot(scene: Scene):
    assert not warre_import.needs_bot().can_be_undone
    scene.take_over()
    assert warre_import.needs_bot().can_be_undone
    Manager().run(day(24))
    assert not warre_import.needs_bot().can_be_undone


def test_command_lists_the_leases_that_need_the_bot(scene: Scene, run: Callable[..., Said]):
    world.write_lease(scene.leases[THIRD].id, {"status": "ERROR"})
    scene.take_over()
    listed = run("--needs-bot")
    assert listed.status == 0, listed
    third = scene.leases[THIRD].id
    assert f"lease {third} (Reservation {THIRD}), ERROR, of user {warre_site.BOT}" in listed.out
    assert "can still be undone" in listed.out
    assert scene.leases[ACTIVE].id not in listed.out
    document = json.loads(run("--needs-bot", "--json").out)
    assert [lease["id"] for lease in document["leases"]] == [third]
    Manager().run(day(24))
    db_api.lease_destroy(third)
    assert run("--needs-bot").out == "No lease needs Warre's bot.\n"
