"""Books flavors of this package for clients that know only Blazar's ``flavor:instance``.

Such a client names a Nova flavor, by its id. If what it names is a flavor of this package to which
its project has access, the reservation is one of this package. From then on it differs from others
in two ways: its Nova flavor has the id that Blazar's plugin would give it, and v1 shows it as a
reservation of ``flavor:instance`` (``wsgi.stock_form``).
"""

from collections.abc import Callable, Mapping
from typing import Any

from blazar import exceptions as blazar_exc
from blazar.manager import exceptions as manager_exc
from blazar.manager import service
from blazar.plugins import flavor as stock_flavor
from oslo_config import cfg

from warre_blazar.db import flavors, session
from warre_blazar.domain.flavors.flavor import RESOURCE_TYPE
from warre_blazar.errors import blazar_errors
from warre_blazar.plugins import error_translation
from warre_blazar.plugins.wrapping import wrap
from warre_blazar.site_rules import conditions, enabling

#: The field by which this module says which flavor its client has sent. v1 refuses the field.
SENT = "sent_flavor"

#: The statuses of refusals for which v1 has more than one.
_REFUSED = (404, 409, 413)
#: The code of the error after which the same request may succeed.
_TRY_AGAIN = "try_again"

_Values = Mapping[str, Any]


def register() -> None:
    """Let the manager of this process book flavors of this package for these clients.

    It does so if the exact plugin for ``flavor:instance`` is enabled.
    """
    wrap(__name__, service.ManagerService, create_lease=_creating)


def _creating(method: Callable[..., Any]) -> Callable[..., Any]:
    def create_lease(self: Any, lease_values: dict[str, Any]) -> Any:
        reservations = lease_values.get("reservations", [])
        types = {each.get("resource_type") for each in reservations}
        is_enabled = enabling.EXACT_FLAVORS in cfg.CONF.manager.plugins
        if not is_enabled or stock_flavor.RESOURCE_TYPE not in types:
            return method(self, lease_values=lease_values)
        with error_translation.translated():
            known = _known(reservations)
        taken = [_taken(each) if _ref(each) in known else each for each in reservations]
        try:
            return method(self, lease_values={**lease_values, "reservations": taken})
        except blazar_exc.BlazarException as error:
            if _is_refusal(error):
                values = {**error.kwargs, "code": blazar_exc.InvalidInput.code}
                raise blazar_exc.InvalidInput(str(error), **values) from error
            raise

    return create_lease


def _is_refusal(error: blazar_exc.BlazarException) -> bool:
    """Whether the same request would be refused again.

    Such errors get the status 400. Azimuth shows its users only the texts of errors with 400 and
    500. After any other error it tries again, without an end.
    """
    if isinstance(error, manager_exc.NotEnoughHostsAvailable):
        return True
    return error.code in _REFUSED and blazar_errors.code_of(error) != _TRY_AGAIN


def _known(reservations: list[_Values]) -> set[str]:
    """The ids and names of flavors of this package that reservations of flavors name."""
    refs = {ref for each in reservations if (ref := _ref(each))}
    with session.reader() as db:
        return flavors.bookable(db, refs, conditions.caller().project_id)


def _ref(values: _Values) -> str | None:
    is_of_flavor = values.get("resource_type") == stock_flavor.RESOURCE_TYPE
    return str(values.get("flavor_id", "")) if is_of_flavor else None


def _taken(values: _Values) -> dict[str, Any]:
    """The reservation as this package's plugin books it."""
    return {**values, "resource_type": RESOURCE_TYPE, SENT: values["flavor_id"]}
