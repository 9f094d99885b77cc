"""Whether the configuration lets Blazar load this package's plugin and its API."""

from oslo_config import cfg

from warre_blazar import texts
from warre_blazar.errors import exceptions

cfg.CONF.import_opt("plugins", "blazar.manager.service", group="manager")
cfg.CONF.import_opt("enable_v1_api", "blazar.config")

#: The name of the plugin in ``[manager] plugins``.
PLUGIN = "flavor.slot.plugin"
#: The name of the exact plugin for ``flavor:instance``.
EXACT_FLAVORS = "exact.flavor.instance.plugin"


def check_v1() -> None:
    """Check that Blazar serves its v1 API, with which it loads this package's API.

    :raises Misconfigured:
    """
    if not cfg.CONF.enable_v1_api:
        raise exceptions.Misconfigured("[DEFAULT] enable_v1_api", texts.services.V1_NEEDED())


def check() -> None:
    """Check that Blazar loads this package's plugin and its API.

    :raises Misconfigured:
    """
    if PLUGIN not in cfg.CONF.manager.plugins:
        raise exceptions.Misconfigured(
            "[manager] plugins", texts.services.LACKS_PLUGIN(plugin=PLUGIN)
        )
    check_v1()
