"""Prepares the cloud for Blazar's Tempest tests.

It makes the flavor of the tests' servers, and prints the ids of this flavor and of the image as
JSON, by Tempest's option.
"""

import json
import sys
from typing import Any

from connection import connect
from openstack.connection import Connection

#: Blazar's scenarios need a flavor that is no larger than the instances that they reserve.
_FLAVOR = {"name": "tempest", "vcpus": 1, "ram": 512, "disk": 1}


def main(wanted: dict[str, Any]) -> None:
    cloud = connect(wanted["auth_url"], wanted["password"], wanted["region"])
    if wanted["leave_zones"]:
        leave_zones(cloud)
    flavor = cloud.compute.find_flavor(_FLAVOR["name"]) or cloud.compute.create_flavor(**_FLAVOR)
    image = cloud.image.find_image(wanted["image"], ignore_missing=False)
    print(json.dumps({"flavor_ref": flavor.id, "image_ref": image.id}))


def leave_zones(cloud: Connection) -> None:
    """Take all hosts out of availability zones.

    When a physical:host reservation starts, Blazar puts its hosts into a zone of their own. Nova
    refuses hosts that are in another zone.
    """
    for aggregate in cloud.compute.aggregates():
        if aggregate.availability_zone:
            for host in aggregate.hosts:
                cloud.compute.remove_host_from_aggregate(aggregate, host)


if __name__ == "__main__":
    main(json.load(sys.stdin))
