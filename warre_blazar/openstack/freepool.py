"""Reads which hosts Nova keeps for bookings, and puts hosts into the freepool.

Blazar adds a host to the aggregate of this name when the host is registered. On any other host,
BlazarFilter lets everybody boot servers, also where reservations are. When a compute service is
deleted in Nova, Nova takes its host out of all aggregates.
"""

from collections.abc import Collection

from oslo_config import cfg

from warre_blazar import texts
from warre_blazar.domain.running.wanted import NovaAggregate
from warre_blazar.errors import exceptions
from warre_blazar.openstack import nova

_SERVICE = "Nova"

cfg.CONF.import_group("nova", "blazar.utils.openstack.nova")
cfg.CONF.import_group("physical:host", "blazar.plugins.oshosts.host_plugin")


def hosts(aggregates: Collection[NovaAggregate]) -> frozenset[str] | None:
    """The hosts that are kept for bookings, by the host names of their compute services.

    They are in the freepool, or in the aggregate of a host reservation, whose zone has a prefix of
    its own. Hosts with reservations of instances stay in the freepool.

    :param aggregates: all aggregates of Nova.
    :returns: None if there is no freepool.
    """
    name, prefix = cfg.CONF.nova.aggregate_freepool_name, cfg.CONF["physical:host"].blazar_az_prefix
    if all(aggregate.name != name for aggregate in aggregates):
        return None
    return frozenset(
        host
        for aggregate in aggregates
        if aggregate.name == name
        or aggregate.metadata.get("availability_zone", "").startswith(prefix)
        for host in aggregate.hosts
    )


def add(host: str) -> None:
    """Add a host to the freepool, unless it is there.

    :param host: the host name of the host's compute service.
    :raises ServiceUnavailable, ServiceRefused: Nova has no such host, or no freepool.
    """
    name = cfg.CONF.nova.aggregate_freepool_name
    freepool = next((each for each in nova.aggregates() if each.name == name), None)
    if freepool is None:
        raise exceptions.ServiceRefused(_SERVICE, texts.services.NO_FREEPOOL(name=name))
    nova.add_hosts(freepool, [host])
