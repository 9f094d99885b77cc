"""What of the errors of Blazar's manager reaches its log."""

import logging
from collections.abc import Iterator

import pytest
from blazar import exceptions as blazar_exc
from blazar.manager import exceptions as manager_exc

from warre_blazar.errors import blazar_errors, exceptions
from warre_blazar.plugins import lost_leases, refusal_log

MANAGER = logging.getLogger("blazar.manager.service")
STATUS = logging.getLogger("blazar.status")
BUS = logging.getLogger("oslo_messaging.rpc.server")

REFUSALS = [
    blazar_exc.InvalidStatus(),
    blazar_exc.InvalidInput("End date must be later than start date."),
    blazar_exc.NotFound(object="lease id 7"),
    blazar_errors.as_blazar(exceptions.TryAgain()),
    manager_exc.LeaseNameAlreadyExists(name="lease"),
    manager_exc.NotEnoughHostsAvailable(),
]
FAULTS = [TypeError("None"), blazar_exc.BlazarException("broken"), manager_exc.NovaClientError()]


@pytest.fixture(autouse=True)
def filtered() -> Iterator[None]:
    before = {name: list(logging.getLogger(name).filters) for name in refusal_log._FILTERS}
    refusal_log.register()
    yield
    for name, filters in before.items():
        logging.getLogger(name).filters = filters


def update_lease(error: Exception) -> None:
    """Fail as Blazar's manager does: it logs the error, and so does the message bus."""
    try:
        raise error
    except Exception:
        MANAGER.exception("Failed")
        BUS.exception("Exception during message handling")


def _basic_action(error: Exception) -> None:
    """Fail as Blazar's manager does while it starts or ends a lease."""
    try:
        raise error
    except Exception:
        MANAGER.exception("Failed to execute action")


def status_wrapper() -> None:
    """Fail as Blazar's wrapper does that sets the status of a lease to ERROR."""
    try:
        raise blazar_exc.NotFound(object="lease id 7")
    except Exception as error:
        STATUS.exception("Lease %s went into ERROR status. %s", "7", error)


@pytest.mark.parametrize("error", REFUSALS, ids=lambda e: type(e).__name__)
def test_refusal_is_one_line_without_a_traceback(error: Exception, caplog):
    caplog.set_level(logging.INFO, BUS.name)
    update_lease(error)
    (line,) = caplog.records
    assert (line.levelname, line.exc_info) == ("INFO", None)
    assert str(error) in line.getMessage()


@pytest.mark.parametrize("error", FAULTS, ids=lambda e: type(e).__name__)
def test_fault_keeps_its_tracebacks(error: Exception, caplog):
    update_lease(error)
    assert [line.levelname for line in caplog.records if line.exc_info] == ["ERROR", "ERROR"]


def test_failed_start_or_end_keeps_its_traceback(caplog):
    _basic_action(blazar_exc.InvalidStatus())
    assert [line.levelname for line in caplog.records if line.exc_info] == ["ERROR"]


@pytest.mark.parametrize("is_lost", [True, False])
def test_lease_in_error_is_logged_unless_it_is_gone(is_lost: bool, caplog, monkeypatch):
    monkeypatch.setattr(lost_leases, "is_lost", lambda lease_id: is_lost)
    status_wrapper()
    assert len(caplog.records) == (0 if is_lost else 1)
