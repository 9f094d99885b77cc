"""Makes the projects, users, roles, service catalog and limits that standard input lists.

Running it again changes nothing.
"""

import json
import sys
from typing import Any

from connection import connect
from openstack.connection import Connection

INTERFACES = ("public", "internal", "admin")


def main(wanted: dict[str, Any]) -> None:
    cloud = connect(wanted["auth_url"], wanted["password"], wanted["region"])
    for name in wanted["projects"]:
        ensure_project(cloud, name)
    for user in wanted["users"]:
        ensure_user(cloud, wanted["password"], **user)
    for service in wanted["catalog"]:
        ensure_endpoints(cloud, service, wanted["region"])
    for limit in wanted["limits"]:
        ensure_limit(cloud, limit, wanted["region"])


def ensure_project(cloud: Connection, name: str) -> None:
    if not cloud.identity.find_project(name, domain_id="default"):
        cloud.identity.create_project(name=name, domain_id="default")


def ensure_user(
    cloud: Connection, password: str, *, name: str, email: str, project: str, roles: list[str]
) -> None:
    home = cloud.identity.find_project(project, domain_id="default", ignore_missing=False)
    user = cloud.identity.find_user(name, domain_id="default")
    if not user:
        user = cloud.identity.create_user(
            name=name,
            email=email,
            password=password,
            domain_id="default",
            default_project_id=home.id,
        )
    for role in roles:
        keystone_role = cloud.identity.find_role(role, ignore_missing=False)
        cloud.identity.assign_project_role_to_user(home, user, keystone_role)


def ensure_endpoints(cloud: Connection, wanted: dict[str, str], region: str) -> None:
    """Make a service with its three endpoints."""
    services = list(cloud.identity.services(type=wanted["type"]))
    service = services[0] if services else None
    if service is None:
        service = cloud.identity.create_service(type=wanted["type"], name=wanted["name"])
    existing = {e.interface: e for e in cloud.identity.endpoints(service_id=service.id)}
    for interface in INTERFACES:
        if interface not in existing:
            cloud.identity.create_endpoint(
                service_id=service.id, interface=interface, url=wanted["url"], region_id=region
            )
        elif existing[interface].url != wanted["url"]:
            cloud.identity.update_endpoint(existing[interface], url=wanted["url"])


def ensure_limit(cloud: Connection, wanted: dict[str, Any], region: str) -> None:
    """Register a limit. One that exists keeps its value, which a developer may have chosen."""
    service = next(iter(cloud.identity.services(type=wanted["service"])))
    registered = cloud.identity.registered_limits(service_id=service.id, region_id=region)
    if any(limit.resource_name == wanted["resource"] for limit in registered):
        return
    cloud.identity.create_registered_limit(
        service_id=service.id,
        region_id=region,
        resource_name=wanted["resource"],
        default_limit=wanted["limit"],
    )


if __name__ == "__main__":
    main(json.load(sys.stdin))
