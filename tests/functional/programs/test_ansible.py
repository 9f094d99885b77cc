"""``contrib/ansible`` by ``ansible-playbook``, on the dev cloud."""

import datetime
import os
from pathlib import Path

import pytest

from tests.functional.cloud import world
from tests.functional.cloud.conftest import Offer
from tests.functional.cloud.people import Person
from tests.functional.cloud.waiting import until
from tests.programs import playbooks


def _soon(minutes: int) -> str:
    return (world.now() + datetime.timedelta(minutes=minutes)).isoformat()


def test_playbook_books_boots_and_extends(
    alpha: Person, offer: Offer, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
):
    """Each task runs twice. The second one finds nothing to do."""
    flavor, name = offer(), world.unique("playbook")
    booking = {"name": name, "flavor_id": flavor["name"], "start": _soon(2)}
    running = {**booking, "end": _soon(62), "wait": True}
    tasks = [
        playbooks.task("reservation_flavor_info", name=flavor["name"]),
        *[playbooks.task("reservation", **running)] * 2,
        playbooks.task("reservation", **{**running, "end": _soon(60 * 48)}),
        *[playbooks.task("reservation", **{**running, "end": _soon(122)})] * 2,
        playbooks.task("reservation_info", name=name),
    ]
    collections = playbooks.install_collection(tmp_path_factory.mktemp("collections"))
    flavors, made, same, refused, longer, again, shown = playbooks.play(
        tmp_path, collections, _login(alpha), *tasks
    )
    assert [each["id"] for each in flavors["flavors"]] == [flavor["id"]]
    changed = [each["changed"] for each in (made, same, longer, again)]
    assert changed == [True, False, True, False], (made, longer)
    assert refused["failed"]
    assert "max allowed is 24 hours" in refused["msg"]
    (reservation,) = shown["reservations"]
    assert made["reservation"]["id"] == reservation["id"]
    assert (made["reservation"]["status"], reservation["status"]) == ("ACTIVE", "ACTIVE")
    server = alpha.boots(reservation["compute_flavor"], world.unique("server"))
    assert until("a server", lambda: alpha.server_settles(server)).status == "ACTIVE"
    absent = playbooks.task("reservation", name=name, state="absent", wait=True)
    gone = playbooks.play(tmp_path, collections, _login(alpha), absent, absent)
    assert [each["changed"] for each in gone] == [True, False]
    until("no server", lambda: not list(alpha.cloud.compute.servers()))


def _login(who: Person) -> dict[str, object]:
    """The entry of ``clouds.yaml`` for a user."""
    auth = {
        "auth_url": os.environ["OS_AUTH_URL"],
        "username": who.name,
        "password": os.environ["OS_PASSWORD"],
        "project_name": who.name,
        "user_domain_id": "default",
        "project_domain_id": "default",
    }
    return {"auth": auth, "region_name": os.environ["OS_REGION_NAME"]}
