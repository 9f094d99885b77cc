"""Reservations whose creator is disabled, deleted or without a role in the project."""

import dataclasses
import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.functional.cloud import world
from tests.functional.cloud.conftest import Offer
from tests.functional.cloud.people import Person
from tests.functional.cloud.records import Records
from tests.functional.cloud.waiting import until

pytestmark = pytest.mark.together

WAYS = [
    pytest.param("disabled", marks=pytest.mark.whole),
    pytest.param("no role", marks=pytest.mark.whole),
    "deleted",
]


@dataclasses.dataclass(frozen=True)
class Team:
    """A project with two members, of whom the creator of reservations leaves."""

    creator: Person
    colleague: Person
    #: A function that makes the creator leave, in one of ``WAYS``.
    lose: Callable[[str], None]


@pytest.fixture
def team(admin: Person) -> Iterator[Team]:
    """Two users in beta's project, who are deleted after the test."""
    identity = admin.cloud.identity
    project = identity.find_project("beta")
    role = identity.find_role("member")
    names = [world.unique("functional") for _ in range(2)]
    users = [
        identity.create_user(
            name=name,
            password=os.environ["OS_PASSWORD"],
            domain_id="default",
            default_project_id=project.id,
        )
        for name in names
    ]
    for user in users:
        identity.assign_project_role_to_user(project, user, role)
    left = users[0]

    def lose(how: str) -> None:
        if how == "disabled":
            identity.update_user(left, is_enabled=False)
        elif how == "no role":
            identity.unassign_project_role_from_user(project, left, role)
        else:
            identity.delete_user(left)

    yield Team(*(Person(name, "beta") for name in names), lose)
    for user in users:
        identity.delete_user(user, ignore_missing=True)


def path_of(reservation: dict[str, Any]) -> str:
    return f"/v2/reservations/{reservation['id']}/"


def longer(reservation: dict[str, Any]) -> dict[str, str]:
    return {"end": world.Period.of(reservation).moved(end=1).v2["end"]}


def booked(team: Team, flavor: dict[str, Any], status: str) -> dict[str, Any]:
    """Book as the creator, and return the reservation once it is ALLOCATED or ACTIVE."""
    if status == "ACTIVE":
        return world.becomes(team.creator, world.booked_now(team.creator, flavor), status)
    return world.booked(team.creator, flavor, world.far(2))


@pytest.mark.whole
@pytest.mark.parametrize("status", ["ALLOCATED", "ACTIVE"])
@pytest.mark.parametrize("how", WAYS)
def test_others_can_change_and_delete_reservations_without_a_creator(
    team: Team, admin: Person, offer: Offer, records: Records, how: str, status: str
) -> None:
    mine, other = (booked(team, offer(), status) for _ in range(2))
    server = (
        team.colleague.boots(mine["compute_flavor"], "functional-gone")
        if (status == "ACTIVE")
        else None
    )
    team.lose(how)

    changed = team.colleague.asks("PATCH", path_of(mine), longer(mine))
    shown = world.show(team.colleague, mine)
    assert shown == {**mine, **longer(mine)}
    # Only the answer to a GET says in which zone servers boot.
    assert changed == {k: v for k, v in shown.items() if k != "availability_zone"}
    # The operator has no role in the project.
    period = world.Period.of(mine).moved(end=2)
    admin.asks("PUT", f"/v1/leases/{mine['lease_id']}", period.v1)
    assert world.show(admin, mine)["status"] == status

    over_v1 = f"/v1/leases/{other['lease_id']}"
    for who, each, path in ((team.colleague, mine, path_of(mine)), (admin, other, over_v1)):
        answer = who.ask("DELETE", path)
        assert answer.status_code in (202, 204), answer.text
        until("its traces to go", lambda each=each: not records.traces(each["id"]))
        assert records.rows("leases", id=each["lease_id"]) == []
    if server is not None:
        servers = team.colleague.cloud.compute
        until("its server to go", lambda: servers.find_server(server.id) is None)


@pytest.mark.parametrize("how", WAYS)
def test_reservations_without_a_creator_start_and_end(
    team: Team, offer: Offer, records: Records, how: str
) -> None:
    flavor = offer()
    # Its start is moved to now and its end isn't, so an end in some years would use up the quota.
    pending = world.booked(team.creator, flavor, world.from_now().moved(start=1, end=1))
    running = booked(team, flavor, "ACTIVE")
    team.lose(how)
    records.start_now([pending["lease_id"]], ahead=8)
    world.becomes(team.colleague, pending, "ACTIVE")
    until("the minute after its start", lambda: world.now() > world.Period.of(running).start)
    records.end_now([running["lease_id"]], ahead=8)
    world.becomes(team.colleague, running, "COMPLETE")
    for each in (pending, running):
        lease = records.rows("leases", id=each["lease_id"])[0]
        assert lease["trust_id"] is None
        assert lease["status"] in ("ACTIVE", "TERMINATED")
        answer = team.colleague.ask("DELETE", path_of(each))
        assert answer.status_code in (202, 204), answer.text
        until("its traces to go", lambda each=each: not records.traces(each["id"]))
