"""Projects and users are looked up by name in the domain that the user names."""

from types import SimpleNamespace
from typing import Any

import pytest
from blazarclient.exception import BlazarClientException
from keystoneauth1 import session

from tests.fakes.service import Answer
from tests.unit.cli.conftest import Run
from tests.unit.cli.fake_api import Api, error, listing
from tests.unit.cli.test_shells import COMMANDS
from warre_blazar.cli import limits, reservation_list
from warre_blazar.cli.base import Command

_DOMAINS = [{"id": "d1", "name": "research"}, {"id": "default", "name": "Default"}]


@pytest.fixture(autouse=True)
def keystone(api: Api) -> None:
    """A Keystone with two domains, each of which has a project and a user of the same name."""
    for kind, name in (("project", "climate"), ("user", "ada")):
        items = [{"id": f"{d['id']}-{kind}", "name": name, "domain_id": d["id"]} for d in _DOMAINS]
        api.answers[f"GET /v1/{kind}s"] = Answer(200, {f"{kind}s": items})
    api.answers["GET /v1/domains"] = Answer(200, {"domains": _DOMAINS})
    api.answers["GET /v2/reservations"] = listing()


def only(api: Api, kind: str, *found: dict[str, Any]) -> None:
    """Let Keystone answer the next search with some items."""
    api.answers[f"GET /v1/{kind}s"] = Answer(200, {f"{kind}s": list(found)})


@pytest.mark.parametrize("kind", ["project", "user"])
@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_that_takes_a_name_takes_its_domain(command: type[Command], kind: str) -> None:
    parser = command(SimpleNamespace(client_manager=None), None).get_parser("it")
    names = {action.dest for action in parser._actions}
    assert (kind in names) == (f"{kind}_domain" in names)


@pytest.mark.parametrize("kind", ["project", "user"])
def test_name_is_looked_up_in_the_domain(api: Api, run: Run, kind: str) -> None:
    only(api, "domain", _DOMAINS[0])
    only(api, kind, {"id": "found", "name": "x", "domain_id": "d1"})
    run(reservation_list.ListReservations, f"--{kind}", "x", f"--{kind}-domain", "research")
    asked = {request.path: request.query for request in api.seen}
    assert asked["/v1/domains"] == {"name": "research"}
    assert asked[f"/v1/{kind}s"] == {"name": "x", "domain_id": "d1"}
    assert asked["/v2/reservations"][f"{kind}_id"] == "found"


@pytest.mark.parametrize(
    "answers",
    [
        pytest.param(
            {
                "GET /v1/domains": Answer(200, {"domains": []}),
                "GET /v1/domains/default": Answer(200, {"domain": _DOMAINS[1]}),
            },
            id="Keystone knows the id",
        ),
        pytest.param({"GET /v1/domains": error(403, "No")}, id="Keystone hides domains"),
    ],
)
def test_domain_is_named_by_its_id(api: Api, run: Run, answers: dict[str, Answer]) -> None:
    api.answers |= answers
    only(api, "project", {"id": "found", "name": "climate", "domain_id": "default"})
    run(reservation_list.ListReservations, "--project", "climate", "--project-domain", "default")
    (asked,) = (request.query for request in api.seen if request.path == "/v1/projects")
    assert asked == {"name": "climate", "domain_id": "default"}


def test_unknown_domain_is_refused(api: Api, run: Run) -> None:
    only(api, "domain")
    with pytest.raises(BlazarClientException, match="There is no domain 'reserch'; see openstack"):
        run(limits.ShowLimits, "--project", "climate", "--project-domain", "reserch")


def test_name_that_the_domain_does_not_have_is_refused(api: Api, run: Run) -> None:
    only(api, "project")
    with pytest.raises(BlazarClientException, match="no project 'x' in domain 'research'; see"):
        run(limits.ShowLimits, "--project", "x", "--project-domain", "research")


@pytest.mark.parametrize("kind", ["project", "user"])
def test_domain_of_nothing_is_refused(api: Api, run: Run, kind: str) -> None:
    with pytest.raises(BlazarClientException, match=f"where a {kind} is; name the {kind} too"):
        run(reservation_list.ListReservations, f"--{kind}-domain", "research")
    assert not api.seen


@pytest.mark.parametrize(("kind", "name"), [("project", "climate"), ("user", "ada")])
def test_ambiguous_name_lists_the_domains_by_name(api: Api, run: Run, kind: str, name: str) -> None:
    with pytest.raises(BlazarClientException) as refused:
        run(reservation_list.ListReservations, f"--{kind}", name)
    assert str(refused.value).splitlines() == [
        f"Several {kind}s are named '{name}'; give --{kind}-domain, or the ID of one:",
        f"  d1-{kind}  domain research",
        f"  default-{kind}  domain Default",
    ]


def test_ambiguous_name_lists_the_ids_of_hidden_domains(api: Api, run: Run) -> None:
    api.answers["GET /v1/domains"] = error(403, "No")
    with pytest.raises(BlazarClientException, match=r"d1-project  domain d1\n"):
        run(limits.ShowLimits, "--project", "climate")


def test_own_name_in_another_domain_is_not_taken_for_oneself(
    api: Api, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session.Session, "get_user_id", lambda _: "u1")
    api.answers |= {
        "GET /v1/users": error(403, "No"),
        "GET /v1/users/u1": Answer(200, {"user": {"id": "u1", "name": "ada"}}),
    }
    with pytest.raises(BlazarClientException, match="who 'ada' is; give the user's ID"):
        run(reservation_list.ListReservations, "--user", "ada", "--user-domain", "d1")
