"""Sends the largest values that the API allows to a site whose process has little of everything.

Run as a program, by ``test_largest_values.py``. What is sent follows from the declarations, so a
new field is sent too. For each request a line is written before it and one after it, as JSON. If a
request needs more CPU time or memory than it may have, the process ends there.
"""

import contextlib
import dataclasses
import itertools
import json
import pathlib
import resource
import signal
import sys
import tempfile
import threading
import urllib.parse
from collections.abc import Callable, Collection, Iterator
from typing import Any

from oslo_config import cfg
from oslo_utils import timeutils

from tests.functional.db import world
from tests.unit.api import things
from tests.unit.api.people import Person
from tests.unit.api.test_bad_input import GOOD
from tests.unit.warre_import.test_deciding import FLAVOR as WARRE_FLAVOR
from tests.unit.warre_import.test_deciding import taken
from tests.unit.wsgi import sending
from tests.unit.wsgi.whole import WholeSite
from warre_blazar.api import openapi, parsing
from warre_blazar.domain.hosts.providers import Inventory, Provider
from warre_blazar.domain.series import rules
from warre_blazar.services.waits.serving import WaitServer
from warre_blazar.site_rules import conditions, wait_permits
from warre_blazar.wsgi import lease_bodies

#: The seconds of CPU that a request may take, and the bytes by which the process may grow. Requests
#: take a tenth of a second, and a number like these makes them take hours and all memory.
CPU, MEMORY = 10, 384 * 2**20
MOST = 2**31 - 1
_LAST = "8999-12-31T23:59"
_NONE = frozenset[str]()
#: The extra specs of flavors of which hosts hold very many instances.
_TINY = {
    "memory": {"resources:VCPU": "0", "resources:DISK_GB": "0"},
    "rate": {
        **{"resources:VCPU": "0", "resources:DISK_GB": "0", "resources:MEMORY_MB": "0"},
        "resources1:VGPU": "1",
    },
    "rates": {
        **{"resources:VCPU": "0", "resources:DISK_GB": "0", "resources:MEMORY_MB": "0"},
        **{"resources1:VGPU": "2", "resources2:VGPU": "3", "group_policy": "none"},
    },
}

#: The largest value of each part of a rule. A part without one fails.
_RULE = {
    **{"COUNT": "9999", "INTERVAL": "9999", "UNTIL": "89991231T235959Z", "WKST": "SU"},
    **{"BYDAY": "-53SU", "BYMONTHDAY": "-31", "BYYEARDAY": "-366", "BYWEEKNO": "-53"},
    **{"BYMONTH": "12", "BYSETPOS": "-366", "BYHOUR": "23", "BYMINUTE": "59"},
}
#: Extra specs with numbers. The longest masks that fit are among them.
_SPECS = [
    {"hw:cpu_policy": "mixed", "hw:cpu_dedicated_mask": mask}
    for mask in ("^0", "0-999999999", "^0-9999", ",".join(["0-9999"] * 36))
] + [
    {"hw:cpu_policy": "dedicated", "hw:cpu_realtime": "yes", "hw:cpu_realtime_mask": "^0"},
    {"resources:VCPU": "999999999"},
    {"resources:VCPU": "0", "resources:PCPU": "999999999"},
    {
        "resources1:CUSTOM_THING": "1",
        "resources2:CUSTOM_THING": "999999999",
        "group_policy": "none",
    },
    {"pci_passthrough:alias": "a:999999999"},
    {"hw:numa_nodes": "999999999", "hw:mem_page_size": "999999999"},
]


@dataclasses.dataclass(frozen=True)
class Request:
    """What is sent, or what is done instead."""

    #: The operation, by which the test knows it.
    operation: str
    text: str
    send: Callable[[], int]


def largest(name: str, schema: dict[str, Any]) -> list[Any]:
    """The values of a field that ask for the most."""
    if "enum" in schema:
        return [word for word in schema["enum"] if word is not None]
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if name == "extra_specs":
        return _SPECS
    if name == "rrule":
        return _rules()
    match types[0]:
        case "integer" | "number":
            return [schema["maximum"]]
        case "boolean":
            return [True, False]
        case "array":
            return [["x" * 36] * schema["maxItems"]] if "maxItems" in schema else []
        case "object":
            return [{}]
        case "string":
            return _texts(schema)
    raise AssertionError(f"{name}: {schema}")


def _texts(schema: dict[str, Any]) -> list[str]:
    """Times and numbers as texts, and a text as long as allowed."""
    return [_LAST, f"{_LAST}:00+00:00", "999999", "9" * schema.get("maxLength", 4096)]


def _rules() -> list[str]:
    parts = {part: _RULE[part] for part in sorted(rules.PARTS) if part != "FREQ"}
    until = f"UNTIL={parts.pop('UNTIL')}"
    found = [
        f"FREQ={frequency};{end}"
        for frequency in rules.FREQUENCIES
        for end in (until, *(f"{part}={value};{until}" for part, value in parts.items()))
    ]
    minutes = ",".join(map(str, range(60)))
    return [*found, f"FREQ=DAILY;BYMINUTE={minutes};COUNT=60", "FREQ=DAILY;COUNT=60"]


