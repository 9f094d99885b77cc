"""Projects' limits in Keystone, through oslo.limit, for Blazar's endpoint."""

import contextlib
import functools
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any

from keystoneauth1 import exceptions as ks_exc
from openstack import exceptions as sdk_exc
from oslo_limit import exception as limit_exc
from oslo_limit import limit

from warre_blazar import exceptions
from warre_blazar.domain.quota import HOURS, RESERVATIONS, Amount

_SERVICE = "Keystone's limits"

_remembered: dict[str, tuple[float, Amount]] = {}
_lock = threading.Lock()


@functools.cache
def _enforcer() -> limit.Enforcer:
    # We count usage ourselves, in the transaction that adds to it. What oslo.limit remembers it
    # remembers for good.
    return limit.Enforcer(lambda project_id, names: dict.fromkeys(names, 0), cache=False)


@contextlib.contextmanager
def _speaking() -> Iterator[None]:
    try:
        yield
    except (limit_exc.SessionInitError, ValueError) as error:
        raise exceptions.ServiceUnavailable(_SERVICE, f"[oslo_limit]: {error}") from error
    except (ks_exc.ClientException, sdk_exc.SDKException) as error:
        raise exceptions.ServiceUnavailable(_SERVICE, type(error).__name__) from error


def of_project(project_id: str, max_age: float = 0) -> Amount:
    """The project's limits; -1 is unlimited.

    :param max_age: seconds since which they may have been asked for.
    :raises LimitsNotRegistered: the operator's mistake.
    :raises ServiceUnavailable: Keystone is away, or [oslo_limit] isn't set right.
    """
    now = time.monotonic()
    with _lock:
        asked_at, remembered = _remembered.get(project_id, (-float("inf"), Amount()))
    if now - asked_at < max_age:
        return remembered
    with _speaking():
        registered = _registered()
        own = dict(_enforcer().get_project_limits(project_id, None))  # type: ignore[arg-type]
    found = _amount(registered | own)
    with _lock:
        _remembered[project_id] = (now, found)
    return found


def of_all_projects() -> tuple[Amount, dict[str, Amount]]:
    """The registered limits, and those of each project that has any of its own.

    :raises LimitsNotRegistered, ServiceUnavailable: as ``of_project``.
    """
    own: dict[str, dict[str, int]] = {}
    with _speaking():
        registered = _registered()
        for each in _identity().limits(**_service()):
            if each.project_id and each.resource_name in (RESERVATIONS, HOURS):
                own.setdefault(each.project_id, {})[each.resource_name] = each.resource_limit
    return _amount(registered), {p: _amount(registered | limits) for p, limits in own.items()}


def register(defaults: Mapping[str, int | None]) -> dict[str, tuple[int | None, int]]:
    """Register limits in Keystone, or change what every project has that has none of its own.

    :param defaults: by resource name; None leaves one that is registered, else is unlimited.
    :returns: what each was before (None: not registered) and is now.
    :raises ServiceUnavailable: as ``of_project``, or the service user may not do it.
    """
    changes = {}
    with _speaking():
        there = {r.resource_name: r for r in _identity().registered_limits(**_service())}
        for name, wanted in defaults.items():
            known = there.get(name)
            before = known.default_limit if known else None
            after = wanted if wanted is not None else -1 if before is None else before
            if known is None:
                _identity().create_registered_limit(
                    resource_name=name, default_limit=after, **_service()
                )
            elif after != before:
                _identity().update_registered_limit(known, default_limit=after)
            changes[name] = (before, after)
    return changes


def _registered() -> dict[str, int]:
    return dict(_enforcer().get_registered_limits(None))  # type: ignore[arg-type]


def _amount(limits: Mapping[str, int]) -> Amount:
    missing = {RESERVATIONS, HOURS} - set(limits)
    if missing:
        raise exceptions.LimitsNotRegistered(", ".join(sorted(missing)))
    return Amount(limits[RESERVATIONS], limits[HOURS])


def _identity() -> Any:
    """openstacksdk's client of Keystone, with the login of [oslo_limit]."""
    return _enforcer().connection


def _service() -> dict[str, str]:
    """Whose limits: oslo.limit finds that out by its options, and doesn't tell."""
    found = _enforcer().model._utils  # type: ignore[attr-defined]
    return {"service_id": found._service_id, "region_id": found._region_id}
