"""Says which webhooks users may give to what they book."""

import ipaddress

from oslo_config import cfg

from warre_blazar import conf, texts
from warre_blazar.domain.messages.webhook_urls import Network, UrlParts, is_listed
from warre_blazar.errors import exceptions

conf.register(cfg.CONF)


def hosts() -> list[str]:
    """The hosts at which webhooks may be. Empty: the site calls none."""
    return list(cfg.CONF.warre_messages.project_webhook_hosts)


def networks() -> list[Network]:
    """The networks beside the Internet in which webhooks may be.

    :raises Misconfigured: one isn't a network.
    """
    try:
        return list(map(ipaddress.ip_network, cfg.CONF.warre_messages.project_webhook_networks))
    except ValueError as error:
        raise exceptions.Misconfigured(
            "[warre_messages] project_webhook_networks", texts.services.NETWORKS()
        ) from error


def check(url: str | None, kept: str | None) -> None:
    """Check whether a webhook may be called.

    :param kept: the webhook that the thing has already. It may stay, but isn't called if the
        configuration no longer allows it.
    :raises InvalidField: the configuration doesn't allow its host.
    """
    if url is None or url == kept:
        return
    allowed = hosts()
    if not allowed:
        raise exceptions.InvalidField("webhook", texts.expected.NO_WEBHOOKS())
    if not is_listed(UrlParts.read(url), allowed):
        expected = texts.expected.WEBHOOK_NOT_ALLOWED(hosts=allowed)
        raise exceptions.InvalidField("webhook", expected)
