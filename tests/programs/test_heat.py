"""``contrib/heat`` in Heat's own engine, with the API over HTTP."""

import itertools
import re
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from tests.programs.served import REPOSITORY, Ask, ServedSite, answering
from tests.unit.api import things
from tests.unit.api.people import Person
from tests.unit.api.things import at, moment
from warre_blazar.fields.declaration import given
from warre_blazar.fields.reservations import ReservationFields

Do = Callable[..., dict[str, Any]]
_numbers = itertools.count()


class Refused(Exception):
    """Heat has refused a request."""


@pytest.fixture(scope="module")
def engine(running: ServedSite) -> Iterator[Ask]:
    """Heat's engine, which starts once."""
    resources = str(REPOSITORY / "contrib/heat")
    with answering("heat_engine.py", running.cloud.keystone.url, resources) as ask:
        yield ask


@pytest.fixture
def heat(site: ServedSite, engine: Ask) -> Do:
    """A function that lets the engine do something for a user."""

    def do(what: str, user: str = "alpha", **more: Any) -> dict[str, Any]:
        answer = engine({"do": what, "user": user, "name": f"stack-{next(_numbers)}", **more})
        if "error" in answer:
            raise Refused(answer["error"])
        return answer

    return do


@pytest.fixture
def flavor(admin: Person) -> dict[str, Any]:
    return things.add_flavor(admin)


def template(**changes: Any) -> str:
    """A template with a reservation. Properties that are None are left out."""
    usual = {"flavor_id": "gpu.small", "start": at(2, 9), "end": at(2, 11), "name": "sweep"}
    wanted = {name: value for name, value in {**usual, **changes}.items() if value is not None}
    names = ("compute_flavor", "start", "end", "status")
    outputs = {name: {"value": {"get_attr": ["booking", name]}} for name in names}
    booking = {"type": "OS::WarreBlazar::Reservation", "properties": wanted}
    return yaml.safe_dump(
        {
            "heat_template_version": "2021-04-16",
            "resources": {"booking": booking},
            "outputs": outputs,
        }
    )


def on_page() -> dict[str, Any]:
    """The template on the page about Heat."""
    page = (REPOSITORY / "doc/source/programs/heat.rst").read_text()
    block = re.search(r"yaml\n\n((?: {3}.*\n|\n)+)", page)
    assert block
    return yaml.safe_load(textwrap.dedent(block[1]))


def booked(alpha: Person) -> list[dict[str, Any]]:
    return things.made(alpha.get("reservations"))["results"]


def test_stack_books_and_has_the_attributes(heat: Do, flavor: Any, alpha: Person):
    stack = heat("create", template=template(instance_count=2, note="run 7"))
    assert stack["state"] == "CREATE_COMPLETE", stack
    (reservation,) = booked(alpha)
    names = ("compute_flavor", "start", "end", "status")
    assert stack["outputs"] == {name: reservation[name] for name in names}
    assert stack["outputs"]["status"] == "ALLOCATED"
    assert stack["outputs"]["compute_flavor"]
    assert stack["resources"] == {"booking": reservation["id"]}
    assert (reservation["name"], reservation["instance_count"]) == ("sweep", 2)
    assert reservation["note"] == "run 7"


def test_reservation_without_a_name_is_named_by_heat(heat: Do, flavor: Any, alpha: Person):
    heat("create", name="course", template=template(name=None))
    assert booked(alpha)[0]["name"].startswith("course-booking-")


def test_stack_waits_until_the_reservation_is_active(site: ServedSite, heat: Do, flavor: Any):
    def begin(line: str) -> None:
        if len(site.requests) > 4:
            site.before = lambda _: None
            site.go_to(moment(2, 9))

    site.before = begin
    stack = heat("create", template=template(wait_for_active=True))
    assert (stack["state"], stack["outputs"]["status"]) == ("CREATE_COMPLETE", "ACTIVE")
    assert len(site.requests) > 5


def test_reservation_that_fails_while_it_is_waited_for(site: ServedSite, heat: Do, flavor: Any):
    def end(line: str) -> None:
        if len(site.requests) > 4:
            site.go_to(moment(3))

    site.before = end
    stack = heat("create", template=template(wait_for_active=True))
    assert stack["state"] == "CREATE_FAILED"
    assert "The reservation is COMPLETE" in stack["reason"]


