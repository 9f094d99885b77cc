"""A project's limits in Keystone, through oslo.limit, for Blazar's endpoint."""

import functools

from keystoneauth1 import exceptions as ks_exc
from openstack import exceptions as sdk_exc
from oslo_limit import exception as limit_exc
from oslo_limit import limit

from warre_blazar import exceptions

RESERVATIONS = "reservation"
HOURS = "hours"

_SERVICE = "Keystone's limits"


@functools.cache
def _enforcer() -> limit.Enforcer:
    # We count usage ourselves, in the transaction that adds to it. Limits may change any time.
    return limit.Enforcer(lambda project_id, names: dict.fromkeys(names, 0), cache=False)


def of_project(project_id: str) -> dict[str, int]:
    """The project's limits by resource name; -1 is unlimited.

    :raises LimitsNotRegistered: the operator's mistake.
    :raises ServiceUnavailable: Keystone is away, or [oslo_limit] isn't set right.
    """
    try:
        enforcer = _enforcer()
        limits = dict(enforcer.get_registered_limits(None))  # type: ignore[arg-type]
        limits |= dict(enforcer.get_project_limits(project_id, None))  # type: ignore[arg-type]
    except (limit_exc.SessionInitError, ValueError) as error:
        raise exceptions.ServiceUnavailable(_SERVICE, f"[oslo_limit]: {error}") from error
    except (ks_exc.ClientException, sdk_exc.SDKException) as error:
        raise exceptions.ServiceUnavailable(_SERVICE, type(error).__name__) from error
    missing = {RESERVATIONS, HOURS} - set(limits)
    if missing:
        raise exceptions.LimitsNotRegistered(", ".join(sorted(missing)))
    return {name: limits[name] for name in (RESERVATIONS, HOURS)}
