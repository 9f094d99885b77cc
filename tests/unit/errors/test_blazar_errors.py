"""Our errors as they leave the manager: over RPC, through v1, and without breaking a lease."""

import datetime
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

from warre_blazar import texts
from warre_blazar.errors import blazar_errors, exceptions
from warre_blazar.openstack import manager
from warre_blazar.plugins import error_translation

TIME = datetime.datetime(2026, 1, 1)

# At least one error of every class. A class with several codes has one error for each code.
SAMPLES = [
    exceptions.WarreError(texts.refusals.INTERNAL(), why="unknown"),
    exceptions.InvalidField("amount", texts.expected.WHOLE_NUMBER(least=1)),
    exceptions.UncarriedText("flavor_id"),
    exceptions.InvalidPeriod(texts.refusals.PERIOD(start=TIME, end=TIME)),
    exceptions.FlavorNotFound("gpu"),
    exceptions.FlavorAmbiguous("gpu", [{"id": "f1"}, {"id": "f2"}]),
    exceptions.FlavorNotAccessible("gpu"),
    exceptions.FlavorInUse("f1", 2),
    exceptions.FlavorNotBookable(texts.refusals.FLAVOR_INACTIVE()),
    exceptions.FlavorNotBookable(texts.refusals.TOO_LONG(max_length_hours=24)),
    exceptions.FlavorNotBookable(texts.refusals.BEFORE_FLAVOR_START(start=TIME)),
    exceptions.FlavorNotBookable(texts.refusals.AFTER_FLAVOR_END(end=TIME)),
    exceptions.SlotsExhausted(3, 1, 2),
    exceptions.HostsExhausted(3, 1, 2),
    exceptions.NoHostMatches(3, 2),
    exceptions.TryAgain(),
    exceptions.ReservationNotFound("r1"),
    exceptions.ReservationDeleted("r1", TIME, "u1"),
    exceptions.LeaseShared("l1"),
    exceptions.MixedLease(["physical:host"]),
    exceptions.FixedValue("amount"),
    exceptions.ChangedSinceShown({"name": {"now": "a", "sent": "b"}}),
    exceptions.InvalidState(texts.refusals.IN_STATE(reservation="r1", status="COMPLETE")),
    exceptions.Forbidden("warre:reservations:create"),
    exceptions.ServiceUnavailable("Nova", texts.services.SAID(said="ConnectFailure")),
    exceptions.DatabaseUnavailable(OSError("gone")),
    exceptions.ServiceTimedOut("Nova", texts.services.SAID(said="ConnectTimeout")),
    exceptions.Busy(),
    exceptions.IdempotencyKeyReused(),
    exceptions.NoAnswer("reservation-1", texts.services.CHANGED(reservation="r1")),
    exceptions.RequestInvalid(
        "Placement", texts.services.REFUSAL(said="No such trait(s): CUSTOM_X.")
    ),
    exceptions.ServiceRefused("Placement", texts.services.REFUSAL(said="409 %s %(count)d {x}")),
    exceptions.HostsGone("Placement", texts.services.NO_PROVIDER(host="cmp1"), {"cmp1"}),
    exceptions.PlacesUnusable(1, 2),
    exceptions.Refused(texts.bodies.NO_LENGTH(), more=["data", None, 1.5]),
    exceptions.Relayed({"code": "refused", "message": "No", "detail": {}}),
    exceptions.SeriesNotFound("s1"),
    exceptions.SeriesEnded("s1"),
    exceptions.SeriesRefused([{"start": "2026-01-01T00:00+00:00", "message": "No slot"}], 2),
    exceptions.WaitNotFound("w1"),
    exceptions.WaitOver("w1", "BOOKED", TIME),
    exceptions.TooManyWaits(10),
    exceptions.WindowNotFound("w1"),
    exceptions.WindowConflict("f1"),
    exceptions.AccessExists("gpu", "p1"),
    exceptions.AccessNotFound("a1"),
    exceptions.ShareExists("r1", "p1"),
    exceptions.ShareNotFound("s1"),
    exceptions.CalendarNotFound("c1"),
    exceptions.CalendarExists("p1"),
    exceptions.InMaintenance(),
    exceptions.CreditsRefused("Insufficient VCPU credits available"),
    exceptions.LimitsNotRegistered("hours"),
    exceptions.QuotaExceeded([{"resource": "hours", "limit": 9, "used": 8, "asked": 2}]),
    exceptions.DeviceNotCountable("pci_passthrough:alias", "gpu", texts.extra_specs.NO_PROFILE()),
    exceptions.Misconfigured("[warre] pci_alias", texts.services.NO_FILE()),
]

# The statuses of v1 for a new booking. The status of all other errors is 400, as in Warre.
STATUS = {
    "flavor_not_found": 404,
    "flavor_not_accessible": 404,
    "flavor_ambiguous": 409,
    "reservation_not_found": 404,
    "no_host_matches": 409,
    "series_ended": 409,
    "wait_over": 409,
    "try_again": 409,
    "service_refused": 502,
    "service_unavailable": 503,
    "limits_not_registered": 503,
    "misconfigured": 503,
    "quota_exceeded": 413,
}
# The same for a change, which can only use the exceptions that Blazar lists as not fatal.
STATUS_OF_CHANGE = {"fixed_value": 409, "changed_since_shown": 409}

