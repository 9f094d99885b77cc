"""Reads from the configuration how devices are counted, for callers of the services."""

import functools

from oslo_config import cfg
from oslo_log import log as logging

from warre_blazar import conf, texts
from warre_blazar.domain.flavors import device_options
from warre_blazar.domain.flavors.devices import NO_DEVICES, Rules
from warre_blazar.errors import exceptions

LOG = logging.getLogger(__name__)

conf.register(cfg.CONF)


def configured() -> Rules:
    """The rules by which devices are counted, as configured.

    :raises Misconfigured: an option is malformed.
    """
    options = cfg.CONF.warre
    return _rules(
        tuple(options.pci_alias),
        in_placement=options.pci_in_placement,
    )


def of_stock() -> Rules:
    """The rules by which devices in reservations of stock resource types are counted.

    Bookings need these rules, and must not fail because of a malformed option. If an option is
    malformed, the devices in these reservations aren't counted, and the log says so. The API
    refuses to start until the option is corrected, and ``upgrade check`` reports the option.
    """
    try:
        return configured()
    except exceptions.Misconfigured as error:
        _log(error.message)
        return NO_DEVICES


@functools.lru_cache(maxsize=4)
def _log(message: str) -> None:
    """Log a message once, not each time that the rules are read."""
    LOG.error("%s; devices of Blazar's own resource types aren't counted", message)


@functools.lru_cache(maxsize=4)
def _rules(aliases: tuple[str, ...], *, in_placement: bool) -> Rules:
    try:
        parsed = device_options.aliases(aliases, in_placement=in_placement)
    except texts.NotValid as error:
        raise exceptions.Misconfigured(
            "[warre] pci_alias", texts.services.ALIASES(alias=error.expected)
        ) from None
    return Rules(parsed, in_placement)
