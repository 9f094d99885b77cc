"""A fake Neutron, with one network and its floating IPs."""

import uuid
from typing import Any

from tests.fakes.keystone import Guarded, Keystone
from tests.fakes.service import Answer, Request

NETWORK = "network"


class Neutron(Guarded):
    """A Neutron whose ``floating_ips`` are documents by id."""

    routes = (
        ("GET", f"/v2.0/networks/{NETWORK}", "show_network"),
        ("GET", "/v2.0/floatingips", "list_floating_ips"),
        ("POST", "/v2.0/floatingips", "create_floating_ip"),
        ("PUT", "/v2.0/floatingips/([^/]+)/tags", "put_tags"),
        ("DELETE", "/v2.0/floatingips/([^/]+)", "delete_floating_ip"),
    )

    def __init__(self, keystone: Keystone) -> None:
        super().__init__(keystone)
        self.floating_ips: dict[str, dict[str, Any]] = {}

    def show_network(self, request: Request) -> Answer:
        return Answer(200, {"network": {"id": NETWORK, "subnets": []}})

    def list_floating_ips(self, request: Request) -> Answer:
        found = [
            ip
            for ip in self.floating_ips.values()
            if all(ip[name] == value for name, value in request.query.items())
        ]
        return Answer(200, {"floatingips": found})

    def create_floating_ip(self, request: Request) -> Answer:
        made = {"id": str(uuid.uuid4()), "port_id": None, **request.body["floatingip"]}
        self.floating_ips[made["id"]] = made
        return Answer(201, {"floatingip": made})

    def put_tags(self, request: Request, ip_id: str) -> Answer:
        self.floating_ips[ip_id]["tags"] = request.body["tags"]
        return Answer(200, {"tags": request.body["tags"]})

    def delete_floating_ip(self, request: Request, ip_id: str) -> Answer:
        del self.floating_ips[ip_id]
        return Answer(204)