def bodies(
    good: dict[str, Any], fields: dict[str, Any], *, with_choices: bool = True
) -> Iterator[dict[str, Any]]:
    """Good values with the largest one of each field, and of all numbers at once.

    :param with_choices: whether to also send each number with each value of a choice.
    """
    values = {name: largest(name, schema) for name, schema in fields.items()}
    choices = [(n, v) for n in values for v in values[n] if isinstance(v, bool)]
    choices += [(n, v) for n in values if "enum" in fields[n] for v in values[n][:2]]
    for name, each in values.items():
        for value in each:
            yield {**good, name: value}
    numbers = {n for n, v in values.items() if v and type(v[0]) in (int, float)}
    for name, (choice, value) in itertools.product(sorted(numbers), choices * with_choices):
        yield {**good, choice: value, name: values[name][0]}
    yield {**good, **{name: values[name][0] for name in numbers}}


class Sender:
    """Sends requests to a site, and restores it after those that have changed something."""

    def __init__(self, site: WholeSite) -> None:
        self.site = site
        self.ids = site.remembered(self.furnished)
        manager_id = site.executor.manager_id
        self._waits = WaitServer(manager_id, wait_permits.permit, conditions.of_users)

    def furnished(self) -> dict[str, Any]:
        """Hosts, and one item of each kind. Its flavor allows everything and takes very little."""
        self.site.furnish()
        # Several providers of this host have the same class, so the room is searched.
        children = tuple(
            Provider(f"card-{n}", f"card-{n}", "a", {"VGPU": Inventory(10**9 // 2)}, _NONE)
            for n in range(2)
        )
        world.add_host(self.site.cloud, "host-4", vcpus=16, zone="az1", children=children)
        admin, alpha = Person(self.site.app, "admin"), Person(self.site.app, "alpha")
        fields = openapi.request_schema("FlavorCreate")["properties"]
        most = {name: fields[name]["maximum"] for name in ("slots", "max_length_hours")}
        least = {name: fields[name]["minimum"] for name in ("vcpu", "memory_mb", "disk_gb")}
        flavor = things.add_flavor(admin, **most, **least)
        for name, specs in _TINY.items():
            things.add_flavor(admin, name=name, **most, **least, extra_specs=specs)
        booked = things.book(admin, flavor, start=things.at(2), end=things.at(3))
        return {
            "flavor_id": flavor["id"],
            "flavorproject_id": things.grant(admin, flavor, alpha.project_id)["id"],
            "reservation_id": booked["id"],
            "share_id": things.share(admin, booked, alpha.project_id)["id"],
            "calendar_id": things.made(admin.post("calendars", {"name": "GPUs"}))["id"],
            "window_id": things.add_window(admin, flavor, start=things.at(50), end=things.at(51))[
                "id"
            ],
            "series_id": things.add_series(admin, flavor)["id"],
            "wait_id": things.add_wait(admin, flavor, **{"from": things.at(2)})["id"],
            "lease_id": self._lease(flavor),
        }

    def _lease(self, flavor: dict[str, Any]) -> str:
        body = sending.lease(sending.slot(flavor))
        lease = sending.send(self.site.app, "POST", "/v1/leases", body, who="admin").json["lease"]
        return f"{lease['id']} {lease['reservations'][0]['id']}"

    def send(self, method: str, path: str, body: Any = None) -> int:
        """The status of the answer."""
        place, _, query = path.format(**self.ids).partition("?")
        sent = b"" if body is None else body
        environ = {"QUERY_STRING": query}
        answer = sending.send(self.site.app, method, place, sent, who="admin", environ=environ)
        self.site.settle()
        if path.endswith("/waits") and method == "POST":
            self._serve()
        if method != "GET" and answer.status_int < 300 and "dry_run" not in query:
            self.site.remembered(self.furnished)
        return answer.status_int

    def _serve(self) -> None:
        """Do what a manager does every two seconds."""
        self.site.executor.beat()
        self._waits.look(timeutils.utcnow())

    def requests(self) -> Iterator[Request]:
        """All requests, always in the same order."""
        for operation in openapi.OPERATIONS:
            label = f"{operation.method} {operation.path}"
            for root in ("/v2", "/v2/warre/v1"):
                path = f"{root}{operation.path}"
                for query, body in _values(operation, with_choices=root == "/v2"):
                    full = f"{path}?{urllib.parse.urlencode(query)}" if query else path
                    yield self._request(label, operation.method, full, body)
        for operation, name in itertools.product(openapi.OPERATIONS, _TINY):
            label = f"{operation.method} {operation.path}"
            for query, body in _of_flavor(operation, name):
                full = f"/v2{operation.path}?{urllib.parse.urlencode(query)}"
                yield self._request(label, operation.method, full.format(flavor_id=name), body)
        for body in _leases(self.ids):
            yield self._request("POST /v1/leases", "POST", "/v1/leases", body)
        lease_id, reservation_id = self.ids["lease_id"].split()
        for body in _lease_changes(reservation_id):
            yield self._request("PUT /v1/leases", "PUT", f"/v1/leases/{lease_id}", body)
        for column in (*(c for c, v in WARRE_FLAVOR.items() if type(v) is int), "extra_specs"):
            yield _imported(column)

    def _request(self, label: str, method: str, path: str, body: Any) -> Request:
        text = f"{method} {path} {json.dumps(body)[:300]}"
        return Request(label, text, lambda: self.send(method, path, body))


def operations() -> list[str]:
    """The operations of all requests, as ``Request`` names them."""
    known = [f"{each.method} {each.path}" for each in openapi.OPERATIONS]
    return [*known, "POST /v1/leases", "PUT /v1/leases", "import"]


def _values(operation: Any, *, with_choices: bool) -> Iterator[tuple[dict[str, Any], Any]]:
    fields = {name: parsing.QUERY_SCHEMAS[read] for name, read in operation.query.items()}
    if not operation.body:
        for query in bodies({}, fields, with_choices=with_choices):
            yield query, None
        return
    schema, good = openapi.request_schema(operation.body), GOOD[operation.body]
    for body in bodies(good, schema["properties"], with_choices=with_choices):
        for query in ({}, {"dry_run": "true"}) if "dry_run" in fields else ({},):
            yield query, body


def _of_flavor(operation: Any, name: str) -> Iterator[tuple[dict[str, Any], Any]]:
    """The requests about a flavor with the largest numbers."""
    fields = {name: parsing.QUERY_SCHEMAS[read] for name, read in operation.query.items()}
    if operation.path.endswith("/freeslots"):
        for query in bodies({}, _numbers(fields)):
            yield query, None
    elif operation.body and "flavor_id" in GOOD[operation.body]:
        schema = openapi.request_schema(operation.body)
        good = {**GOOD[operation.body], "flavor_id": name}
        for body in bodies(good, _numbers(schema["properties"])):
            for query in ({}, {"dry_run": "true"}) if "dry_run" in fields else ({},):
                yield query, body


def _leases(ids: dict[str, Any]) -> Iterator[Any]:
    """Leases of each type with each number at its largest."""
    flavor = {"id": ids["flavor_id"]}
    properties = {"hypervisor_properties": "", "resource_properties": ""}
    sizes = {"vcpus": 1, "memory_mb": 1, "disk_gb": 0, "amount": 1, "affinity": None}
    good = (
        sending.slot(flavor),
        {"resource_type": "physical:host", "min": 1, "max": 1, **properties},
        {"resource_type": "virtual:instance", **sizes, **properties},
        {"resource_type": "flavor:instance", "flavor_id": "plain", "amount": 1, "affinity": None},
    )
    for reservation in good:
        for body in bodies(reservation, _numbers(lease_bodies._READ)):
            yield sending.lease(body)
        yield sending.lease(reservation, end_date=f"{_LAST[:10]} 23:59")


def _lease_changes(reservation_id: str) -> Iterator[Any]:
    for body in bodies({"id": reservation_id}, _numbers(lease_bodies._READ)):
        yield {"reservations": [body]}
    yield {"end_date": f"{_LAST[:10]} 23:59"}


def _numbers(fields: dict[str, Any]) -> dict[str, Any]:
    """The numbers among fields, and what a search for hosts depends on besides."""
    return {name: each for name, each in fields.items() if "maximum" in each or name == "affinity"}


def _imported(column: str) -> Request:
    """A flavor of Warre's with the largest number that Warre's column holds."""
    values = {"extra_specs": json.dumps(_SPECS[0]), "vcpu": MOST} if column == "extra_specs" else {}

    def take() -> int:
        taken(**(values or {column: MOST}))
        return 200

    return Request("import", f"import {column}", take)


def _limit() -> None:
    """Let the process take so much more CPU time from now on."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = int(used.ru_utime + used.ru_stime) + 1 + CPU
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, resource.RLIM_INFINITY))


def _tell(**values: Any) -> None:
    sys.__stdout__.write(json.dumps(values) + "\n")
    sys.__stdout__.flush()


def main(skipped: int, operations: Collection[str]) -> None:
    """Send all requests of some operations but the first ones."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    threading.stack_size(2**20)  # The manager has many threads, whose stacks count too.
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory())
        site = stack.enter_context(WholeSite(pathlib.Path(directory)))
        from warre_blazar import timer  # noqa: PLC0415

        timer.clock = site.clock
        site.clear()
        cfg.CONF.set_override("moves_per_booking", 20, group="warre")
        sender = Sender(site)
        pages = int(pathlib.Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        chosen = (each for each in sender.requests() if each.operation in operations)
        for request in itertools.islice(chosen, skipped, None):
            _limit()
            _tell(operation=request.operation, text=request.text)
            before = resource.getrusage(resource.RUSAGE_SELF)
            status = request.send()
            after = resource.getrusage(resource.RUSAGE_SELF)
            _tell(status=status, seconds=round(after.ru_utime - before.ru_utime, 3))
        _tell(done=True)


if __name__ == "__main__":
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    main(int(sys.argv[1]), sys.argv[2:])
