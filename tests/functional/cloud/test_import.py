"""The import of Warre's leases, which are made as Warre makes them, and how it is undone."""

import dataclasses
import json
import os
import subprocess
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from tests.functional.cloud import devcloud, nova_side, warre_client, world
from tests.functional.cloud.people import Person
from tests.functional.cloud.records import Records
from tests.functional.cloud.waiting import until
from tests.functional.cloud.warre_client import WarreClient
from tests.functional.db.warre_site import Warre

_HOST = "cmp3"
_DATABASE = "warre_import"
_WARRE_TIME = "%Y-%m-%d %H:%M:%S"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> WarreClient:
    """Warre's own client."""
    return warre_client.installed(tmp_path_factory.mktemp("warreclient"))


@pytest.fixture
def warre() -> Iterator[Warre]:
    """A Warre's database with its tables."""
    theirs = sa.make_url(devcloud.database_url())
    server = sa.create_engine(theirs, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with server.connect() as db:
        db.execute(sa.text(f"DROP DATABASE IF EXISTS {_DATABASE}"))
        db.execute(sa.text(f"CREATE DATABASE {_DATABASE} CHARACTER SET utf8mb3"))
    found = Warre(sa.create_engine(theirs.set(database=_DATABASE), poolclass=sa.NullPool))
    found.make_tables()
    yield found
    with server.connect() as db:
        db.execute(sa.text(f"DROP DATABASE {_DATABASE}"))


@pytest.fixture
def bot(admin: Person) -> Iterator[tuple[Person, Callable[[], None]]]:
    """The user as whom Warre makes leases in alpha's project, and a function that deletes it."""
    identity = admin.cloud.identity
    project, role = identity.find_project("alpha"), identity.find_role("member")
    name = world.unique("warre-bot")
    user = identity.create_user(
        name=name,
        password=os.environ["OS_PASSWORD"],
        domain_id="default",
        default_project_id=project.id,
    )
    identity.assign_project_role_to_user(project, user, role)
    yield Person(name, "alpha"), lambda: identity.delete_user(user)
    identity.delete_user(user, ignore_missing=True)


@dataclasses.dataclass(frozen=True)
class Booked:
    """A reservation of Warre's, and the lease behind it."""

    id: str
    lease: dict[str, Any]

    @property
    def nova_flavor(self) -> str:
        """The id of the Nova flavor, which Warre calls ``compute_flavor``."""
        return str(self.lease["reservations"][0]["id"])

    @property
    def document(self) -> dict[str, str]:
        """The fields of a reservation that the helpers of other tests use."""
        return {"id": self.id, "lease_id": self.lease["id"]}


@dataclasses.dataclass
class Scene:
    """A flavor of 3 slots: 1 instance is reserved now, with a server, and 2 are reserved later."""

    flavor_id: str
    running: Booked
    waiting: Booked
    period: world.Period
    server: Any
    url: str

    def run(self, *words: str) -> dict[str, Any]:
        """Run ``import-warre``, and return the JSON that it prints."""
        config = devcloud.home() / "etc" / "blazar" / "blazar.conf"
        program = devcloud.home() / "venv" / "bin" / "warre-blazar-manage"
        command = [program, "--config-file", config, "import-warre", "--json", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return dict(json.loads(done.stdout))

    def take_over(self, *words: str) -> dict[str, Any]:
        return self.run("--connection", self.url, *words)["counts"]["reservation"]


def _body(reservation_id: str, period: world.Period, amount: int) -> dict[str, Any]:
    """The body of the request with which Warre makes a lease."""
    reservation = {**world.instance(_HOST, amount=amount), "ephemeral_gb": 0, "extra_specs": {}}
    return {
        "name": f"Reservation {reservation_id}",
        **period.v1,
        "events": [],
        "reservations": [reservation],
    }


def _add_flavor(warre: Warre, flavor_id: str) -> None:
    row = {
        **{"id": flavor_id, "name": world.unique("import"), "vcpu": 1, "memory_mb": 128},
        **{"disk_gb": 1, "ephemeral_gb": 0, "active": 1, "is_public": 1, "slots": 3},
        **{"max_length_hours": 240, "extra_specs": "{}", "properties": world.on_host(_HOST)},
    }
    names, values = ", ".join(row), ", ".join(f":{name}" for name in row)
    with warre.engine.begin() as db:
        db.execute(sa.text(f"INSERT INTO flavor ({names}) VALUES ({values})"), row)


def _add(warre: Warre, flavor_id: str, booked: Booked, who: Person, **changes: Any) -> None:
    row = {
        **{"id": booked.id, "user_id": who.cloud.current_user_id, "flavor_id": flavor_id},
        **{"project_id": who.cloud.current_project_id, "lease_id": booked.lease["id"]},
        **{"start": booked.lease["start_date"], "end": booked.lease["end_date"]},
        **{"compute_flavor": booked.nova_flavor, "created_at": world.now().strftime(_WARRE_TIME)},
        **changes,
    }
    names = ", ".join(f"`{name}`" for name in row)
    values = ", ".join(f":{name}" for name in row)
    with warre.engine.begin() as db:
        db.execute(sa.text(f"INSERT INTO reservation ({names}) VALUES ({values})"), row)


@pytest.fixture
def scene(
    admin: Person,
    alpha: Person,
    warre: Warre,
    bot: tuple[Person, Callable[[], None]],
    lease: Callable[..., Any],
    records: Records,
) -> Iterator[Scene]:
    flavor_id, period = str(uuid.uuid4()), world.far()
    ids = [str(uuid.uuid4()) for _ in range(2)]
    begun = world.lease_now(
        lambda body: lease(bot[0], {**body, "name": f"Reservation {ids[0]}"}),
        _body(ids[0], period, 1)["reservations"][0],
    )
    running = Booked(ids[0], begun)
    answer = lease(bot[0], _body(ids[1], period, 2))
    assert answer.status_code == 201, answer.text
    waiting = Booked(ids[1], answer.json()["lease"])
    path = f"/v1/leases/{begun['id']}"
    until("Warre's lease to start", lambda: alpha.asks("GET", path)["lease"]["status"] == "ACTIVE")
    server = alpha.boots(running.nova_flavor, "functional-import")
    settled = until("a server", lambda: alpha.server_settles(server))
    assert settled.status == "ACTIVE", settled.fault
    _add_flavor(warre, flavor_id)
    _add(warre, flavor_id, running, alpha, status="ACTIVE", instance_count=1)
    _add(warre, flavor_id, waiting, alpha, status="ALLOCATED", instance_count=2)
    url = warre.engine.url.render_as_string(hide_password=False)
    yield Scene(flavor_id, running, waiting, period, server, url)
    # Remove what was imported, so that the undo of another test doesn't find it.
    query = f"/v2/reservations/?all_projects=true&flavor_id={flavor_id}"
    for reservation in admin.asks("GET", query)["results"]:
        admin.ask("DELETE", f"/v2/reservations/{reservation['id']}/")
    until(
        "the imported flavor to be deleted",
        lambda: admin.ask("DELETE", f"/v2/flavors/{flavor_id}/").status_code in (204, 404),
    )
    records.delete("warre_imported")


@pytest.mark.whole
def test_imported_reservations_go_on(
    admin: Person,
    alpha: Person,
    scene: Scene,
    client: WarreClient,
    bot: tuple[Person, Callable[[], None]],
) -> None:
    dry = scene.take_over("--dry-run")
    assert (dry["taken"], dry["left"]) == (2, 0)
    assert client.run("reservation", "show", scene.running.id).returncode != 0
    assert scene.take_over()["taken"] == 2

    # Ids, states and Nova flavors are the same, and the server is still running.
    for booked, state, count in ((scene.running, "ACTIVE", 1), (scene.waiting, "ALLOCATED", 2)):
        shown = client.prints("reservation", "show", booked.id)
        assert (shown["status"], shown["compute_flavor"]) == (state, booked.nova_flavor)
        assert (shown["lease_id"], shown["instance_count"]) == (booked.lease["id"], count)
        assert shown["user_id"] == alpha.cloud.current_user_id
    assert alpha.cloud.compute.get_server(scene.server.id).status == "ACTIVE"
    again = scene.take_over()
    assert (again["known"], again["taken"]) == (2, 0)

    # The imported reservations count against the slots.
    flavor = {"id": scene.flavor_id}
    refused = world.book(alpha, flavor, scene.period, 2)
    assert (refused.status_code, refused.json()["code"]) == (400, "slots_exhausted")
    world.booked(alpha, flavor, scene.period, 1)

    # A reservation can be extended and shortened with the bot's trust.
    running = world.show(alpha, scene.running.document)
    path = f"/v2/reservations/{scene.running.id}/"
    period = world.Period.of(running)
    for end in (period.moved(end=2).v2["end"], period.v2["end"]):
        assert alpha.asks("PATCH", path, {"end": end})["end"] == end

    # It ends on time, and its server and its backing are removed.
    world.end_now(alpha, running)
    world.becomes(alpha, running, "COMPLETE")
    until(
        "the backing to be removed",
        lambda: not nova_side.leftovers(admin, scene.running.nova_flavor, [scene.server.id]),
    )

    # The other reservation can be changed and deleted after the bot has been deleted.
    bot[1]()
    path = f"/v2/reservations/{scene.waiting.id}/"
    end = scene.period.moved(end=1).v2["end"]
    assert alpha.asks("PATCH", path, {"end": end})["end"] == end
    assert alpha.ask("DELETE", path).status_code in (202, 204)
    until("the reservation to be deleted", lambda: alpha.ask("GET", path).status_code == 404)
    until(
        "the backing of the deleted reservation to be removed",
        lambda: not nova_side.leftovers(admin, scene.waiting.nova_flavor, []),
    )
    deleted = alpha.asks("GET", "/v2/reservations/?deleted=true")["results"]
    (record,) = [each for each in deleted if each["id"] == scene.waiting.id]
    assert record["deleted_by"] == alpha.cloud.current_user_id


@pytest.mark.whole
def test_import_can_be_undone(alpha: Person, scene: Scene, records: Records) -> None:
    before = records.dump("events")
    scene.take_over()
    assert records.dump("events") != before
    assert scene.run("--undo")["put_back"]["reservation"] == 2
    assert records.dump("events") == before
    assert alpha.cloud.compute.get_server(scene.server.id).status == "ACTIVE"
    lease = alpha.asks("GET", f"/v1/leases/{scene.running.lease['id']}")["lease"]
    assert lease["reservations"][0]["resource_type"] == "virtual:instance"
    # Blazar's own plugin handles the lease again.
    world.delete_lease(alpha, scene.running.lease["id"])
    assert alpha.cloud.compute.find_server(scene.server.id) is None
