"""The steps of tools/demo. Each prints what it asks and what is answered, and checks it.

Runs in the dev cloud's environment; the first answer that isn't what it should be ends it with
status 1.
"""

import contextlib
import datetime
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import openstack
from openstack import exceptions as sdk_exc

FLAVOR = "demo.gpu"
PROPERTY, MODEL = "gpu_model", "demo-a100"
HOSTS = ("cmp1", "cmp2")
_TIMEOUT = 180


def fail(message: str) -> NoReturn:
    print(f"\nFAILED: {message}", flush=True)
    sys.exit(1)


@contextlib.contextmanager
def step(title: str) -> Iterator[None]:
    print(f"\n== {title}", flush=True)
    began = time.monotonic()
    yield
    print(f"   ok, {time.monotonic() - began:.1f} s", flush=True)


def until(what: str, probe: Callable[[], Any]) -> Any:
    """Poll until the probe answers something true."""
    deadline = time.monotonic() + _TIMEOUT
    while time.monotonic() < deadline:
        if found := probe():
            return found
        time.sleep(1)
    return fail(f"waited {_TIMEOUT} s for {what}")


class Person:
    """A user of the cloud, whose project has the same name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.cloud = openstack.connect(
            auth={
                "auth_url": os.environ["OS_AUTH_URL"],
                "username": name,
                "password": os.environ["OS_PASSWORD"],
                "project_name": name,
                "user_domain_id": "default",
                "project_domain_id": "default",
            },
            region_name=os.environ["OS_REGION_NAME"],
            load_envvars=False,
            load_yaml_config=False,
        )
        self.v1 = self.cloud.session.get_endpoint(service_type="reservation")

    def asks(self, method: str, path: str, body: Any = None, want: int = 200) -> Any:
        """A request to Blazar's API; ends the demo when the status isn't the wanted one."""
        print(f"   {self.name}: {method} {path} {json.dumps(body) if body else ''}")
        url = self.v1.removesuffix("/v1") + path
        answer = self.cloud.session.request(url, method, json=body, raise_exc=False)
        print(f"   -> {answer.status_code} {answer.text}", flush=True)
        if answer.status_code != want:
            fail(f"expected {want}")
        return answer.json() if answer.content else None

    def boots(self, name: str, flavor: str) -> Any:
        """Ask Nova for a server on the reservation's flavor."""
        print(f"   {self.name}: openstack server create --flavor {flavor} {name}", flush=True)
        return self.cloud.compute.create_server(
            name=name,
            image_id=self.cloud.image.find_image("tiny").id,
            flavor_id=flavor,
            networks=[{"uuid": self.cloud.network.find_network("shared").id}],
        )

    def server_settles(self, server: Any) -> Any:
        def settled() -> Any:
            found = self.cloud.compute.get_server(server.id)
            return found if found.status in ("ACTIVE", "ERROR") else None

        found = until(f"server {server.name}", settled)
        fault = (found.fault or {}).get("message", "")
        print(f"   -> {found.name}: {found.status} {fault}", flush=True)
        return found


def register_hosts(admin: Person) -> None:
    """Give the hosts the property, whether or not something else registered them."""
    known = {h["hypervisor_hostname"]: h for h in admin.asks("GET", "/v1/os-hosts")["hosts"]}
    for host in HOSTS:
        if host not in known:
            admin.asks("POST", "/v1/os-hosts", {"name": host, PROPERTY: MODEL}, want=201)
        elif known[host].get(PROPERTY) != MODEL:
            admin.asks("PUT", f"/v1/os-hosts/{known[host]['id']}", {PROPERTY: MODEL})


def offer(admin: Person) -> None:
    """Make the flavor, unless an earlier run did; end what an interrupted one left booked."""
    found = admin.asks("GET", "/v2/flavors/?all_projects=true")["results"]
    for flavor in (f for f in found if f["name"] == FLAVOR):
        path = f"/v2/reservations/?all_projects=true&flavor_id={flavor['id']}"
        for old in admin.asks("GET", path)["results"]:
            admin.asks("DELETE", f"/v2/reservations/{old['id']}/", want=204)
        return
    body = {
        "name": FLAVOR,
        "description": "A third of our two GPU hosts",
        "vcpu": 1,
        "memory_mb": 512,
        "disk_gb": 1,
        "ephemeral_gb": 1,
        "slots": 3,
        "max_length_hours": 24,
        "properties": json.dumps(["==", f"${PROPERTY}", MODEL]),
        "extra_specs": {"demo:accelerator": MODEL},
    }
    admin.asks("POST", "/v2/flavors/", body, want=202)


def period() -> dict[str, str]:
    """From the next minute that isn't about to begin, for an hour."""
    start = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=75)
    end = start + datetime.timedelta(hours=1)
    return {k: t.strftime("%Y-%m-%dT%H:%M:00+00:00") for k, t in (("start", start), ("end", end))}


