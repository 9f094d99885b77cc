"""What the test needs in the cloud, and takes away again: projects, users, limits, flavors."""

import contextlib
import dataclasses
import json
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import openstack.exceptions

from tests.functional.cloud.people import Person as Client
from tests.torture.users import Person

PROJECTS, USERS = 3, 6
#: What each project may hold: with so little, quotas are often what a booking is refused for.
RESERVATIONS, HOURS = 9, 24
#: Seconds until Keystone and Blazar have deleted what the test leaves.
_PATIENCE = 180.0

#: Slots are what there is little of, then memory, processors, devices and disk of hosts.
FLAVORS: dict[str, dict[str, Any]] = {
    "few": {"slots": 3},
    "memory": {"slots": 50, "memory_mb": 3072},
    "processors": {"slots": 50, "vcpu": 16},
    "devices": {"slots": 50, "extra_specs": {"pci_passthrough:alias": "a100:2"}},
    "disk": {"slots": 50, "disk_gb": 400, "properties": '["==", "$hypervisor_hostname", "cmp3"]'},
}


@dataclasses.dataclass
class Stage:
    """What is there for the test."""

    people: list[Person]
    flavors: list[str]
    #: Reservations and hours by project id.
    limits: dict[str, tuple[int, int]]
    image: str


@contextlib.contextmanager
def stage(
    admin: Client,
    password: str,
    projects: int = PROJECTS,
    limits: tuple[int, int] = (RESERVATIONS, HOURS),
    more: Mapping[str, dict[str, Any]] = MappingProxyType({}),
    *,
    keep: bool = False,
) -> Iterator[Stage]:
    """Prepare the cloud, and take everything away again unless it is to be kept.

    :param limits: the reservations and hours of each project.
    :param more: flavors beside FLAVORS.
    """
    undo: list[Callable[[], Any]] = []
    try:
        yield _prepare(admin, password, undo, projects, limits, {**FLAVORS, **more})
    finally:
        if not keep:
            for step in reversed(undo):
                _tried(step)


def _prepare(
    admin: Client,
    password: str,
    undo: list[Callable[[], Any]],
    projects: int,
    its_limits: tuple[int, int],
    wanted: Mapping[str, dict[str, Any]],
) -> Stage:
    identity, mark = admin.cloud.identity, uuid.uuid4().hex[:6]
    role = identity.find_role("member")
    service = identity.find_service("blazar")
    people: list[Person] = []
    limits = {}
    for number in range(projects):
        name = f"torture-{mark}-{number + 1}"
        project = identity.create_project(name=name, domain_id="default")
        undo.append(lambda project=project: identity.delete_project(project))
        limits[project.id] = its_limits
        for resource, limit in zip(("reservation", "hours"), its_limits, strict=True):
            _limit(admin, service.id, project.id, resource, limit, undo)
        admin.cloud.set_compute_quotas(project.id, cores=-1, ram=-1, instances=-1)
        for _ in range(USERS // projects):
            user_name = f"torture-{mark}-user-{len(people) + 1}"
            user = identity.create_user(
                name=user_name,
                password=password,
                domain_id="default",
                email=f"{user_name}@example.org",  # Else the audit reports messages as lost.
            )
            undo.append(lambda user=user: identity.delete_user(user))
            identity.assign_project_role_to_user(project, user, role)
            people.append(Person(len(people) + 1, user_name, user.id, name, project.id))
    # Before the users go, who may have left reservations.
    flavors: list[str] = []
    undo.append(lambda: _withdraw(admin, flavors))
    for name, terms in wanted.items():
        flavors.append(_flavor(admin, f"torture-{name}-{mark}", terms))
    undo.append(lambda: _delete_leases(admin, set(limits)))
    image = admin.cloud.image.find_image("tiny").id
    return Stage(people, flavors, limits, image)


def _limit(
    admin: Client, service: str, project: str, resource: str, limit: int, undo: list
) -> None:
    made = admin.cloud.identity.create_limit(
        service_id=service,
        project_id=project,
        region_id=admin.cloud.config.region_name,
        resource_name=resource,
        resource_limit=limit,
    )
    undo.append(lambda: admin.cloud.identity.delete_limit(made))


def _flavor(admin: Client, name: str, terms: dict[str, Any]) -> str:
    usual = {"vcpu": 1, "memory_mb": 256, "disk_gb": 1, "max_length_hours": 3}
    answer = admin.asks("POST", "/v2/flavors/", {"name": name, **usual, **terms}, want=202)
    return str(answer["id"])


def _delete_leases(admin: Client, projects: set[str]) -> None:
    def left() -> list[str]:
        ours = admin.asks("GET", "/v2/reservations/?all_projects=true")["results"]
        stock = admin.asks("GET", "/v1/leases")["leases"]
        found = {each["lease_id"]: each["project_id"] for each in ours}
        found |= {each["id"]: each["project_id"] for each in stock}
        return [lease for lease, project in found.items() if project in projects]

    deadline = time.monotonic() + _PATIENCE
    while (found := left()) and time.monotonic() < deadline:
        for lease in found:
            admin.ask("DELETE", f"/v1/leases/{lease}")
    if found:
        raise AssertionError(f"leases are left: {json.dumps(found)}")


def _withdraw(admin: Client, flavors: list[str]) -> None:
    for flavor in flavors:
        admin.asks("DELETE", f"/v2/flavors/{flavor}/", want=204)


def _tried(step: Callable[[], Any]) -> None:
    """One thing that can't be taken away keeps no other."""
    try:
        step()
    except (AssertionError, openstack.exceptions.SDKException) as error:
        print(f"something is left of the test: {error}", flush=True)