every_error = pytest.mark.parametrize(
    "error", SAMPLES, ids=[f"{type(e).__name__}-{e.code}" for e in SAMPLES]
)
either = pytest.mark.parametrize("updating", [False, True], ids=["booking", "changing"])


@pytest.fixture(autouse=True)
def exposed():
    blazar_errors.expose_to_v1()


def spared():
    """The exception types for which update_lease doesn't set a lease to ERROR."""
    method = service.ManagerService.update_lease
    # Our own wrapper may be around Blazar's, whose variable this is.
    while "non_fatal_exceptions" not in (found := inspect.getclosurevars(method).nonlocals):
        method = method.__wrapped__
    return found["non_fatal_exceptions"]


def sent(error):
    """An exception of the manager as the message bus carries it."""
    try:
        raise error
    except type(error):
        return rpc.serialize_remote_exception(sys.exc_info())


def v1_answer(remote):
    """The status and body of Blazar's v1 for an exception of the manager."""
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
def test_v1_answers_a_refused_booking_with_its_status(error):
    remote = rpc.deserialize_remote_exception(sent(blazar_errors.as_blazar(error)), [])
    status, body = v1_answer(remote)
    assert status == STATUS.get(error.code, 400)
    assert body["error_message"] == error.message


@every_error
def test_v1_answers_a_refused_change_with_its_status(error):
    refusal = blazar_errors.as_blazar(error, updating=True)
    status, body = v1_answer(rpc.deserialize_remote_exception(sent(refusal), []))
    assert status == STATUS_OF_CHANGE.get(error.code, 400)
    assert body["error_message"] == error.message


@every_error
@either
def test_status_is_a_client_or_service_error(error, updating):
    code = blazar_errors.as_blazar(error, updating=updating).code
    assert 400 <= code < 500 or code in (502, 503)


def test_v1_answers_unknown_exception_class_with_500():
    """This shows that the tests above would fail for a class that v1 can't find."""

    class WarreElsewhere(blazar_exc.BlazarException):
        code = 409

    remote = rpc.deserialize_remote_exception(sent(WarreElsewhere("No")), [])
    assert v1_answer(remote)[0] == 500


@pytest.mark.slow
def test_extension_exposes_our_exceptions_to_v1():
    script = (
        "from oslo_config import cfg\n"
        "from blazar.api.v1 import app\n"
        "from warre_blazar.site_rules import enabling\n"
        "from warre_blazar.wsgi import blazar_extension\n"
        "cfg.CONF([], project='blazar', default_config_files=[])\n"
        "cfg.CONF.set_override('plugins', [enabling.PLUGIN], group='manager')\n"
        "blazar_extension.load()\n"
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
    ["blazar.exceptions", "blazar.manager.exceptions", "warre_blazar.errors.blazar_errors"],
)
def test_our_client_rebuilds_exceptions_of(module):
    assert module in manager._MODULES


@every_error
@either
def test_code_and_detail_survive_rpc(error, updating):
    refusal = blazar_errors.as_blazar(error, updating=updating)
    rebuilt = rpc.deserialize_remote_exception(sent(refusal), manager._MODULES)
    assert isinstance(rebuilt, type(refusal))
    assert rebuilt.kwargs["warre"] == {"code": error.code, "detail": error.detail}
    assert rebuilt.args == (error.message,)
    assert rebuilt.code == refusal.code


@every_error
@either
def test_our_client_rebuilds_the_same_error(error, updating):
    refusal = blazar_errors.as_blazar(error, updating=updating)
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


def test_list_of_non_fatal_exceptions_is_found():
    """This shows that ``spared`` returns the list that the other tests need."""
    assert blazar_exc.InvalidInput in spared()
    assert blazar_exc.BlazarException not in spared()


@every_error
def test_refused_change_raises_a_non_fatal_exception(error):
    assert type(blazar_errors.as_blazar(error, updating=True)) in spared()


DATABASE = [
    pytest.param(db_exc.DBDeadlock(), id="deadlock"),
    pytest.param(db_exc.DBConnectionError(), id="no connection"),
    pytest.param(sqlalchemy.exc.OperationalError("SELECT 1", {}, Exception()), id="SQLAlchemy's"),
]


@pytest.mark.parametrize("failure", DATABASE)
def test_failing_database_raises_a_non_fatal_exception(failure):
    with (
        pytest.raises(blazar_exc.BlazarException) as raised,
        error_translation.translated(updating=True),
    ):
        raise failure
    assert type(raised.value) in spared()
    assert raised.value.kwargs["warre"]["code"] == "service_unavailable"


@pytest.mark.parametrize("failure", DATABASE)
def test_failing_database_is_an_unavailable_service(failure):
    with (
        pytest.raises(blazar_errors.WarreServiceUnavailable) as raised,
        error_translation.translated(),
    ):
        raise failure
    assert "SELECT" not in str(raised.value)


@every_error
@either
def test_translated_raises_the_exception_of_as_blazar(error, updating):
    expected = blazar_errors.as_blazar(error, updating=updating)
    with pytest.raises(type(expected)) as raised, error_translation.translated(updating=updating):
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
def test_translated_passes_other_exceptions_on(other):
    with pytest.raises(type(other)) as raised, error_translation.translated():
        raise other
    assert raised.value is other
