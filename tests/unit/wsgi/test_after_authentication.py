"""Tokens that are for no project."""

import pytest

from tests.unit.api import identity
from tests.unit.wsgi import sending
from warre_blazar.api import openapi

PATHS = sorted(
    {
        *("/v1/leases", "/v1/leases/x", "/v1/os-hosts", "/v2", "/v2/", "/v2/nothing", "/nothing"),
        *("/v2/leases", "/v2/leases/x", "/v2/os-hosts"),
        *(
            root + operation.path.replace("{", "").replace("}", "")
            for root in openapi.SERVERS
            for operation in openapi.OPERATIONS
        ),
    }
)


@pytest.mark.parametrize("who", identity.SCOPES)
def test_token_without_project_is_refused_everywhere(site, who):
    before = site.rows()
    for path in PATHS:
        for method in ("GET", "DELETE"):
            answer = sending.send(site.app, method, path, who=who)
            assert sending.refused(answer) == (403, "forbidden"), (method, path)
            assert "token for a project" in answer.json["error_message"]
    body = {"name": "x"}
    for method, path in (("PUT", "/v1/leases/x"), ("POST", "/v2/flavors"), ("PATCH", "/v2/limits")):
        answer = sending.send(site.app, method, path, body, who=who)
        assert sending.refused(answer) == (403, "forbidden"), (method, path)
    assert site.rows() == before


@pytest.mark.parametrize("path", ["/", "/versions"])
@pytest.mark.parametrize("who", ["unscoped", "domain", "alpha"])
def test_versions_are_shown_without_a_project(site, who, path):
    answer = sending.send(site.app, "GET", path, who=who)
    assert answer.status_int == 300
    assert answer.json["versions"][0]["id"] == "v1.0"


def test_forged_identity_headers_are_ignored(site):
    forged = {"X_Project_Id": "project-alpha", "X_Service_Catalog": "[]", "X_Roles": "admin"}
    answer = sending.send(site.app, "GET", "/v1/leases", who="unscoped", **forged)
    assert sending.refused(answer) == (403, "forbidden")
