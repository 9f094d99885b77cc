"""Reads device profiles from Cyborg."""

from typing import Any

from keystoneauth1 import adapter
from keystoneauth1 import exceptions as ks_exc
from oslo_config import cfg

from warre_blazar import texts
from warre_blazar.errors import exceptions
from warre_blazar.openstack import keystone

cfg.CONF.import_group("placement", "blazar.utils.openstack.placement")

_SERVICE = "Cyborg"
_SERVICE_TYPE = "accelerator"


def _adapter() -> adapter.Adapter:
    conf = cfg.CONF
    return adapter.Adapter(
        keystone.service_session(),
        service_type=_SERVICE_TYPE,
        # Blazar has no options for Cyborg. So the interface and the region of Placement's endpoint
        # are used.
        interface=conf.placement.endpoint_type,
        region_name=conf.os_region_name,
        connect_retries=1,
    )


def endpoint() -> str | None:
    """The URL of Cyborg's API, or None if Keystone's catalog doesn't list Cyborg.

    :raises ServiceUnavailable: Keystone can't be reached.
    :raises ServiceRefused: Keystone refuses the login.
    """
    with keystone.speaking_of("Keystone"):
        try:
            # The call asks for no version of the API, so keystoneauth sends no request to Cyborg.
            found = _adapter().get_endpoint()
        except ks_exc.EndpointNotFound:
            return None
    return str(found) if found else None


def device_profile(url: str, name: str) -> Any:
    """The groups of a device profile as Cyborg has them, or None if there is no such profile.

    Nova sends the same request to Cyborg when a server is booted. Every version of Cyborg's API
    supports this request.

    :param url: the URL that ``endpoint`` returned.
    :raises ServiceUnavailable: Cyborg can't be reached, or its answer isn't a list of device
        profiles.
    :raises ServiceRefused: Cyborg refuses the request.
    """
    root = url.rstrip("/")
    root = root if root.endswith("/v2") else f"{root}/v2"
    with keystone.speaking_of(_SERVICE):
        answer = _adapter().request(
            f"{root}/device_profiles",
            "GET",
            params={"name": name},
            headers={"Accept": "application/json"},
        )
    try:
        profiles = [each for each in answer.json()["device_profiles"] if each["name"] == name]
        return profiles[0]["groups"] if profiles else None
    except (ValueError, LookupError, TypeError) as error:
        raise exceptions.ServiceUnavailable(_SERVICE, texts.services.NO_PROFILES()) from error
