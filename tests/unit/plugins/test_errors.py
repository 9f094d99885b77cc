"""Our errors as they leave the manager: over RPC, through v1, and without costing a lease."""

import inspect
import json
import subprocess
import sys

import flask
import pytest
import sqlalchemy.exc
from blazar import exceptions as blazar_exc
from blazar.api.v1 import utils as v1
from blazar.manager import service
from oslo_db import exception as db_exc
from oslo_messaging._drivers import common as rpc

from warre_blazar import exceptions
from warre_blazar.clients import manager
from warre_blazar.plugins import errors

# At least one of every class there is; of those with several codes, one of each code.
SAMPLES = [
    exceptions.WarreError("It went wrong", why="unknown"),
    exceptions.InvalidField("amount", "expected a whole number"),
    exceptions.UncarriedText("flavor_id"),
    exceptions.InvalidPeriod("Ends before it starts"),
    exceptions.FlavorNotFound("gpu"),
    exceptions.FlavorExists("gpu"),
    exceptions.FlavorInUse("f1", 2),
    exceptions.FlavorNotBookable("flavor_inactive", "Flavor is not available"),
    exceptions.FlavorNotBookable("flavor_not_accessible", "Flavor is not accessible"),
    exceptions.FlavorNotBookable("too_long", "Too long", max_length_hours=24),
    exceptions.FlavorNotBookable("before_flavor_start", "Too early", start="2026-01-01T00:00"),
    exceptions.FlavorNotBookable("after_flavor_end", "Too late", end="2026-01-01T00:00"),
    exceptions.SlotsExhausted(3, 1, 2),
    exceptions.HostsExhausted(3, 1, 2),
    exceptions.TryAgain(),
    exceptions.ReservationNotFound("r1"),
    exceptions.LeaseShared("l1"),
    exceptions.FixedValue("amount"),
    exceptions.InvalidState("Reservation r1 is COMPLETE"),
    exceptions.Forbidden("warre:reservations:create"),
    exceptions.ServiceUnavailable("Nova", "ConnectTimeout"),
    exceptions.NoAnswer("reservation-1", "reservation r1 has changed"),
    exceptions.ServiceRefused("Placement", "409 %s %(count)d"),
    exceptions.Refused("refused", "No", more=["data", None, 1.5]),
    exceptions.WindowNotFound("w1"),
    exceptions.WindowConflict("f1"),
    exceptions.AccessExists("gpu", "p1"),
    exceptions.AccessNotFound("a1"),
    exceptions.InMaintenance(),
    exceptions.LimitsNotRegistered("hours"),
    exceptions.OwnerGone(),
    exceptions.QuotaExceeded([{"resource": "hours", "limit": 9, "used": 8, "asked": 2}]),
]

# What v1 answers to a new booking; all that isn't here is 400, as it is with Warre.
STATUS = {
    "flavor_not_found": 404,
    "reservation_not_found": 404,
    "try_again": 409,
    "service_refused": 502,
    "service_unavailable": 503,
    "limits_not_registered": 503,
    "quota_exceeded": 413,
}
# And to a change, where only the types that Blazar knows not to be fatal can be used.
STATUS_OF_CHANGE = {"fixed_value": 409}

every_error = pytest.mark.parametrize(
    "error", SAMPLES, ids=[f"{type(e).__name__}-{e.code}" for e in SAMPLES]
)
either = pytest.mark.parametrize("updating", [False, True], ids=["booking", "changing"])


@pytest.fixture(autouse=True)
def exposed():
    errors.expose_to_v1()


def spared():
    """The exact types that cost no lease, as Blazar's update_lease has them in its decorator."""
    decorated = inspect.getclosurevars(service.ManagerService.update_lease)
    return decorated.nonlocals["non_fatal_exceptions"]


def sent(error):
    """An exception of the manager as it is on the wire."""
    try:
        raise error
    except type(error):
        return rpc.serialize_remote_exception(sys.exc_info())


def v1_answer(remote):
    """Status and body of Blazar's v1 when the manager answered with an exception."""
    app = flask.Flask("v1")
    rest = v1.Rest("leases", __name__, url_prefix="/leases")

    @rest.get("")
    def fail(request):
        raise remote

    app.register_blueprint(rest)
    headers = {"X-Service-Catalog": "[]", "Accept": "application/json"}
    answer = app.test_client().get("/leases", headers=headers)
    return answer.status_code, answer.get_json()


def test_every_error_has_a_sample():
    defined = {
        cls
        for _, cls in inspect.getmembers(exceptions, inspect.isclass)
        if issubclass(cls, exceptions.WarreError)
    }
    assert {type(error) for error in SAMPLES} == defined


