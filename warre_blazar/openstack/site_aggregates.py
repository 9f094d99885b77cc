"""Reads the aggregates in Nova by which the site itself tells hosts apart."""

from oslo_config import cfg

from warre_blazar.domain.hosts.aggregates import AggregateRule, SiteAggregates
from warre_blazar.domain.running import backing_names
from warre_blazar.domain.running.wanted import NovaAggregate
from warre_blazar.openstack import nova


def read() -> SiteAggregates:
    """The aggregates of the site, and the rules about aggregates that are on in Nova.

    The aggregates of reservations and Blazar's freepool are left out. They change with reservations
    and don't say what a host is.

    :raises ServiceUnavailable, ServiceRefused:
    """
    found = tuple(each for each in nova.aggregates() if _is_of_site(each))
    return SiteAggregates(found, frozenset(map(AggregateRule, cfg.CONF.warre.nova_aggregate_rules)))


def _is_of_site(aggregate: NovaAggregate) -> bool:
    conf = cfg.CONF
    name, metadata = aggregate.name, aggregate.metadata
    # Blazar gives the aggregate of a physical:host reservation an owner and a zone.
    is_of_hosts = conf.nova.blazar_owner in metadata or metadata.get(
        "availability_zone", ""
    ).startswith(conf["physical:host"].blazar_az_prefix)
    is_reservation = is_of_hosts or backing_names.of_aggregate(name, metadata) is not None
    return not is_reservation and name != conf.nova.aggregate_freepool_name
