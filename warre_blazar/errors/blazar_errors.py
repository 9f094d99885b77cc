"""Translates this package's errors into Blazar exceptions that the manager may raise.

There are two reasons why the manager can't raise this package's own errors:

- Blazar's v1 API looks up an exception's class by name in a few modules of Blazar. It reads the
  HTTP status from this class.
- Blazar's ``update_lease`` sets the lease to ERROR on every exception whose type isn't in a short
  list.

Most errors are therefore translated into Blazar's own ``InvalidInput`` (400). If Blazar has no
exception with an error's status, the error is translated into a class of this module.
``expose_to_v1`` puts these classes where v1 looks for them.

The v2 API of this package reads the error's code and detail from the exception's
``kwargs["warre"]``. oslo.messaging sends the ``kwargs`` from the manager to the API.
"""

import datetime

from blazar import exceptions as blazar_exc
from blazar.manager import exceptions as manager_exc

from warre_blazar.errors import exceptions, statuses


class WarreServiceUnavailable(blazar_exc.BlazarException):
    """Nova, Placement, Keystone or the database doesn't answer."""

    code = 503


class WarreServiceRefused(blazar_exc.BlazarException):
    """Nova, Placement or Keystone refused a request that a booking needs."""

    code = 502


class WarreQuotaExceeded(blazar_exc.BlazarException):
    """The booking would make the project exceed its quota."""

    code = 413


class WarreNoHostMatches(blazar_exc.BlazarException):
    """No host could hold an instance of the flavor, even if nothing else were booked."""

    code = 409


class WarreTryAgain(blazar_exc.BlazarException):
    """Too many requests booked the same slots, hosts or quota at the same time."""

    code = 409


class TooEarly(Exception):
    """Blazar tries to start or end a reservation before the lease's start or end.

    This isn't a ``BlazarException``, because after a ``BlazarException`` Blazar would set the
    reservation to ERROR. After any other exception Blazar leaves the reservation as it is, and sets
    the lease and the event to ERROR. The repairer (``running.repair``) restores the statuses of the
    lease and the event.
    """


def check_time(due: datetime.datetime, now: datetime.datetime, what: str) -> None:
    """Check that a start or an end is due.

    :param due: the time at which the start or the end is due, in naive UTC.
    :param now: the present time, in naive UTC.
    :param what: a clause for the error's text, such as "reservation 7 starts".
    :raises TooEarly: the start or the end isn't due yet.
    """
    if now < due:
        raise TooEarly(f"The {what} at {due} UTC; its event came too early")


#: The exceptions to raise for an HTTP status. For a status that isn't here, ``InvalidInput`` (400)
#: is raised.
_BY_STATUS: dict[int, type[blazar_exc.BlazarException]] = {
    404: blazar_exc.NotFound,
    409: WarreTryAgain,
    413: WarreQuotaExceeded,
    502: WarreServiceRefused,
    503: WarreServiceUnavailable,
}
#: The exceptions to raise for an HTTP status while a lease is changed. Blazar has a short list of
#: exception types after which it doesn't set the changed lease to ERROR. The types in this dict and
#: ``InvalidInput`` are in that list.
_BY_STATUS_ON_UPDATE: dict[int, type[blazar_exc.BlazarException]] = {
    409: manager_exc.CantUpdateParameter,
}
#: Exceptions for single error codes. They take precedence over ``_BY_STATUS``.
_BY_CODE: dict[str, type[blazar_exc.BlazarException]] = {
    "no_host_matches": WarreNoHostMatches,
}


def expose_to_v1() -> None:
    """Put this module's exceptions into the module where v1 looks up exceptions by class name."""
    for cls in (*_BY_STATUS.values(), *_BY_CODE.values()):
        if cls.__module__ == __name__:
            setattr(manager_exc, cls.__name__, cls)


def as_blazar(
    error: exceptions.WarreError, *, updating: bool = False
) -> blazar_exc.BlazarException:
    """The Blazar exception with the text, code and detail of an error of this package.

    :param updating: whether the manager is changing a lease. During a change it may raise fewer
        types of exceptions.
    """
    status = statuses.in_manager(error.code, updating=updating)
    if updating:
        cls = _BY_STATUS_ON_UPDATE.get(status, blazar_exc.InvalidInput)
    else:
        by_status = _BY_STATUS.get(status, blazar_exc.InvalidInput)
        cls = _BY_CODE.get(error.code, by_status)
    return cls(error.message, warre={"code": error.code, "detail": error.detail})


def code_of(error: BaseException | None) -> str | None:
    """The code of this package's error that an exception carries, or None."""
    carried = getattr(error, "kwargs", {}).get("warre")
    return str(carried["code"]) if isinstance(carried, dict) else None
