"""Makes the aggregates, network and image that servers need. Repeating it changes nothing."""

import json
import sys
from typing import Any

from connection import connect
from openstack.connection import Connection


def main(wanted: dict[str, Any]) -> None:
    cloud = connect(wanted["auth_url"], wanted["password"], wanted["region"])
    ensure_aggregate(cloud, wanted["aggregate"])
    ensure_zone(cloud, wanted["zone"], wanted["zone_host"])
    ensure_network(cloud, wanted["network"], wanted["cidr"])
    ensure_image(cloud, wanted["image"])


def ensure_aggregate(cloud: Connection, name: str) -> None:
    if name not in {aggregate.name for aggregate in cloud.compute.aggregates()}:
        cloud.compute.create_aggregate(name=name)


def ensure_zone(cloud: Connection, name: str, host: str) -> None:
    """Make an availability zone with one compute, for flavors that require a zone."""
    known = {aggregate.name: aggregate for aggregate in cloud.compute.aggregates()}
    zone = known.get(name) or cloud.compute.create_aggregate(name=name, availability_zone=name)
    if not zone.hosts:
        cloud.compute.add_host_to_aggregate(zone, host)


def ensure_network(cloud: Connection, name: str, cidr: str) -> None:
    network = cloud.network.find_network(name)
    if network is None:
        network = cloud.network.create_network(name=name, is_shared=True)
    if not list(cloud.network.subnets(network_id=network.id)):
        cloud.network.create_subnet(network_id=network.id, name=name, ip_version=4, cidr=cidr)


def ensure_image(cloud: Connection, name: str) -> None:
    """Make an image of a kilobyte of zeros. Nova's fake driver never reads its content."""
    if cloud.image.find_image(name) is None:
        cloud.image.create_image(
            name=name,
            data=b"\0" * 1024,
            disk_format="raw",
            container_format="bare",
            visibility="public",
            min_disk=0,
            min_ram=0,
        )


if __name__ == "__main__":
    main(json.load(sys.stdin))
