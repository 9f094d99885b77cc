"""Lets Blazar's v1 API make trusts only for leases that need one, and say why it couldn't."""

import types
from typing import Any

import flask
from blazar import exceptions as blazar_exc
from blazar.utils import trusts

from warre_blazar.domain.flavors.flavor import RESOURCE_TYPE
from warre_blazar.errors import exceptions
from warre_blazar.errors.blazar_errors import as_blazar
from warre_blazar.openstack import keystone
from warre_blazar.wsgi import lease_bodies

#: Blazar's own function, which makes a trust in Keystone.
_make_trust = trusts.create_trust

_NONE = types.SimpleNamespace(id=None)


def register() -> None:
    """Make no trusts for new leases of this package, in this process."""
    trusts.create_trust = _trust_for_request


def _trust_for_request() -> Any:
    """The trust for what the present request creates. Its id is None for a lease of ours.

    :raises BlazarException: Keystone makes no trust. Blazar's own answer would be a 500.
    """
    lease = flask.request.environ.get(lease_bodies.CHECKED) if flask.has_request_context() else None
    if lease and any(r["resource_type"] == RESOURCE_TYPE for r in lease["reservations"]):
        return _NONE
    try:
        with keystone.speaking_of("Keystone", "a trust for Blazar's user: "):
            return _make_trust()
    except exceptions.ServiceRefused as error:
        # Keystone refuses each time, for instance because of a restricted application credential.
        # Azimuth shows its users why if the status is 400, and otherwise tries again for ever.
        raise blazar_exc.InvalidInput(error.message) from error
    except exceptions.WarreError as error:
        raise as_blazar(error) from error