def book(who: Person, when: dict[str, str], count: int, want: int = 200) -> Any:
    body = {"flavor_id": FLAVOR, **when, "instance_count": count}
    return who.asks("POST", "/v2/reservations/", body, want=want)


def show_flavor(admin: Person, nova_flavor: str) -> None:
    found = admin.cloud.compute.get_flavor(nova_flavor, get_extra_specs=True)
    print(
        f"   Nova has {found.name}: vcpus={found.vcpus} ram={found.ram} disk={found.disk} "
        f"ephemeral={found.ephemeral} extra_specs={found.extra_specs}"
    )
    if (found.ephemeral, found.extra_specs.get("demo:accelerator")) != (1, MODEL):
        fail("the flavor lacks its ephemeral disk or its extra specs")


def use(alpha: Person, beta: Person, nova_flavor: str) -> None:
    with step("alpha boots both servers on the reservation's flavor"):
        for name in ("demo-1", "demo-2"):
            server = alpha.boots(name, nova_flavor)
            if alpha.server_settles(server).status != "ACTIVE":
                fail("the server didn't boot")
    with step("Nova refuses a third"):
        server = alpha.boots("demo-3", nova_flavor)
        if alpha.server_settles(server).status != "ERROR":
            fail("a third server booted on a reservation of two")
        alpha.cloud.compute.delete_server(server.id)
    with step("Nova refuses another project"):
        try:
            beta.boots("demo-thief", nova_flavor)
        except sdk_exc.SDKException as error:
            print(f"   -> refused: {error}")
        else:
            fail("another project booted on the reservation")


def leftovers(admin: Person, booked: dict[str, Any], servers: set[str]) -> list[str]:
    """What Nova and Placement still have of a reservation."""
    compute, placement = admin.cloud.compute, admin.cloud.placement
    reservation_id, nova_flavor = booked["id"], booked["compute_flavor"]
    cls = "CUSTOM_RESERVATION_" + reservation_id.upper().replace("-", "_")
    here = {s.id for s in compute.servers(details=False, all_projects=True)}
    found = [f"server {s}" for s in servers & here]
    found += [f"flavor {f.id}" for f in compute.flavors(is_public=None) if f.id == nova_flavor]
    found += [f"aggregate {a.name}" for a in compute.aggregates() if a.name == reservation_id]
    found += [f"class {c.name}" for c in placement.resource_classes() if c.name == cls]
    return found


def give_back(admin: Person, alpha: Person, booked: dict[str, Any]) -> None:
    servers = {s.id for s in alpha.cloud.compute.servers() if s.name.startswith("demo-")}
    before = leftovers(admin, booked, servers)
    print(f"   before: {', '.join(before)}")
    if len(before) < 5:
        fail("expected two servers, a flavor, an aggregate and a resource class")
    alpha.asks("DELETE", f"/v2/reservations/{booked['id']}/", want=204)
    after = leftovers(admin, booked, servers)
    print(f"   after:  {', '.join(after) or 'nothing'}")
    if after:
        fail("something is left")


def main() -> None:
    admin, alpha, beta = (Person(name) for name in ("admin", "alpha", "beta"))
    with step(f"admin registers hosts with the property {PROPERTY}={MODEL}"):
        register_hosts(admin)
    with step("admin offers a flavor with 3 slots on hosts with that property"):
        offer(admin)
    when = period()
    with step("alpha, a normal project's user, books 2 instances"):
        booked = book(alpha, when, 2)
        if booked["status"] != "ALLOCATED":
            fail("expected the status ALLOCATED")
        nova_flavor = booked["compute_flavor"]
        show_flavor(admin, nova_flavor)
    with step(f"the reservation starts at {when['start']}"):
        path = f"/v2/reservations/{booked['id']}/"
        url = alpha.v1.removesuffix("/v1") + path
        until("the start", lambda: alpha.cloud.session.get(url).json()["status"] == "ACTIVE")
        alpha.asks("GET", path)
    use(alpha, beta, nova_flavor)
    overlapping = period() | {"end": when["end"]}
    with step("2 more are refused, there is 1 slot left"):
        refused = book(beta, overlapping, 2, want=400)
        if refused["code"] != "slots_exhausted":
            fail("expected the code slots_exhausted")
    with step("1 more is taken"):
        other = book(beta, overlapping, 1)
    with step("alpha ends the reservation: servers, flavor, aggregate and class go with it"):
        give_back(admin, alpha, booked)
    with step("beta gives back what it booked"):
        beta.asks("DELETE", f"/v2/reservations/{other['id']}/", want=204)
    print("\nAll steps showed what they should.")


if __name__ == "__main__":
    main()
