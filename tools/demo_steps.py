"""The steps of tools/demo. Each step prints its requests and their responses, and checks them.

It runs in the dev cloud's virtual environment. The first response that isn't as expected ends the
demo with status 1.
"""

import contextlib
import datetime
import email
import email.policy
import json
import mailbox
import os
import sys
import time
from collections.abc import Callable, Iterator
from email.message import EmailMessage
from pathlib import Path
from typing import Any, NoReturn

import openstack
from openstack import exceptions as sdk_exc

FLAVOR = "demo.gpu"
PROPERTY, MODEL = "gpu_model", "demo-a100"
# The hosts that have GPUs, and how Nova's configuration and Placement name these.
HOSTS = ("cmp1", "cmp2")
ALIAS, CLASS = "a100", "CUSTOM_PCI_10DE_20B0"
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
    """Poll until the probe returns a true value, and return that."""
    deadline = time.monotonic() + _TIMEOUT
    while time.monotonic() < deadline:
        if result := probe():
            return result
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
        self.v1 = self.cloud.endpoint_for("reservation")

    def request(self, method: str, path: str, body: Any = None, want: int = 200) -> Any:
        """Send a request to Blazar's API. A status other than the wanted one ends the demo."""
        answer = self._send(method, path, body)
        if answer.status_code != want:
            fail(f"expected {want}")
        return answer.json() if answer.content else None

    def delete_reservation(self, reservation_id: str) -> None:
        """Delete a reservation, and wait until it is gone."""
        path = f"/v2/reservations/{reservation_id}/"
        # On a slow machine, the API answers 202 while the deletion goes on.
        if self._send("DELETE", path).status_code not in (202, 204):
            fail("expected 204, or 202")
        until("the deletion", lambda: self._send("GET", path).status_code == 404)

    def _send(self, method: str, path: str, body: Any = None) -> Any:
        print(f"   {self.name}: {method} {path} {json.dumps(body) if body else ''}")
        url = self.v1.removesuffix("/v1") + path
        answer = self.cloud.session.request(url, method, json=body, raise_exc=False)
        print(f"   -> {answer.status_code} {answer.text}", flush=True)
        return answer

    def boot(self, name: str, flavor: str) -> Any:
        """Ask Nova for a server on the reservation's flavor."""
        print(f"   {self.name}: openstack server create --flavor {flavor} {name}", flush=True)
        return self.cloud.compute.create_server(
            name=name,
            image_id=self.cloud.image.find_image("tiny").id,
            flavor_id=flavor,
            networks=[{"uuid": self.cloud.network.find_network("shared").id}],
        )

    def wait_for_server(self, server: Any) -> Any:
        """Wait until a server is ACTIVE or in ERROR, and return it."""

        def finished() -> Any:
            current = self.cloud.compute.get_server(server.id)
            return current if current.status in ("ACTIVE", "ERROR") else None

        built = until(f"server {server.name}", finished)
        fault = (built.fault or {}).get("message", "")
        print(f"   -> {built.name}: {built.status} {fault}", flush=True)
        return built


def register_hosts(admin: Person) -> None:
    """Register the hosts in Blazar if necessary, and set the property on them."""
    known = {h["hypervisor_hostname"]: h for h in admin.request("GET", "/v1/os-hosts")["hosts"]}
    for host in HOSTS:
        if host not in known:
            admin.request("POST", "/v1/os-hosts", {"name": host, PROPERTY: MODEL}, want=201)
        elif known[host].get(PROPERTY) != MODEL:
            admin.request("PUT", f"/v1/os-hosts/{known[host]['id']}", {PROPERTY: MODEL})


