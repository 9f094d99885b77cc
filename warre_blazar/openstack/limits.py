"""The limits of projects in Keystone, read through oslo.limit."""

import contextlib
import functools
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any

from keystoneauth1 import exceptions as ks_exc
from openstack import exceptions as sdk_exc
from oslo_config import cfg
from oslo_limit import exception as limit_exc
from oslo_limit import limit

from warre_blazar import texts
from warre_blazar.conf import authtoken
from warre_blazar.domain.booking.quota import HOURS, RESERVATIONS, Amount, LimitsInForce
from warre_blazar.errors import exceptions
from warre_blazar.openstack import keystone, limits_login
from warre_blazar.openstack.locks import Locks

_SERVICE = "Keystone's list of limits"


class _Remembered:
    """A cache of the limits of projects, with the times when they were read from Keystone."""

    def __init__(self) -> None:
        self._limits: dict[str, tuple[float, LimitsInForce | None]] = {}
        self._lock = threading.Lock()

    def get(self, project_id: str, since: float) -> LimitsInForce | None:
        """The limits of a project, or None if they weren't read after ``since``.

        :param since: a time of the monotonic clock.
        """
        with self._lock:
            read_at, limits = self._limits.get(project_id, (-float("inf"), None))
        return limits if read_at > since else None

    def put(self, project_id: str, read_at: float, limits: LimitsInForce) -> None:
        """Keep the limits of a project.

        :param read_at: the time when the limits were read, by the monotonic clock.
        """
        with self._lock:
            self._limits[project_id] = (read_at, limits)

    def clear(self) -> None:
        """Drop all limits."""
        with self._lock:
            self._limits.clear()


_remembered = _Remembered()
#: Of the threads that need the limits of the same project, one asks Keystone for all of them.
_locks = Locks()


@functools.cache
def _enforcer() -> limit.Enforcer:
    # oslo.limit gets 0 as the usage: this package counts the usage itself, in the transaction of a
    # booking. The cache of oslo.limit is off, because it never expires.
    authtoken.complete_limits(cfg.CONF)
    return limit.Enforcer(lambda project_id, names: dict.fromkeys(names, 0), cache=False)


@contextlib.contextmanager
def _speaking() -> Iterator[None]:
    try:
        yield
    except (limit_exc.SessionInitError, ks_exc.AuthPluginException) as error:
        raise exceptions.ServiceUnavailable(_SERVICE, limits_login.why_not(error)) from error
    except ValueError as error:
        raise exceptions.ServiceUnavailable(
            _SERVICE, texts.services.LIMITS_SAID(said=str(error))
        ) from error
    except KeyError as error:
        # oslo.limit reads the enforcement model from any answer, also from that of a failure.
        raise exceptions.ServiceUnavailable(
            _SERVICE, texts.services.NOT_IN_ANSWER(name=str(error))
        ) from error
    except sdk_exc.HttpException as error:
        said = f"{error.status_code} {error.details or type(error).__name__}"
        raise exceptions.ServiceUnavailable(_SERVICE, texts.services.SAID(said=said)) from error
    except ks_exc.SSLError as error:
        raise exceptions.ServiceUnavailable(_SERVICE, limits_login.why_not(error)) from error
    except (ks_exc.ClientException, sdk_exc.SDKException) as error:
        raise exceptions.ServiceUnavailable(
            _SERVICE, texts.services.SAID(said=type(error).__name__)
        ) from error


def of_project(project_id: str, max_age: float = 0) -> Amount:
    """The limits of a project. -1 means unlimited.

    :param max_age: the age in seconds up to which cached limits are returned.
    :raises LimitsNotRegistered, ServiceUnavailable: in the same cases as ``with_own``.
    """
    return with_own(project_id, max_age).amount


def with_own(project_id: str, max_age: float = 0) -> LimitsInForce:
    """The limits of a project, and which of them are its own.

    :param max_age: the same as for ``of_project``.
    :raises LimitsNotRegistered: the operator hasn't registered limits in Keystone.
    :raises ServiceUnavailable: Keystone can't be reached, or the options in [oslo_limit] are wrong.
    """
    since = time.monotonic() - max_age
    remembered = _remembered.get(project_id, since)
    if remembered is not None:
        return remembered
    with _locks.held(project_id):
        # Another thread may have asked Keystone while this one waited for the lock.
        return _remembered.get(project_id, since) or _read(project_id)