REFUSED = {
    "no room": {"instance_count": 3},
    "no flavor": {"flavor_id": "nope"},
    "no time": {"start": "soon"},
    "in the past": {"start": at(-1)},
    "too long": {"end": at(9)},
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusal_is_the_reason(heat: Do, flavor: Any, alpha: Person, case: str):
    body = things.booking(flavor, **REFUSED[case])
    sentence = " ".join(alpha.post("reservations", body).json["error_message"].split())
    stack = heat("create", template=template(**REFUSED[case]))
    assert stack["state"] == "CREATE_FAILED"
    assert stack["reason"].endswith(f"Error: resources.booking: {sentence}")
    assert booked(alpha) == []


def test_unknown_property_is_refused_by_heat(heat: Do, flavor: Any, site: ServedSite):
    with pytest.raises(Refused, match="Unknown Property vcpus"):
        heat("create", template=template(vcpus=2))
    assert site.requests == []


def test_update_changes_the_reservation_in_place(heat: Do, flavor: Any, alpha: Person):
    stack = heat("create", template=template(note="old", instance_count=2))
    changes = {"end": at(2, 13), "instance_count": 1, "contact": "alpha@example.org"}
    updated = heat("update", id=stack["id"], template=template(**changes))
    assert updated["state"] == "UPDATE_COMPLETE", updated
    assert updated["resources"] == stack["resources"]
    (reservation,) = booked(alpha)
    assert reservation["id"] == stack["resources"]["booking"]
    assert (reservation["end"], reservation["note"]) == (at(2, 13), None)
    assert (reservation["instance_count"], reservation["contact"]) == (1, "alpha@example.org")


@pytest.mark.parametrize("change", [{"affinity": True}, {"flavor_id": "gpu.other"}])
def test_update_of_a_fixed_field_replaces(
    heat: Do, admin: Person, flavor: Any, alpha: Person, change: dict[str, Any]
):
    things.add_flavor(admin, name="gpu.other")
    stack = heat("create", template=template())
    updated = heat("update", id=stack["id"], template=template(**change))
    assert updated["state"] == "UPDATE_COMPLETE", updated
    (reservation,) = booked(alpha)
    assert updated["resources"]["booking"] == reservation["id"]
    assert reservation["id"] != stack["resources"]["booking"]


def test_refused_update_costs_nothing(site: ServedSite, heat: Do, flavor: Any, alpha: Person):
    """Neither the refused update nor the next one replaces what is running."""
    stack = heat("create", template=template())
    site.go_to(moment(2, 9))
    refused = heat("update", id=stack["id"], template=template(end=at(9)))
    assert refused["state"] == "UPDATE_FAILED"
    assert "48" in refused["reason"]
    extended = heat("update", id=stack["id"], template=template(end=at(2, 12)))
    assert extended["state"] == "UPDATE_COMPLETE", extended
    (reservation,) = booked(alpha)
    assert reservation["id"] == stack["resources"]["booking"]
    assert (reservation["status"], reservation["end"]) == ("ACTIVE", at(2, 12))


@pytest.mark.parametrize("gone", [True, False], ids=["deleted", "complete"])
def test_update_replaces_what_is_over(
    site: ServedSite, heat: Do, flavor: Any, alpha: Person, gone: bool
):
    stack = heat("create", template=template())
    if gone:
        alpha.delete(f"reservations/{stack['resources']['booking']}")
    else:
        site.go_to(moment(2, 9))
        site.go_to(moment(2, 11))
    again = {"start": at(4, 9), "end": at(4, 11)}
    updated = heat("update", id=stack["id"], template=template(**again))
    assert updated["state"] == "UPDATE_COMPLETE", updated
    (reservation,) = booked(alpha)
    assert (reservation["status"], reservation["start"]) == ("ALLOCATED", at(4, 9))


def test_delete(heat: Do, flavor: Any, alpha: Person):
    stack = heat("create", template=template())
    assert heat("delete", id=stack["id"])["state"] == "DELETE_COMPLETE"
    assert booked(alpha) == []


def test_delete_of_what_is_gone(heat: Do, flavor: Any, alpha: Person):
    stack = heat("create", template=template())
    alpha.delete(f"reservations/{stack['resources']['booking']}")
    assert heat("delete", id=stack["id"])["state"] == "DELETE_COMPLETE"


def test_every_field_of_a_body_is_a_property(heat: Do, flavor: Any):
    shown = heat("schema")
    fields = {field.name for field in given(ReservationFields)}
    assert set(shown["properties"]) == {*fields, "wait_for_active"}
    assert {name for name, each in shown["properties"].items() if each["required"]} == {
        "flavor_id",
        "start",
        "end",
    }


def test_replacement_that_is_refused_leaves_the_reservation(heat: Do, flavor: Any, alpha: Person):
    stack = heat("create", template=template(instance_count=2))
    refused = template(instance_count=2, affinity=True)
    assert heat("update", id=stack["id"], template=refused)["state"] == "UPDATE_FAILED"
    (reservation,) = booked(alpha)
    assert reservation["id"] == stack["resources"]["booking"]


def test_template_on_the_page(site: ServedSite, heat: Do, admin: Person, alpha: Person):
    """A value takes the place of the server, which needs more services."""
    things.add_flavor(admin, name="gpu.large")
    written = on_page()
    node = written["resources"]["node"]
    assert node["type"] == "OS::Nova::Server"
    node.update(type="OS::Heat::Value", properties={"value": node["properties"]["flavor"]})
    written["outputs"]["flavor"] = {"value": {"get_attr": ["node", "value"]}}
    properties = written["resources"]["booking"]["properties"]
    properties |= {"start": at(2, 9), "end": at(2, 17)}
    site.before = lambda _: booked(alpha) and site.go_to(moment(2, 9))
    stack = heat("create", template=yaml.safe_dump(written))
    (reservation,) = booked(alpha)
    assert stack["state"] == "CREATE_COMPLETE", stack
    assert stack["outputs"] == {"until": at(2, 17), "flavor": reservation["compute_flavor"]}
