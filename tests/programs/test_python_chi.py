"""python-chi's own code books flavors of this package, with the API over HTTP."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.programs.served import Ask, ServedSite, answering
from tests.unit.api import identity, things
from tests.unit.api.people import Person
from tests.unit.consumers.site import NOW, ODD
from warre_blazar.services.flavors import shown_in_nova

Do = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def started(running: ServedSite) -> Iterator[Ask]:
    """A process with python-chi, which starts once."""
    with answering("notebook.py", running.cloud.keystone.url) as ask:
        yield ask


@pytest.fixture
def notebook(site: ServedSite, started: Ask) -> Do:
    """A function that lets a notebook do something. Leases begin before they are looked at."""
    site.cloud.keystone.tokens.add(identity.token("alpha"))
    site.before = lambda line: site.go_to(NOW) if line.startswith("GET") else None

    def do(what: str, **more: Any) -> dict[str, Any]:
        return started({"do": what, **more})

    return do


@pytest.fixture
def flavor(admin: Person) -> dict[str, Any]:
    made = things.add_flavor(admin, show_in_nova=True)
    shown_in_nova.look()
    return made


@pytest.mark.parametrize("by", ["id", "name"])
def test_lease_is_booked_found_booted_and_deleted(
    site: ServedSite, notebook: Do, flavor: dict[str, Any], alpha: Person, by: str
):
    site.set_time(ODD)
    booked = notebook("book", called="exp-1", amount=2, **{by: flavor[by]})
    assert booked["status"] == "ACTIVE", booked
    assert notebook("book", called="exp-1", amount=2, **{by: flavor[by]}) == booked
    (ours,) = things.made(alpha.get("reservations"))["results"]
    seen = notebook("read", name="exp-1")
    assert seen == {
        "id": booked["id"],
        "listed": ["exp-1"],
        "reserved": [[ours["id"], f"reservation:{ours['id']}"]],
        "offered": [flavor["name"]],
    }
    site.cloud.nova.boot(ours["id"], alpha.project_id)
    assert notebook("delete", name="exp-1") == {"listed": []}
    assert site.cloud.nova.servers == {}


@pytest.mark.parametrize(
    ("wish", "said"),
    [({"amount": 3}, "3 asked, at most 2 of 2 slots"), ({"id": "x"}, "flavor x does not exist")],
    ids=["too-many", "unknown"],
)
def test_reason_of_a_refusal_is_in_the_log(
    notebook: Do, flavor: dict[str, Any], wish: dict[str, Any], said: str
):
    refused = notebook("book", called="exp-1", **{"id": flavor["id"], **wish})
    assert refused["error"] == "Unable to make lease"
    assert said in refused["logged"]
