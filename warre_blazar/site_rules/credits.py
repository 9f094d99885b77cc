"""The credits service that the configuration names."""

import pathlib
from collections.abc import Callable, Mapping

from oslo_config import cfg

from warre_blazar import conf, texts
from warre_blazar.errors import exceptions
from warre_blazar.openstack import keystone
from warre_blazar.openstack.credits import CreditsService
from warre_blazar.services.credits.chameleon import ChameleonPortal
from warre_blazar.services.credits.charging import Charging
from warre_blazar.services.credits.coral_credits import CoralCredits

conf.register(cfg.CONF)
cfg.CONF.import_opt("enabled_filters", "blazar.enforcement.enforcement", group="enforcement")

#: Leases are charged while this filter is in ``[enforcement] enabled_filters``.
FILTER = "CreditsFilter"


def is_enabled() -> bool:
    """Whether leases are charged."""
    return FILTER in cfg.CONF.enforcement.enabled_filters


def charging() -> Charging:
    """What charges leases with the service.

    :raises Misconfigured: an option is missing, or can't be used.
    """
    options = cfg.CONF.enforcement
    speaks_coral = options.credits_api == "coral-credits"
    ca_file = options.credits_ca_file
    if ca_file and not pathlib.Path(ca_file).is_file():
        raise exceptions.Misconfigured("[enforcement] credits_ca_file", texts.services.NO_FILE())
    service = CreditsService(
        url=_required("credits_url").rstrip("/"),
        headers=_bearer(_required("credits_token")) if speaks_coral else _as_blazar,
        timeout=options.credits_timeout,
        verify=ca_file or True,
    )
    api: CoralCredits | ChameleonPortal = (
        CoralCredits(service, options.credits_resource_classes)
        if speaks_coral
        else ChameleonPortal(service)
    )
    return Charging(api, allows_when_away=options.credits_when_away == "allow")


def context(of_filter: Mapping[str, str | None]) -> dict[str, str | None]:
    """What the service is told about the project and the cloud.

    :param of_filter: the context that Blazar passes to filters.
    """
    names = ("user_id", "project_id", "auth_url", "region_name")
    url = cfg.CONF.enforcement.credits_auth_url
    return {name: of_filter[name] for name in names} | ({"auth_url": url} if url else {})


def _required(name: str) -> str:
    value = cfg.CONF.enforcement[name]
    if not value:
        raise exceptions.Misconfigured(f"[enforcement] {name}", texts.services.NOT_SET())
    return str(value)


def _bearer(token: str) -> Callable[[], Mapping[str, str]]:
    return lambda: {"Authorization": f"Bearer {token}"}


def _as_blazar() -> Mapping[str, str]:
    """The token of Blazar's service user, which the portal looks up in Keystone.

    :raises ServiceUnavailable: Keystone gives no token.
    """
    try:
        return {"X-Auth-Token": keystone.service_token()}
    except exceptions.ServiceRefused as error:
        said = texts.services.SAID(said=error.message)
        raise exceptions.ServiceUnavailable("Keystone", said) from error
