"""The client's methods for usage and refused requests."""

import datetime

import pytest
from keystoneauth1 import session, token_endpoint

from tests.unit.cli.fake_api import Api, listing
from tests.unit.cli.test_usage import REFUSAL, report, row
from warre_blazar.client import Client


@pytest.fixture
def client(api: Api) -> Client:
    return Client(session.Session(auth=token_endpoint.Token(f"{api.url}/v1", "a-token")))


NINE = datetime.datetime(2026, 12, 1, 9, tzinfo=datetime.UTC)


def test_usage(api: Api, client: Client) -> None:
    api.answers["GET /v2/usage"] = report(row(flavor="gpu"), by="flavor")
    found = client.usage.get(since=NINE, by="flavor", project_id="p")
    assert api.seen[-1].query == {"from": NINE.isoformat(), "by": "flavor", "project_id": "p"}
    (usage,) = found.rows
    assert (found.by, found.end.day, usage.flavor) == ("flavor", 2, "gpu")
    assert usage.hours["held"] == 3.5
    assert usage.resource_hours["VCPU"]["booked"] == 16
    assert usage.refusals == {"slots_exhausted": 3}


def test_refusals(api: Api, client: Client) -> None:
    api.answers["GET /v2/refusals"] = listing(REFUSAL)
    (found,) = client.refusals.list(until=NINE, all_projects=True, code="slots_exhausted")
    assert found.at == NINE
    assert (found.flavor, found.instance_count) == ("gpu", 3)
    query = {"to": NINE.isoformat(), "all_projects": "true", "code": "slots_exhausted"}
    assert api.seen[-1].query == query


def test_unknown_filter_is_refused(client: Client) -> None:
    with pytest.raises(TypeError, match="colour"):
        client.usage.get(colour="red")
    with pytest.raises(TypeError, match="colour"):
        client.refusals.list(colour="red")
