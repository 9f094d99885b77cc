"""Our errors as they leave the manager."""

import inspect
import sys
from typing import Any

import pytest
from blazar import exceptions as blazar_exc
from blazar.enforcement import exceptions as enforcement_exc
from blazar.manager import exceptions as manager_exc
from blazar.manager import service
from blazar.utils.openstack import exceptions as openstack_exc
from oslo_db import exception as db_exc
from oslo_messaging._drivers import common
from sqlalchemy import exc as sa_exc

from warre_blazar import exceptions
from warre_blazar.clients import manager as manager_client
from warre_blazar.plugins import errors

_SAMPLES = {
    exceptions.WarreError: ("text",),
    exceptions.InvalidField: ("field", "expected that"),
    exceptions.InvalidPeriod: ("text",),
    exceptions.FlavorNotBookable: ("too_long", "text"),
    exceptions.SlotsExhausted: (2, 1, 3),
    exceptions.HostsExhausted: (2, 1, 3),
    exceptions.TryAgain: (),
    exceptions.FlavorInUse: ("id", 3),
    exceptions.ServiceUnavailable: ("Nova", "reason"),
    exceptions.ServiceRefused: ("Nova", "reason"),
    exceptions.AccessExists: ("flavor", "project"),
    exceptions.InMaintenance: (),
    exceptions.InvalidState: ("text",),
    exceptions.Refused: ("code", "text"),
}


def every_error() -> list[exceptions.WarreError]:
    classes = [
        cls
        for _, cls in inspect.getmembers(exceptions, inspect.isclass)
        if issubclass(cls, exceptions.WarreError)
    ]
    return [cls(*_SAMPLES.get(cls, ("word",))) for cls in classes]


def by_class(error: exceptions.WarreError) -> str:
    return type(error).__name__


def v1_status(name: str) -> int | None:
    """How Blazar's v1 API finds the status of a manager's exception."""
    for module in (enforcement_exc, blazar_exc, manager_exc, openstack_exc):
        if hasattr(module, name):
            return getattr(module, name).code
    return None


@pytest.mark.parametrize("error", every_error(), ids=by_class)
def test_v1_answers_with_a_status_of_its_own(error: exceptions.WarreError) -> None:
    errors.expose_to_v1()
    status = v1_status(type(errors.as_blazar(error)).__name__)
    away = {"service_unavailable": 503, "service_refused": 502}
    assert status == away.get(error.code) or (error.code not in away and 400 <= status < 500)


def spared_by_update() -> list[type[Exception]]:
    """The exact types that Blazar's update_lease restores a lease's status for."""
    wrapper = service.ManagerService.update_lease
    cells = dict(zip(wrapper.__code__.co_freevars, wrapper.__closure__, strict=True))
    return cells["non_fatal_exceptions"].cell_contents


@pytest.mark.parametrize("error", every_error(), ids=by_class)
def test_no_refused_update_costs_a_lease(error: exceptions.WarreError) -> None:
    assert type(errors.as_blazar(error, updating=True)) in spared_by_update()


@pytest.mark.parametrize(
    "failure",
    [db_exc.DBConnectionError(), db_exc.DBError(), sa_exc.ProgrammingError("x", {}, Exception())],
    ids=lambda e: type(e).__name__,
)
def test_a_failing_database_costs_no_lease_either(failure: Exception) -> None:
    with pytest.raises(Exception) as caught, errors.translated(updating=True):
        raise failure
    assert type(caught.value) in spared_by_update()
    assert caught.value.kwargs["warre"]["code"] == "service_unavailable"


def over_the_wire(error: Exception) -> Any:
    """The exception as the API's process gets it."""
    try:
        raise error
    except type(error):
        data = common.serialize_remote_exception(sys.exc_info())
    return common.deserialize_remote_exception(data, manager_client._MODULES)


@pytest.mark.parametrize("error", every_error(), ids=by_class)
def test_code_and_detail_reach_the_api(error: exceptions.WarreError) -> None:
    for updating in (False, True):
        rebuilt = over_the_wire(errors.as_blazar(error, updating=updating))
        with pytest.raises(exceptions.WarreError) as caught, manager_client._refusals():
            raise rebuilt
        assert (caught.value.code, caught.value.message) == (error.code, error.message)
        assert caught.value.detail == error.detail