def _read(project_id: str) -> LimitsInForce:
    """The limits of a project, as Keystone has them now. They are put into the cache."""
    begun = time.monotonic()
    with _speaking():
        registered = _registered()
        own = dict(_enforcer().get_project_limits(project_id, None))  # type: ignore[arg-type]
    limits = _of_project(registered, own)
    _remembered.put(project_id, begun, limits)
    return limits


def of_all_projects() -> tuple[Amount, dict[str, LimitsInForce]]:
    """The registered limits, and the limits of each project that has any limit of its own.

    :raises LimitsNotRegistered, ServiceUnavailable: in the same cases as ``of_project``.
    """
    own: dict[str, dict[str, int]] = {}
    with _speaking():
        registered = _registered()
        for each in _identity().limits(**_service()):
            if each.project_id and each.resource_name in (RESERVATIONS, HOURS):
                own.setdefault(each.project_id, {})[each.resource_name] = each.resource_limit
    return _amount(registered), {p: _of_project(registered, of) for p, of in own.items()}


def register(
    wanted: Mapping[str, int | None], if_missing: Mapping[str, int]
) -> dict[str, tuple[int | None, int]]:
    """Register limits in Keystone, or change registered ones.

    A registered limit applies to all projects that have no limit of their own. Blazar's service
    user registers limits with its role in its own project, since its role on the system may only
    allow it to read them.

    :param wanted: limits by resource name. If the value is None, a registered limit stays as it is.
    :param if_missing: what to register for a value of None, if the limit isn't registered.
    :returns: the former limit (None if it wasn't registered) and the present limit, by resource
        name.
    :raises ServiceUnavailable: in the same cases as ``of_project``.
    :raises ServiceRefused: the service user may not register limits.
    """
    changes = {}
    with _speaking():
        there = {r.resource_name: r for r in _identity().registered_limits(**_service())}
        service = _service()
    for name, limit_now in wanted.items():
        known = there.get(name)
        before = known.default_limit if known else None
        after = limit_now if limit_now is not None else before
        after = if_missing[name] if after is None else after
        if known is None:
            made = {"resource_name": name, "default_limit": after, **service}
            _write("POST", "", {"registered_limits": [made]})
        elif after != before:
            _write("PATCH", f"/{known.id}", {"registered_limit": {"default_limit": after}})
        changes[name] = (before, after)
    return changes


def _write(method: str, path: str, body: Mapping[str, Any]) -> None:
    url = f"{keystone.auth_url(cfg.CONF)}/registered_limits{path}"
    # Keystone changes no default while a project has a limit of its own of the same name.
    what = (
        f"user {cfg.CONF.os_admin_username}, who needs the role admin, registers a limit "
        "(to change it, first take the projects' own limits of this name away): "
    )
    with keystone.speaking_of(_SERVICE, what):
        keystone.service_session().request(url, method, json=body)


def _registered() -> dict[str, int]:
    return dict(_enforcer().get_registered_limits(None))  # type: ignore[arg-type]


def _of_project(registered: Mapping[str, int], own: Mapping[str, int]) -> LimitsInForce:
    """
    :param own: the project's own limits, perhaps also of resources that others count.
    """
    names = frozenset(own) & {RESERVATIONS, HOURS}
    return LimitsInForce(_amount({**registered, **own}), names)


def _amount(limits: Mapping[str, int]) -> Amount:
    missing = {RESERVATIONS, HOURS} - set(limits)
    if missing:
        raise exceptions.LimitsNotRegistered(", ".join(sorted(missing)))
    return Amount(limits[RESERVATIONS], limits[HOURS])


def _identity() -> Any:
    """openstacksdk's client for Keystone, with the credentials in [oslo_limit]."""
    return _enforcer().connection


def _service() -> dict[str, str]:
    """The service and the region that limits in Keystone belong to.

    oslo.limit determines both from its options, but has no public function that returns them.
    """
    utils = _enforcer().model._utils  # type: ignore[attr-defined]
    return {"service_id": utils._service_id, "region_id": utils._region_id}
