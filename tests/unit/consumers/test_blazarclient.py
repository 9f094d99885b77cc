"""python-blazarclient's own code against the API: what its commands send, read and print."""

import argparse
import threading
from collections.abc import Iterator
from typing import Any
from wsgiref import simple_server

import pytest
from blazarclient import exception
from blazarclient.v1 import leases
from blazarclient.v1.shell_commands import leases as commands

from tests.unit.api import identity, things
from tests.unit.api.people import Person
from tests.unit.consumers import forms
from tests.unit.consumers.site import NOW, START, ExactSite


class _Quiet(simple_server.WSGIRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Say nothing of each request."""


@pytest.fixture
def client(site: ExactSite) -> Iterator[leases.LeaseClientManager]:
    """The client, which sends its requests over HTTP."""
    with simple_server.make_server("127.0.0.1", 0, site.app, handler_class=_Quiet) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield leases.LeaseClientManager(
            blazar_url=f"http://127.0.0.1:{server.server_port}/v1",
            auth_token=identity.token("alpha"),
            session=None,
        )
        server.shutdown()


@pytest.fixture
def flavor(admin: Person) -> dict[str, Any]:
    return things.add_flavor(admin)


def arguments(kind: Any, *words: str) -> dict[str, Any]:
    """What a command makes of its words."""
    command = kind(argparse.Namespace(), None)
    return dict(command.args2body(command.get_parser("x").parse_args(words)))


def create(client: Any, *reservations: str, **more: str) -> Any:
    """Do what ``lease create`` does with options."""
    words = ["--start-date", "2100-01-03 09:00", "--end-date", "2100-01-03 17:00"]
    words += [w for each in reservations for w in ("--reservation", each)]
    words += [w for name, value in more.items() for w in (f"--{name}", value)]
    return client.create(**arguments(commands.CreateLease, *words, "mylease"))


def change(client: Any, lease: dict[str, Any], option: str, value: str) -> Any:
    """Do what ``lease set`` does with an option."""
    words = arguments(commands.UpdateLease, option, value, lease["id"])
    return client.update(lease["id"], **words)


def of(flavor_id: str, more: str = ",amount=2") -> str:
    return f"resource_type=flavor:instance,flavor_id={flavor_id}{more}"


@pytest.mark.parametrize("by", ["id", "name"])
def test_lease_is_created_shown_extended_renamed_and_deleted(
    site: ExactSite, client: Any, flavor: dict[str, Any], by: str
):
    made = create(client, of(flavor[by]))
    assert forms.of_lease(made) == []
    assert client.list(sort_by="name") == [client.get(made["id"])] == [made]
    for option, value, dates in (
        ("--prolong-for", "2h", ("09:00", "19:00")),
        ("--reduce-by", "90m", ("09:00", "17:30")),
        ("--defer-by", "2h", ("11:00", "17:30")),
        ("--advance-by", "30m", ("10:30", "17:30")),
        ("--start-date", "2100-01-03 10:00", ("10:00", "17:30")),
        ("--end-date", "2100-01-03 18:00", ("10:00", "18:00")),
    ):
        changed = change(client, made, option, value)
        assert (changed["start_date"][11:16], changed["end_date"][11:16]) == dates, option
    assert change(client, made, "--name", "new")["name"] == "new"
    site.go_to(START.replace(hour=10))
    assert client.get(made["id"])["status"] == "ACTIVE"
    client.delete(made["id"])
    assert client.list() == []


def test_count_is_changed(client: Any, flavor: dict[str, Any]):
    made = create(client, of(flavor["id"]))
    reservation_id = made["reservations"][0]["id"]
    changed = change(client, made, "--reservation", f"id={reservation_id},amount=1")
    assert changed["reservations"][0]["amount"] == 1


def test_several_reservations_are_made(client: Any, flavor: dict[str, Any]):
    made = create(client, of(flavor["id"], ",amount=1"), of("plain", ",amount=1"))
    assert len(made["reservations"]) == 2


def test_affinity_is_kept(client: Any, flavor: dict[str, Any]):
    """Blazar's plugin can't reserve with one."""
    made = create(client, of(flavor["id"], ",amount=2,affinity=True"))
    assert made["reservations"][0]["affinity"] is True


def test_time_of_the_message_before_the_end_is_kept(client: Any, flavor: dict[str, Any]):
    made = create(client, of(flavor["id"]), **{"before-end-date": "2100-01-03 16:30"})
    times = {each["event_type"]: each["time"] for each in made["events"]}
    assert times["before_end_lease"] == "2100-01-03T16:30:00.000000"


REFUSED: dict[str, dict[str, Any]] = {
    "no amount": {"more": ""},
    "a key that it doesn't know": {"more": ",amount=1,handle=h"},
    "too many": {"more": ",amount=3"},
}


@pytest.mark.parametrize("case", REFUSED, ids=[name.replace(" ", "-") for name in REFUSED])
def test_refusal_is_printed(client: Any, flavor: dict[str, Any], case: str):
    with pytest.raises(exception.BlazarClientException, match=r"ERROR: .*(amount|slots)") as error:
        create(client, of(flavor["id"], **REFUSED[case]))
    assert error.value.kwargs["code"] == 400


def test_event_is_refused(client: Any, flavor: dict[str, Any]):
    event = "event_type=notification,event_date=2100-01-03 16:00"
    with pytest.raises(exception.BlazarClientException, match="ERROR: events"):
        create(client, of(flavor["id"]), event=event)


def test_flavor_in_a_change_is_refused(client: Any, flavor: dict[str, Any]):
    """The client sends it as a part of the id."""
    made = create(client, of(flavor["id"]))
    words = f"id={made['reservations'][0]['id']},flavor_id=y"
    with pytest.raises(exception.BlazarClientException, match="ERROR: reservations"):
        change(client, made, "--reservation", words)
    assert client.get(made["id"])["status"] == "PENDING"


def test_lease_begins_now(site: ExactSite, client: Any, flavor: dict[str, Any]):
    client.create("now", "now", "2100-01-01 17:01", [_sent(flavor)], [])
    site.go_to(NOW)
    (shown,) = client.list()
    assert shown["status"] == "ACTIVE"


def _sent(flavor: dict[str, Any]) -> dict[str, Any]:
    """A reservation as python-chi sends it: without an affinity, but with the key."""
    kind = {"resource_type": "flavor:instance", "affinity": None}
    return {**kind, "flavor_id": flavor["id"], "amount": 2}
