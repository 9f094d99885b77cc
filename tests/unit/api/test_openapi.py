"""The OpenAPI document is valid and current, and has exactly the existing routes and rules."""

import json
import pathlib
from collections.abc import Iterator
from typing import Any

import openapi_spec_validator
import pytest

from tests.unit.api import contract
from warre_blazar import policies
from warre_blazar.api import openapi
from warre_blazar.api.controllers import base
from warre_blazar.api.controllers.v2 import V2Controller
from warre_blazar.errors import exceptions, statuses

COMMITTED = pathlib.Path(__file__).parents[3] / "doc/source/api/openapi.json"

#: Pecan's methods, with and without an id in the path.
_WHOLE = {"get_all": "GET", "post": "POST"}
_ITEM = {"get_one": "GET", "put": "PUT", "patch": "PATCH", "delete": "DELETE"}
#: Methods that all of our controllers expose in order to answer errors.
_PLUMBING = {"_route", "_refuse"}

#: Codes that no operation documents: those of requests outside of operations, of unexpected
#: failures, of changes of leases over v1, and of the base class of errors.
_UNDOCUMENTED = {
    *("method_not_allowed", "not_acceptable", "internal", "fixed_value", "error"),
    # These are for leases over Blazar's v1.
    *("too_many_reservations", "mixed_lease"),
    # This is only a reservation's status_reason.
    "places_unusable",
}


def test_document_is_valid():
    openapi_spec_validator.validate(contract.document())


def test_committed_copy_is_current(capsys: pytest.CaptureFixture[str]):
    """To update it: python -m warre_blazar.api.openapi > doc/source/api/openapi.json"""
    openapi.main()
    assert COMMITTED.read_text() == capsys.readouterr().out
    assert json.loads(COMMITTED.read_text()) == contract.document()


def routes(path: str, controller: Any) -> Iterator[tuple[str, str]]:
    """Method and path of all that a controller and those below it expose, with ``{}`` for ids."""
    known = {*_WHOLE, *_ITEM, *_PLUMBING}
    for name in dir(controller):
        if name in _WHOLE and hasattr(controller, name):
            yield _WHOLE[name], path
        if name in _ITEM and hasattr(controller, name):
            # A controller without ``get_one`` is for one thing, which has no id.
            yield _ITEM[name], f"{path}/{{}}" if hasattr(controller, "get_one") else path
        value = getattr(controller, name)
        if isinstance(value, base.Controller):
            yield from routes(f"{path}/{name}", value)
        actions = getattr(controller, "_custom_actions", {})
        if getattr(value, "exposed", False) and name not in known:
            yield from ((method, f"{path}/{{}}/{name}") for method in actions[name])


def documented() -> set[tuple[str, str]]:
    """Method and path of all operations in the document, under both servers."""
    return {
        (method.upper(), contract.without_names(server["url"] + path))
        for server in contract.document()["servers"]
        for path, methods in contract.document()["paths"].items()
        for method in methods
    }


def test_document_has_exactly_the_existing_routes():
    assert set(routes("/v2", V2Controller())) == documented()


def test_operations_and_policy_rules_name_each_other():
    of_operations = {rule for o in openapi.OPERATIONS for rule in o.rules()}
    assert all(o.rules() for o in openapi.OPERATIONS)
    assert of_operations == {rule.name for rule in policies.list_rules()}
    paths = {("/v2" + o.path, o.method) for o in openapi.OPERATIONS}
    named = {(o["path"], o["method"]) for rule in policies.list_rules() for o in rule.operations}
    assert {(path, method) for path, method in named if path.startswith("/v2/")} == paths


def test_every_code_is_documented():
    classes = [c for c in vars(exceptions).values() if isinstance(c, type)]
    codes = {c.code for c in classes if issubclass(c, exceptions.WarreError)} | set(
        statuses.STATUSES
    )
    refused = {c for o in openapi.OPERATIONS for found in o.refusals().values() for c in found}
    assert codes - refused == _UNDOCUMENTED


def test_operation_ids_are_unique():
    ids = [
        operation["operationId"]
        for methods in contract.document()["paths"].values()
        for operation in methods.values()
    ]
    assert len(set(ids)) == len(ids) == len(openapi.OPERATIONS)
