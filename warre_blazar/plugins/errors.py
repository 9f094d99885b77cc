"""Our errors as Blazar's, which is how they leave the manager.

Blazar's v1 API finds the status by the exception's class name in a few of its modules, and
``update_lease`` spares a lease from ERROR only for a few exact types. So most refusals are Blazar's
own ``InvalidInput`` (400); what has no counterpart there is put where v1 looks for it.

Our v2 API reads code and detail from ``kwargs["warre"]``, which oslo.messaging carries.
"""

import contextlib
import datetime
from collections.abc import Iterator

from blazar import exceptions as blazar_exc
from blazar.manager import exceptions as manager_exc
from oslo_log import log as logging
from oslo_utils import timeutils

from warre_blazar import exceptions
from warre_blazar.db import session

LOG = logging.getLogger(__name__)


class WarreServiceUnavailable(blazar_exc.BlazarException):
    """Nova, Placement or Keystone is away, or the database is."""

    code = 503


class WarreServiceRefused(blazar_exc.BlazarException):
    """Nova, Placement or Keystone refused what a booking needs."""

    code = 502


class WarreQuotaExceeded(blazar_exc.BlazarException):
    """The project would hold more than its quota."""

    code = 413


class WarreTryAgain(blazar_exc.BlazarException):
    """Too many at the same time."""

    code = 409


class TooEarly(Exception):
    """Blazar starts or ends a reservation before the lease's own time.

    Not one of Blazar's: these make it set the reservation to ERROR, others leave the reservation as
    it is. Blazar then sets lease and event to ERROR, from which ``services.repair`` returns both.
    """


def check_time(due: datetime.datetime, what: str) -> None:
    """:raises TooEarly: when something is to happen before it is due."""
    if timeutils.utcnow() < due:
        raise TooEarly(f"The {what} at {due} UTC; its event came too early")


_CLASSES: dict[str, type[blazar_exc.BlazarException]] = {
    "flavor_not_found": blazar_exc.NotFound,
    "reservation_not_found": blazar_exc.NotFound,
    "service_unavailable": WarreServiceUnavailable,
    "service_refused": WarreServiceRefused,
    "limits_not_registered": WarreServiceUnavailable,
    "quota_exceeded": WarreQuotaExceeded,
    "try_again": WarreTryAgain,
}

# What update_lease may raise without losing the lease: these exact types, among others.
_ON_UPDATE: dict[str, type[blazar_exc.BlazarException]] = {
    "fixed_value": manager_exc.CantUpdateParameter,
}


def expose_to_v1() -> None:
    """Put our exceptions where the v1 API looks a manager's exception up by its name."""
    for cls in (WarreServiceUnavailable, WarreServiceRefused, WarreQuotaExceeded, WarreTryAgain):
        setattr(manager_exc, cls.__name__, cls)


def as_blazar(
    error: exceptions.WarreError, *, updating: bool = False
) -> blazar_exc.BlazarException:
    """The Blazar exception that says the same."""
    classes = _ON_UPDATE if updating else _CLASSES
    cls = classes.get(error.code, blazar_exc.InvalidInput)
    return cls(error.message, warre={"code": error.code, "detail": error.detail})


@contextlib.contextmanager
def translated(*, updating: bool = False) -> Iterator[None]:
    """Let only Blazar's exceptions out.

    Blazar leaves a lease half way on any other, and tells the user "Internal Server Error".
    """
    try:
        yield
    except exceptions.WarreError as error:
        raise as_blazar(error, updating=updating) from error
    except session.FAILURES as error:
        if session.is_uncarried(error):
            text = exceptions.UncarriedText("flavor_id")  # the only text that a client sends us
            raise as_blazar(text, updating=updating) from error
        LOG.exception("The database failed")
        away = exceptions.ServiceUnavailable("The database", type(error).__name__)
        raise as_blazar(away, updating=updating) from error
