"""The pages about programs that know nothing of this package: what they send works as it stands."""

import ast
import pathlib
import re
import textwrap
from typing import Any

import pytest
import yaml

from tests.unit.api import things
from tests.unit.api.people import Person
from tests.unit.api.site import Site
from tests.unit.api.things import at, moment
from warre_blazar.fields.reservations import STATES

PAGES = pathlib.Path(__file__).parents[3] / "doc/source/programs"
TERRAFORM = (PAGES / "terraform.rst").read_text()
CLUSTER_API = (PAGES / "cluster-api.rst").read_text()


def terraform_body() -> dict[str, Any]:
    """The body that Terraform sends."""
    block = re.search(r" body = \{\n(.*?)\n +\}\n", TERRAFORM, re.DOTALL)
    assert block
    pairs = (line.split(" = ") for line in block[1].splitlines())
    return {name.strip(): ast.literal_eval(value) for name, value in pairs}


@pytest.fixture
def flavor(admin: Person) -> dict[str, Any]:
    return things.add_flavor(admin, name="gpu.large")


def listed(site: Site, person: Person) -> set[str]:
    """The ids of the private Nova flavors that Nova shows to a person's project."""
    flavors = site.cloud.nova.flavors
    return {each for each in flavors if person.project_id in flavors[each]["access"]}


def go_to(site: Site, day: int, hour: int) -> None:
    site.set_time(moment(day, hour))
    site.execute()
    site.run_events()


def test_terraform_books_as_on_the_page(flavor: Any, alpha: Person):
    """Each plan compares the answer with the body, but for the field that isn't in the answer."""
    body = {**terraform_body(), "start": at(2, 9), "end": at(2, 17)}
    assert {name: type(value) for name, value in terraform_body().items()} == {
        name: type(value) for name, value in body.items()
    }
    path = f"reservations/{things.made(alpha.post('reservations', body))['id']}"
    shown = things.made(alpha.get(path))
    (write_only,) = ast.literal_eval(re.search(r"write_only_attrs = (.*)", TERRAFORM)[1])  # type: ignore[index]
    assert write_only not in shown
    assert {name: shown[name] for name in body if name != write_only} == {
        name: value for name, value in body.items() if name != write_only
    }
    for changed in ({"start": at(2, 10)}, {"end": at(2, 18)}, {"name": "n"}, {"instance_count": 1}):
        assert things.made(alpha.patch(path, changed)) | changed == things.made(alpha.get(path))
    assert alpha.patch(path, {"flavor_id": "gpu.other"}).status_int == 400
    assert alpha.delete(path).status_int in (200, 202, 204)
    assert alpha.get(path).status_int == 404


def test_times_on_the_page_are_in_the_form_of_answers():
    for name in ("start", "end"):
        assert re.fullmatch(r"[\d-]{10}T\d\d:\d\d:00\+00:00", terraform_body()[name])
        assert re.fullmatch(r"[\d-]{10}T\d\d:\d\d:00\+00:00", at(2, 9))


def test_terraform_waits_by_statuses_of_the_api(site: Site, flavor: Any, alpha: Person):
    waited = re.search(r'success = "(\w+)", pending = (\[.*?\]) \}\n +\}\n +poll_delete', TERRAFORM)
    assert waited
    pending = ast.literal_eval(waited[2])
    assert {waited[1], *pending} < set(STATES)
    reservation = things.book(alpha, flavor)
    path = f"reservations/{reservation['id']}"
    assert things.made(alpha.get(path))["status"] in pending
    go_to(site, 2, 9)
    shown = things.made(alpha.get(path))
    assert shown["status"] == waited[1]
    assert shown["compute_flavor"] in listed(site, alpha)


def test_terraform_prints_why_a_booking_is_refused(site: Site, flavor: Any, alpha: Person):
    before = site.rows()
    body = {**terraform_body(), "start": at(2, 9), "end": at(2, 17), "instance_count": 3}
    refused = alpha.post("reservations", body)
    assert (refused.status_int, refused.content_type) == (400, "application/json")
    assert "3 asked" in refused.json["error_message"]
    assert site.rows() == before


def test_servers_boot_from_the_start_to_the_end(site: Site, flavor: Any, alpha: Person):
    """Both programs send the id to Nova unchecked, and Nova refuses it before and after.

    Meanwhile, Terraform would replace a server whose flavor is gone, and resize it to another one.
    """

    def boot() -> str:
        return site.cloud.nova.boot(booked["compute_flavor"], alpha.project_id)

    booked = things.book(alpha, flavor, instance_count=2)
    with pytest.raises((AssertionError, KeyError)):
        boot()
    go_to(site, 2, 9)
    server, flavors = boot(), site.cloud.nova.flavors
    made = flavors[booked["compute_flavor"]]["number"]
    for changed in ({"end": at(2, 13)}, {"name": "n"}, {"instance_count": 1}):
        things.made(alpha.patch(f"reservations/{booked['id']}", changed))
        go_to(site, 2, 10)
        assert booked["compute_flavor"] in listed(site, alpha)
        assert flavors[booked["compute_flavor"]]["number"] == made
        assert things.made(alpha.get(f"reservations/{booked['id']}")).items() >= changed.items()
    go_to(site, 2, 13)
    assert server not in site.cloud.nova.servers
    with pytest.raises(KeyError):
        boot()


def test_cluster_api_finds_the_flavor_by_id_and_name(site: Site, flavor: Any, alpha: Person):
    """It is readable from the start to the end, and its name belongs to no other one."""
    manifest = re.search(r"yaml\n\n((?: {6}.*\n)+)", CLUSTER_API)
    assert manifest
    template = yaml.safe_load(textwrap.dedent(manifest[1]))
    assert template["kind"] == "OpenStackMachineTemplate"
    assert set(template["spec"]["template"]["spec"]) == {"flavorID", "image"}
    compute_flavor = things.book(alpha, flavor)["compute_flavor"]
    assert compute_flavor not in listed(site, alpha)
    go_to(site, 2, 9)
    assert compute_flavor in listed(site, alpha)
    flavors = site.cloud.nova.flavors
    named = [f["name"] for f in flavors.values() if f["name"] == flavors[compute_flavor]["name"]]
    assert len(named) == 1
    go_to(site, 2, 11)
    assert compute_flavor not in flavors