def offer(admin: Person) -> None:
    """Create the flavor. If it exists, delete the reservations that an earlier run left."""
    terms = {
        "description": "One GPU of our two GPU hosts",
        "slots": 3,
        "max_length_hours": 24,
        "properties": json.dumps(["==", f"${PROPERTY}", MODEL]),
        "extra_specs": {"pci_passthrough:alias": f"{ALIAS}:1"},
    }
    flavors = admin.request("GET", "/v2/flavors/?all_projects=true")["results"]
    for flavor in (f for f in flavors if f["name"] == FLAVOR):
        path = f"/v2/reservations/?all_projects=true&flavor_id={flavor['id']}"
        for old in admin.request("GET", path)["results"]:
            admin.delete_reservation(old["id"])
        # An older version of this demo may have made the flavor.
        admin.request("PATCH", f"/v2/flavors/{flavor['id']}/", terms)
        return
    size = {"vcpu": 1, "memory_mb": 512, "disk_gb": 1, "ephemeral_gb": 1}
    admin.request("POST", "/v2/flavors/", {"name": FLAVOR, **size, **terms}, want=202)


def period(seconds: float = 75) -> dict[str, str]:
    """Return start and end of an hour that begins on a full minute, in up to so many seconds."""
    start = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=seconds)
    end = start + datetime.timedelta(hours=1)
    return {k: t.strftime("%Y-%m-%dT%H:%M:00+00:00") for k, t in (("start", start), ("end", end))}


def book(person: Person, when: dict[str, str], count: int, want: int = 200) -> Any:
    body = {"flavor_id": FLAVOR, **when, "instance_count": count}
    return person.request("POST", "/v2/reservations/", body, want=want)


def show_flavor(admin: Person, nova_flavor: str) -> None:
    """Print the reservation's Nova flavor, and check its ephemeral disk and extra specs."""
    flavor = admin.cloud.compute.get_flavor(nova_flavor, get_extra_specs=True)
    print(
        f"   Nova has {flavor.name}: vcpus={flavor.vcpus} ram={flavor.ram} disk={flavor.disk} "
        f"ephemeral={flavor.ephemeral} extra_specs={flavor.extra_specs}"
    )
    gpus = flavor.extra_specs.get("pci_passthrough:alias")
    if (flavor.ephemeral, gpus) != (1, f"{ALIAS}:1"):
        fail("the flavor lacks its ephemeral disk or its extra specs")


def held_gpus(admin: Person, server: Any) -> list[str]:
    """Return the names of the GPUs that a server holds in Placement, and print them."""
    placement = admin.cloud.placement
    allocations = placement.get(f"/allocations/{server.id}").json()["allocations"]
    gpus = [
        placement.get(f"/resource_providers/{provider}").json()["name"]
        for provider, held in allocations.items()
        if CLASS in held["resources"]
    ]
    print(f"   Placement: {server.name} holds {CLASS} of {', '.join(gpus) or 'nothing'}")
    return gpus


def use(admin: Person, alpha: Person, beta: Person, nova_flavor: str) -> None:
    with step("alpha boots both servers on the reservation's flavor; each holds a GPU of its own"):
        gpus: list[str] = []
        for name in ("demo-1", "demo-2"):
            server = alpha.boot(name, nova_flavor)
            if alpha.wait_for_server(server).status != "ACTIVE":
                fail("the server didn't boot")
            gpus += held_gpus(admin, server)
        if len(set(gpus)) != 2:
            fail("expected a GPU for each server")
    with step("Nova refuses a third"):
        server = alpha.boot("demo-3", nova_flavor)
        if alpha.wait_for_server(server).status != "ERROR":
            fail("a third server booted on a reservation of two")
        alpha.cloud.compute.delete_server(server.id)
    with step("Nova refuses another project"):
        try:
            beta.boot("demo-thief", nova_flavor)
        except sdk_exc.SDKException as error:
            print(f"   -> refused: {error}")
        else:
            fail("another project booted on the reservation")


def leftovers(admin: Person, booked: dict[str, Any], servers: set[str]) -> list[str]:
    """Return the servers and the backing that Nova and Placement still have of a reservation."""
    compute, placement = admin.cloud.compute, admin.cloud.placement
    reservation_id, nova_flavor = booked["id"], booked["compute_flavor"]
    cls = "CUSTOM_RESERVATION_" + reservation_id.upper().replace("-", "_")
    existing = {s.id for s in compute.servers(details=False, all_projects=True)}
    left = [f"server {s}" for s in servers & existing]
    left += [f"flavor {f.id}" for f in compute.flavors(is_public=None) if f.id == nova_flavor]
    left += [f"aggregate {a.name}" for a in compute.aggregates() if a.name == reservation_id]
    left += [f"class {c.name}" for c in placement.resource_classes() if c.name == cls]
    return left


