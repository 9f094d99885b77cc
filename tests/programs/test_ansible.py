"""``contrib/ansible``: playbooks that ``ansible-playbook`` runs, with the API over HTTP."""

import ast
import contextlib
import functools
import json
import re
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.programs import playbooks
from tests.programs.playbooks import run
from tests.programs.served import REPOSITORY, ServedSite
from tests.unit.api import identity, things
from tests.unit.api.people import Person
from tests.unit.api.things import at, moment
from warre_blazar.fields.declaration import changeable, given
from warre_blazar.fields.reservations import ReservationFields

MODULES = {path.stem: path for path in (playbooks.SOURCE / "plugins/modules").glob("*.py")}
Play = Callable[..., list[dict[str, Any]]]
BOOKING = {"name": "sweep", "flavor_id": "gpu.small", "start": at(2, 9), "end": at(2, 11)}


@pytest.fixture(scope="module")
def collections(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return playbooks.install_collection(tmp_path_factory.mktemp("collections"))


@pytest.fixture
def play(site: ServedSite, collections: Path, tmp_path: Path) -> Play:
    """A function that runs a playbook with tasks. It returns what the tasks have registered."""
    auth = {"endpoint": f"{site.url}/v1", "token": identity.token("alpha")}
    cloud = {"auth_type": "admin_token", "auth": auth}
    return functools.partial(playbooks.play, tmp_path, collections, cloud)


@pytest.fixture
def flavor(admin: Person) -> dict[str, Any]:
    return things.add_flavor(admin)


def task(module: str = "reservation", **options: Any) -> dict[str, Any]:
    """A task. Options that are None are left out."""
    return playbooks.task(module, **{**(BOOKING if module == "reservation" else {}), **options})


def bodies(site: ServedSite) -> list[str]:
    """The requests that change something."""
    return [line for line in site.requests if not line.startswith("GET")]


def booked(alpha: Person) -> list[dict[str, Any]]:
    return things.made(alpha.get("reservations"))["results"]


def test_book_change_and_delete(site: ServedSite, play: Play, flavor: Any, alpha: Person):
    """Each task runs twice. The second one finds nothing to do."""
    changed = {"end": "2100-01-03 12:00", "instance_count": 1, "note": ""}
    tasks = [task(instance_count=2, note="run 7"), task(**changed), task(state="absent")]
    results = play(*(each for each in tasks for _ in range(2)))
    assert [each["changed"] for each in results] == [True, False] * 3
    assert [line.split()[0] for line in bodies(site)] == ["POST", "PATCH", "DELETE"]
    first, again, second, *_ = (each.get("reservation") for each in results)
    assert (first["instance_count"], first["note"]) == (2, "run 7")
    assert again["id"] == first["id"] == second["id"]
    assert (second["end"], second["note"]) == (at(2, 12), None)
    before = {"end": at(2, 11), "instance_count": 2, "note": "run 7"}
    assert results[2]["diff"] == {"before": before, "after": changed}
    assert booked(alpha) == []


def test_check_mode_asks_and_changes_nothing(
    site: ServedSite, play: Play, flavor: Any, alpha: Person
):
    there = things.book(alpha, flavor, name="there")
    results = play(
        task(),
        task(instance_count=3),
        task(name="there", end=at(2, 12)),
        task(name="there", end=at(9)),
        task(name="there"),
        task(name="there", state="absent"),
        check=True,
    )
    refused = [each["msg"] for each in results if each["failed"]]
    assert [each["changed"] for each in results] == [True, False, True, False, False, True]
    assert len(refused) == 2
    assert (
        refused[0]
        == alpha.post("reservations", things.booking(flavor, instance_count=3)).json[
            "error_message"
        ]
    )
    (reservation,) = booked(alpha)
    assert reservation["id"] == there["id"]
    assert reservation["end"] == at(2, 11)


@pytest.mark.slow
def test_refusals_are_the_messages(play: Play, flavor: Any, alpha: Person):
    things.book(alpha, flavor, name="twice")
    things.book(alpha, flavor, name="twice")
    results = play(
        task(instance_count=3),
        task(start="soon"),
        task(flavor_id="nope"),
        task(start=None, end=None),
        task(name="twice"),
        task(cloud="unknown"),
    )
    assert [each["failed"] for each in results] == [True] * 6
    body = things.booking(flavor, instance_count=3, name="sweep")
    said = alpha.post("reservations", body).json
    assert (results[0]["msg"], results[0]["code"]) == (said["error_message"], said["code"])
    assert results[0]["detail"] == said["detail"]
    assert results[1]["msg"].startswith("start")
    assert results[2]["msg"] == "Flavor nope does not exist"
    assert results[3]["msg"].endswith("To book it, give start, end")
    assert results[4]["msg"].startswith("Several reservations are named 'twice'")
    assert "unknown" in results[5]["msg"]
    assert len(booked(alpha)) == 2


@pytest.mark.slow
def test_fixed_fields_fail(play: Play, admin: Person, flavor: Any, alpha: Person):
    things.add_flavor(admin, name="gpu.other")
    things.book(alpha, flavor, name="sweep")
    by_id, other, zone = play(
        task(flavor_id=flavor["id"]), task(flavor_id="gpu.other"), task(timezone="Europe/Berlin")
    )
    assert not by_id["failed"] and not by_id["changed"]
    assert other["msg"].startswith("flavor_id of reservation ")
    assert zone["msg"].startswith("timezone of reservation ")


@pytest.mark.slow
def test_wait_for_the_start_and_for_nothing(site: ServedSite, play: Play, flavor: Any):
    def begin(line: str) -> None:
        if line.startswith("GET /v2/reservations/"):
            site.before = lambda _: None
            site.go_to(moment(2, 9))

    later = task(name="later", start=at(3, 9), end=at(3, 11), wait=True, timeout=0)
    site.before = begin
    waited, late = play(task(wait=True), later)
    assert waited["reservation"]["status"] == "ACTIVE"
    assert late["msg"].endswith("is ALLOCATED after 0 s")


@pytest.mark.slow
def test_a_playbook_that_runs_after_the_end_books_nothing(
    site: ServedSite, play: Play, flavor: Any, alpha: Person
):
    things.book(alpha, flavor, name="sweep")
    site.go_to(moment(2, 9))
    site.go_to(moment(2, 11))
    again, absent, next_week = play(
        task(), task(state="absent"), task(start=at(9, 9), end=at(9, 11))
    )
    assert (again["changed"], absent["changed"], next_week["changed"]) == (False, False, True)
    assert again["reservation"]["status"] == "COMPLETE"
    assert [each["status"] for each in booked(alpha)] == ["COMPLETE", "ALLOCATED"]


@pytest.mark.slow
def test_lists(play: Play, admin: Person, flavor: Any, alpha: Person):
    things.add_flavor(admin, name="gpu.other", category="gpu")
    there = things.book(alpha, flavor, name="sweep")
    results = play(
        task("reservation_info", name="sweep", status=["ALLOCATED", "ACTIVE"], since=at(2, 10)),
        task("reservation_info", until=at(2, 9)),
        task("reservation_info", id=there["id"]),
        task("reservation_info", id="0" * 32),
        task("reservation_flavor_info"),
        task("reservation_flavor_info", category="gpu"),
        task("reservation_flavor_info", name="gpu.small"),
        task("reservation_flavor_info", name="nope"),
        check=True,
    )
    ids = [[each["id"] for each in result["reservations"]] for result in results[:4]]
    assert ids == [[there["id"]], [], [there["id"]], []]
    names = [[each["name"] for each in result["flavors"]] for result in results[4:]]
    assert names == [["gpu.other", "gpu.small"], ["gpu.other"], ["gpu.small"], []]


def on_page() -> list[dict[str, Any]]:
    """The tasks on the page about Ansible."""
    page = (REPOSITORY / "doc/source/programs/ansible.rst").read_text()
    (block,) = re.findall(r"yaml\n\n((?: {3}.*\n|\n)+)", page)
    return yaml.safe_load(textwrap.dedent(block))[0]["tasks"]


def test_tasks_on_the_page(site: ServedSite, play: Play, admin: Person, alpha: Person):
    """Another module takes the place of the one that boots a server."""
    things.add_flavor(admin, name="gpu.large")
    booking, server = on_page()
    booking["warre.blazar.reservation"] |= {"start": at(2, 9), "end": at(2, 17)}
    told = {"msg": server["openstack.cloud.server"]["flavor"]}
    facts = {"ansible.builtin.set_fact": {"booked": "{{ r0 }}"}}
    site.before = lambda _: site.go_to(moment(2, 9)) if booked(alpha) else None
    _, _, booted = play(booking, facts, {"ansible.builtin.debug": told})
    (reservation,) = booked(alpha)
    assert booted["msg"] == reservation["compute_flavor"]


def literals(path: Path) -> dict[str, Any]:
    """The literal values that a file assigns to names."""
    values = {}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            with contextlib.suppress(ValueError):
                values[node.targets[0].id] = ast.literal_eval(node.value)
    return values


def options_of(module: str) -> dict[str, dict[str, Any]]:
    """The options that a module takes."""
    own = literals(MODULES[module])
    shared = literals(playbooks.SOURCE / "plugins/module_utils/reservations.py")["CONNECTION"]
    taken = own.get("options") or {**own["CHANGEABLE"], **own["FIXED"], **own["OTHERS"]}
    return {**taken, **shared}


@pytest.mark.parametrize("module", MODULES)
def test_documentation_has_the_options(module: str, collections: Path):
    """ansible-doc can read it. Each option is as the module takes it."""
    name = f"warre.blazar.{module}"
    printed = run("ansible-doc", "-j", name, ANSIBLE_COLLECTIONS_PATH=str(collections))
    shown = json.loads(printed)[name]["doc"]["options"]
    for option, taken in options_of(module).items():
        told = shown.pop(option)
        for key in ("type", "elements", "default", "choices"):
            assert told.get(key) == taken.get(key), (option, key)
        assert told.get("required", False) == taken.get("required", False), option
    assert shown == {}


def test_module_takes_every_field_of_a_body():
    own = literals(MODULES["reservation"])
    fields = {field.name for field in given(ReservationFields)}
    assert fields == {*own["CHANGEABLE"], *own["FIXED"], "name"}
    assert {field.name for field in changeable(ReservationFields)} == {*own["CHANGEABLE"], "name"}


@pytest.mark.parametrize("module", MODULES)
def test_examples_in_the_documentation_have_these_options(module: str):
    for each in yaml.safe_load(literals(MODULES[module])["EXAMPLES"]):
        assert set(each[f"warre.blazar.{module}"]) <= set(options_of(module))


def test_collection_has_the_version_of_the_package():
    version = yaml.safe_load((playbooks.SOURCE / "galaxy.yml").read_text())["version"]
    assert f"version = {version}\n" in (REPOSITORY / "setup.cfg").read_text()