@every_error
def test_v1_answers_a_booking(error):
    remote = rpc.deserialize_remote_exception(sent(errors.as_blazar(error)), [])
    status, body = v1_answer(remote)
    assert status == STATUS.get(error.code, 400)
    assert body["error_message"] == error.message


@every_error
def test_v1_answers_a_change(error):
    refusal = errors.as_blazar(error, updating=True)
    status, body = v1_answer(rpc.deserialize_remote_exception(sent(refusal), []))
    assert status == STATUS_OF_CHANGE.get(error.code, 400)
    assert body["error_message"] == error.message


@every_error
@either
def test_status_is_one_of_an_errors(error, updating):
    code = errors.as_blazar(error, updating=updating).code
    assert 400 <= code < 500 or code in (502, 503)


def test_v1_hides_what_it_cannot_find():
    """So the tests above would fail for a class that isn't where v1 looks."""

    class WarreElsewhere(blazar_exc.BlazarException):
        code = 409

    remote = rpc.deserialize_remote_exception(sent(WarreElsewhere("No")), [])
    assert v1_answer(remote)[0] == 500


def test_v1_finds_our_exceptions_in_the_process_of_the_api():
    script = (
        "import warre_blazar.api.controllers.reservations, warre_blazar.api.controllers.warre\n"
        "import blazar.api.v1.app, blazar.api.v2.app\n"
        "from blazar.manager import exceptions\n"
        "print(exceptions.WarreTryAgain.code)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stdout == "409\n", done.stderr


@pytest.mark.parametrize(
    "module",
    ["blazar.exceptions", "blazar.manager.exceptions", "warre_blazar.plugins.errors"],
)
def test_our_client_rebuilds_exceptions_of(module):
    assert module in manager._MODULES


@every_error
@either
def test_code_and_detail_survive_rpc(error, updating):
    refusal = errors.as_blazar(error, updating=updating)
    rebuilt = rpc.deserialize_remote_exception(sent(refusal), manager._MODULES)
    assert isinstance(rebuilt, type(refusal))
    assert rebuilt.kwargs["warre"] == {"code": error.code, "detail": error.detail}
    assert rebuilt.args == (error.message,)
    assert rebuilt.code == refusal.code


@every_error
@either
def test_our_client_makes_the_same_error_of_it(error, updating):
    refusal = errors.as_blazar(error, updating=updating)
    rebuilt = rpc.deserialize_remote_exception(sent(refusal), manager._MODULES)
    refused = manager._refusal(rebuilt)
    assert (refused.code, refused.message, refused.detail) == (
        error.code,
        error.message,
        error.detail,
    )


@every_error
def test_detail_is_json(error):
    assert json.loads(json.dumps(error.detail)) == error.detail


def test_update_lease_spares_exact_types():
    """That the list was found at all, and is what these tests take it for."""
    assert blazar_exc.InvalidInput in spared()
    assert blazar_exc.BlazarException not in spared()


@every_error
def test_no_lease_is_lost_by_a_refused_change(error):
    assert type(errors.as_blazar(error, updating=True)) in spared()


DATABASE = [
    pytest.param(db_exc.DBDeadlock(), id="deadlock"),
    pytest.param(db_exc.DBConnectionError(), id="no connection"),
    pytest.param(sqlalchemy.exc.OperationalError("SELECT 1", {}, Exception()), id="SQLAlchemy's"),
]


@pytest.mark.parametrize("failure", DATABASE)
def test_no_lease_is_lost_by_a_failing_database(failure):
    with pytest.raises(blazar_exc.BlazarException) as raised, errors.translated(updating=True):
        raise failure
    assert type(raised.value) in spared()
    assert raised.value.kwargs["warre"]["code"] == "service_unavailable"


@pytest.mark.parametrize("failure", DATABASE)
def test_a_failing_database_is_a_service_that_is_away(failure):
    with pytest.raises(errors.WarreServiceUnavailable) as raised, errors.translated():
        raise failure
    assert "SELECT" not in str(raised.value)


@every_error
@either
def test_translated_raises_what_as_blazar_makes(error, updating):
    expected = errors.as_blazar(error, updating=updating)
    with pytest.raises(type(expected)) as raised, errors.translated(updating=updating):
        raise error
    assert type(raised.value) is type(expected)
    assert raised.value.kwargs == expected.kwargs
    assert raised.value.__cause__ is error


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(KeyError("bug"), id="a bug"),
        pytest.param(blazar_exc.NotFound("x"), id="Blazar's"),
    ],
)
def test_translated_leaves_the_rest_alone(other):
    with pytest.raises(type(other)) as raised, errors.translated():
        raise other
    assert raised.value is other