def end_reservation(admin: Person, alpha: Person, booked: dict[str, Any]) -> None:
    """Delete the reservation, and check that its servers and its backing are gone."""
    servers = {s.id for s in alpha.cloud.compute.servers() if s.name.startswith("demo-")}
    before = leftovers(admin, booked, servers)
    print(f"   before: {', '.join(before)}")
    if len(before) < 5:
        fail("expected two servers, a flavor, an aggregate and a resource class")
    alpha.delete_reservation(booked["id"])
    # What a service doesn't do at once, a manager does a few seconds later.
    until("servers and backing to be gone", lambda: not leftovers(admin, booked, servers))
    print("   after:  nothing")


def mails(booked: dict[str, Any]) -> list[EmailMessage]:
    """Return the mails about a reservation, in the order in which they have arrived."""
    box = mailbox.Maildir(
        Path(os.environ["WARRE_DEVCLOUD_HOME"]) / "mail",
        factory=lambda file: email.message_from_binary_file(file, policy=email.policy.default),
    )
    return [m for _, m in sorted(box.items()) if booked["id"] in str(m["Message-ID"])]


def show_mails(booked: dict[str, Any]) -> None:
    """Print the mails that the dev cloud's mail server got about a reservation."""
    until("mails about the booking and the start", lambda: len(mails(booked)) > 1)
    found = mails(booked)
    for message in found:
        body = message.get_body(("plain",))
        text = body.get_content() if body else ""
        print(f"   To: {message['To']}\n   Subject: {message['Subject']}\n")
        print("\n".join(f"     {line}" for line in text.splitlines()), "\n", flush=True)
    if {str(m["To"]) for m in found} != {"alpha@example.org"}:
        fail("expected mails to alpha")


def show_usage(alpha: Person) -> None:
    """Print what became of the hours that the project has booked."""
    (row,) = alpha.request("GET", "/v2/usage")["results"]
    if row["hours"]["booked"] <= 0 or row["hours"]["held"] <= 0:
        fail("expected hours that were booked and held")


def main() -> None:
    admin, alpha, beta = (Person(name) for name in ("admin", "alpha", "beta"))
    with step(f"admin registers hosts with the property {PROPERTY}={MODEL}"):
        register_hosts(admin)
    with step("admin offers a flavor with 3 slots, each with a GPU, on hosts with that property"):
        offer(admin)
    when = period()
    with step("alpha, a normal project's user, books 2 instances"):
        booked = book(alpha, when, 2)
        if booked["status"] != "ALLOCATED":
            fail("expected the status ALLOCATED")
        nova_flavor = booked["compute_flavor"]
    with step(f"the reservation starts at {when['start']}"):
        path = f"/v2/reservations/{booked['id']}/"
        url = alpha.v1.removesuffix("/v1") + path
        until("the start", lambda: alpha.cloud.session.get(url).json()["status"] == "ACTIVE")
        alpha.request("GET", path)
        show_flavor(admin, nova_flavor)
    use(admin, alpha, beta, nova_flavor)
    # It doesn't begin while it is being deleted, which is refused.
    overlapping = period(1800) | {"end": when["end"]}
    with step("2 more instances are refused, because only 1 slot is left"):
        refused = book(beta, overlapping, 2, want=400)
        if refused["code"] != "slots_exhausted":
            fail("expected the code slots_exhausted")
    with step("1 more instance can be booked"):
        other = book(beta, overlapping, 1)
    with step("alpha deletes the reservation, and with it servers, flavor, aggregate and class"):
        end_reservation(admin, alpha, booked)
    with step("beta deletes its reservation"):
        beta.delete_reservation(other["id"])
    with step("the mails that alpha has got"):
        show_mails(booked)
    with step("what became of the hours that alpha has booked"):
        show_usage(alpha)
    print("\nAll steps had the expected results.")


if __name__ == "__main__":
    main()
