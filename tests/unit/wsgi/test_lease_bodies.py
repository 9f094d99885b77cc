"""Which bodies of v1 leases are accepted and refused. Those that clients send are accepted."""

import datetime
import json
import uuid
from typing import Any

import pytest
from blazarclient.v1 import leases as client

from tests.functional.db import world
from tests.unit.api import things
from tests.unit.wsgi import hostile, sending
from warre_blazar.errors import exceptions
from warre_blazar.wsgi import lease_bodies

INSTANCE = {
    "resource_type": "virtual:instance",
    "amount": 2,
    "vcpus": 2,
    "memory_mb": 2048,
    "disk_gb": 20,
    "affinity": "None",
    "resource_properties": "",
}
#: Reservations as python-blazarclient and Warre send them.
RESERVATIONS: dict[str, dict[str, Any]] = {
    "flavor:slot": {"resource_type": "flavor:slot", "flavor_id": "gpu.small", "amount": 1},
    "virtual:instance": INSTANCE,
    "Warre's": {
        **INSTANCE,
        "affinity": None,
        "ephemeral_gb": 0,
        "extra_specs": {"hw:cpu_policy": "dedicated"},
        "resource_properties": '["==", "$availability_zone", "az1"]',
    },
    "physical:host": {
        "resource_type": "physical:host",
        "min": 1,
        "max": 2,
        "hypervisor_properties": '[">=", "$vcpus", "2"]',
        "resource_properties": "",
        "before_end": "default",
    },
    "virtual:floatingip": {
        "resource_type": "virtual:floatingip",
        "amount": 1,
        "network_id": "3ae8b5b5-6a5d-4c5b-8b3f-4a0bb1d0d1f0",
        "required_floatingips": ["192.0.2.7"],
    },
    "flavor:instance": {
        "resource_type": "flavor:instance",
        "flavor_id": "plain",
        "amount": 1,
        "affinity": "None",
    },
    "another's": {"resource_type": "gpu:card", "cards": [{"model": "x", "count": 1.5}], "on": True},
}
ID = "3ae8b5b5-6a5d-4c5b-8b3f-4a0bb1d0d1f0"


def checked(method: str, document: Any) -> dict[str, Any]:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    return lease_bodies.checked(method, body)


@pytest.mark.parametrize("kind", RESERVATIONS)
def test_reservation_as_clients_send_it_is_accepted(kind):
    body = sending.lease(RESERVATIONS[kind])
    assert checked("POST", body) == body


@pytest.mark.parametrize(
    "body",
    [
        {"name": "n" * 80},
        {"end_date": "2100-01-03 12:00"},
        {"start_date": "now", "end_date": "2100-1-3 9:05"},
        {"before_end_date": "2100-01-03 10:00"},
        {"reservations": []},
        {"reservations": [{"id": ID, "amount": 3}]},
        {"reservations": [{"id": ID, "min": 1, "max": 2, "hypervisor_properties": ""}]},
        {"reservations": [{"id": ID, "resource_type": "flavor:slot", "affinity": False}]},
    ],
)
def test_change_as_clients_send_it_is_accepted(body):
    assert checked("PUT", body) == body


class Wire:
    """Records the requests that python-blazarclient sends."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, Any]] = []

    def post(self, url, body):
        self.sent.append(("POST", body))
        return None, {"lease": {}}

    def put(self, url, body):
        self.sent.append(("PUT", body))
        return None, {"lease": {}}

    def get(self, url):
        dates = {"start_date": "2100-01-03T09:00:00.0", "end_date": "2100-01-03T11:00:00.0"}
        return None, {"lease": dates}


def test_requests_of_blazarclient_are_accepted():
    manager = client.LeaseClientManager.__new__(client.LeaseClientManager)
    manager.request_manager = wire = Wire()
    manager.create("n", "now", "2100-01-03 11:00", [RESERVATIONS["flavor:slot"]], [])
    manager.create("n", "now", "2100-01-03 11:00", [INSTANCE], [], "2100-01-03 10:00")
    manager.update(ID, name="new")
    manager.update(ID, prolong_for="1h")
    manager.update(ID, reduce_by="1h", defer_by="30m")
    manager.update(ID, end_date="2100-01-03 12:00", advance_by="1d")
    manager.update(ID, start_date="2100-01-03 08:00", reservations=[{"id": ID, "amount": 2}])
    assert len(wire.sent) == 7
    for method, body in wire.sent:
        assert checked(method, body) == body


def test_numbers_as_strings_are_converted():
    """Blazar would fail to compare strings with numbers."""
    texts = {"amount": "2", "vcpus": "2", "memory_mb": "2048", "disk_gb": "20"}
    body = checked("POST", sending.lease({**INSTANCE, **texts}))
    assert body["reservations"] == [INSTANCE]


GOOD = RESERVATIONS["flavor:slot"]
DEEP: Any = "x"
for _ in range(8):
    DEEP = [DEEP]

#: Keys that no client may send in a lease: columns of its row, and attributes of Python objects.
KEYS = [
    *("id", "user_id", "project_id", "trust_id", "status", "degraded", "created_at", "updated_at"),
    *("__class__", "_sa_instance_state", "metadata", "lease_id", "", "é", "Name", "event"),
]
DATES = [
    *(None, "", 1, True, [], {}, "soon", "2100-01-03", "2100-01-03T09:00", "2100-01-03 09:00:00"),
    *(" 2100-01-03 09:00", "2100-01-03 09:00\n", "2100-01-03  09:00", "12100-01-03 09:00"),
    *("0001-01-01 00:00", "1969-12-31 23:59", "9999-12-31 23:59", "NOW", "x" * 10**4),
    *("2100-02-30 09:00", "2100-01-03 24:00", "2100-00-03 09:00", "2100-01-03 09:60"),
    "\u0662\u0661\u0660\u0660-01-03 09:00",
]
NAMES = [None, "", 1, True, [], {}, "n" * 81, "a\nb", "a\x00", "\ud800", "\U0001f600"]
NUMBERS = [None, "", "x", -1, 1.5, True, [], {}, 2**31, 10**400, "1.0", " 1", "1\n", 1e400]
TEXTS = [1, True, [], {}, "x" * 4097, "\ud83d", "\U0001f600"]


#: Values by key that a lease may not have. Below are those that a reservation may not have.
IN_LEASES: dict[str, list[Any]] = {
    **{key: ["x"] for key in KEYS},
    "name": NAMES,
    "start_date": DATES,
    "end_date": DATES,
    "before_end_date": DATES,
    "events": [[1], [{}], [{"event_type": "start_lease"}], None, {}, "", 0, False, "x"],
    "reservations": [None, {}, "x", 1, True, [1], [None], [[]], ["x"], [{}], [GOOD, 1]],
}
IN_RESERVATIONS: dict[str, list[Any]] = {
    **{key: ["2100-01-01 00:00"] for key in lease_bodies._WRITTEN},
    "resource_type": [None, 1, "", [], {}, "x" * 67, "a\x00"],
    "min": NUMBERS,
    "max": NUMBERS,
    "disk_gb": NUMBERS,
    # With a zero, Blazar's loop over hosts never ends.
    "amount": [*NUMBERS, 0],
    "vcpus": [*NUMBERS, 0],
    "memory_mb": [*NUMBERS, 0],
    "hypervisor_properties": TEXTS,
    "resource_properties": TEXTS,
    "affinity": [[], {}, 1.5, "x" * 17],
    "flavor_id": [None, 1.5, True, "", [], {}, "x" * 256, "a\nb"],
    "network_id": [None, 1, "", [], {}, "x" * 37],
    "before_end": [None, 1, "", [], {}, "x" * 37],
    "required_floatingips": [None, "x", [1], ["x"] * 65, {}],
    "extra_specs": [[], DEEP],
    "another's": [DEEP, {"deep": "\ud800"}, {"\U0001f600": 1}, [2**64], float("inf")],
    "x" * 65: [1],
    "": [1],
}


def bad():
    """Bad requests: (method, field that the error names, body)."""
    reservations = {
        "POST": [{**GOOD, key: v} for key, values in IN_RESERVATIONS.items() for v in values],
        "PUT": [{"id": ID, key: v} for key, values in IN_RESERVATIONS.items() for v in values],
    }
    reservations["POST"].append({**GOOD, "id": ID})
    needed = [name for name in INSTANCE if name != "resource_type"]
    reservations["POST"] += [{k: INSTANCE[k] for k in INSTANCE if k != name} for name in needed]
    reservations["PUT"].append({"id": None})
    for method, base in (("POST", sending.lease(GOOD)), ("PUT", {"name": "n"})):
        for key, values in IN_LEASES.items():
            for value in values:
                if (method, key, value) != ("POST", "before_end_date", None):
                    yield method, key, {**base, key: value}
        for reservation in reservations[method]:
            yield method, "reservations", {**base, "reservations": [reservation]}
    yield "PUT", "events", {"events": []}
    yield "PUT", "events", {"end_date": "2100-01-03 12:00", "events": []}
    yield "POST", "reservations", sending.lease()
    for name in ("name", "start_date", "end_date", "reservations"):
        yield "POST", name, sending.lease(GOOD, **{name: ...})


def test_bad_value_is_refused_with_its_field():
    accepted = []
    for method, field, body in bad():
        sent = json.dumps(body).replace("Infinity", "1e400").encode()
        try:
            checked(method, sent)
        except exceptions.InvalidField as error:
            named = error.detail["field"].split(".")[0]
            if (field.isascii() and named != field) or not error.detail["expected"]:
                accepted.append((method, field, str(error)[:100], str(body)[:200]))
        else:
            accepted.append((method, field, "accepted", str(body)[:200]))
    assert accepted == []


@pytest.mark.parametrize(
    ("code", "body"),
    [
        ("empty_body", b""),
        ("empty_body", b" \n"),
        ("empty_body", b"{}"),
        ("malformed_json", b"["),
        ("invalid_field", b"[]"),
        ("invalid_field", b"1"),
        ("invalid_field", b'"x"'),
        ("invalid_field", b"null"),
        ("malformed_json", b'{"name": NaN}'),
        ("malformed_json", b'{"name": -Infinity}'),
        ("malformed_json", b'{"name": "\xff"}'),
        ("malformed_json", '{"name": "x"}'.encode("utf-16")),
        ("malformed_json", b'\xef\xbb\xbf{"name": "x"}'),
        ("malformed_json", b"[" * 100_000),
        ("malformed_json", b'{"a":' * 100_000),
        ("malformed_json", b"name=x&project_id=y"),
    ],
)
@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_body_that_is_no_json_object_is_refused(method, code, body):
    with pytest.raises(exceptions.WarreError) as raised:
        checked(method, body)
    assert raised.value.code == code


@pytest.mark.parametrize("field", ["name", "reservations", "events"])
def test_blazar_gets_the_checked_value_of_a_repeated_key(site, asked, field):
    """Parsers differ in which of the two values they use."""
    body = json.dumps(sending.lease(GOOD)).encode()
    twice = body[:-1] + f', "project_id": "x", "{field}": 1}}'.encode()
    assert sending.refused(sending.send(site.app, "POST", "/v1/leases", twice))[0] == 400
    assert asked.values == []
    first = b'{"%s": 1, ' % field.encode() + body[1:]
    assert sending.send(site.app, "POST", "/v1/leases", first).status_int == 201
    assert asked.values[0][1]["reservations"] == [GOOD]


@pytest.mark.parametrize("number", [33, 300])
def test_too_many_reservations_are_refused(site, asked, number):
    answer = sending.send(site.app, "POST", "/v1/leases", sending.lease(*[GOOD] * number))
    assert sending.refused(answer) == (413, "too_many_reservations")
    assert answer.json["detail"] == {"asked": number, "limit": 32}
    assert asked.values == []


def test_body_over_the_limit_needs_no_request_to_keystone(site, asked):
    """Neither the manager nor Keystone gets a request."""
    requests = site.cloud.keystone.requests
    requests.clear()
    body = sending.lease(*[GOOD] * 3000)
    answer = sending.send(site.app, "POST", "/v1/leases", body, who="admin")
    assert sending.refused(answer) == (413, "body_too_large")
    assert asked.values == []
    assert requests == []


HOLES = [
    ("PUT", {"end_date": "2100-01-03 12:00", "events": []}),
    ("POST", {"events": [{"event_type": "start_lease", "time": "2100-01-01 12:00"}]}),
    ("POST", {"events": [1]}),
    ("POST", {"events": [{"event_type": "end_lease", "status": "DONE"}]}),
    ("POST", {"events": [{"event_type": "end_lease", "time": "2100-01-03 10:00"}] * 2000}),
    ("PUT", {"project_id": "nobody"}),
    ("PUT", {"user_id": "nobody"}),
    ("PUT", {"trust_id": "x"}),
    ("PUT", {"id": "x"}),
    ("PUT", {"__class__": "x"}),
    ("PUT", {"name": "n" * 100}),
    ("PUT", {"reservations": None, "name": "x"}),
    ("PUT", {"end_date": None}),
    ("POST", {"before_end_date": 1}),
    ("POST", {"before_end_date": "2099-01-01 00:00"}),
]


@pytest.mark.parametrize(
    ("method", "change"), HOLES, ids=[f"{m}-{'-'.join(c)}-{n}" for n, (m, c) in enumerate(HOLES)]
)
def test_harmful_body_is_refused_and_changes_nothing(site, admin, method, change):
    """With Blazar's manager the answer is 400, and nothing has changed."""
    flavor = things.add_flavor(admin)
    made = sending.send(site.app, "POST", "/v1/leases", sending.lease(sending.slot(flavor)))
    path = "/v1/leases"
    body = {**sending.lease(sending.slot(flavor), name="another"), **change}
    if method == "PUT":
        path, body = f"{path}/{made.json['lease']['id']}", change
    before = site.rows()
    answer = sending.send(site.app, method, path, body)
    assert answer.status_int in (400, 403) if "before_end_date" in change else 400, answer
    assert site.rows() == before


@pytest.fixture
def started(site, admin):
    """A lease of flavor:slot and one of virtual:instance, both of which have started."""

    def make():
        flavor = things.add_flavor(admin)
        kinds = [sending.slot(flavor), INSTANCE]
        leases = []
        for number, kind in enumerate(kinds):
            body = sending.lease(kind, name=f"lease-{number}")
            leases.append(sending.send(site.app, "POST", "/v1/leases", body).json["lease"])
        site.set_time(things.moment(2, 9))
        site.run_events()
        return leases

    leases = site.remembered(make)
    site.set_time(things.moment(2, 9))
    return leases


def status(site, lease) -> str:
    path = f"/v1/leases/{lease['id']}"
    return sending.send(site.app, "GET", path).json["lease"]["status"]


BREAKING = {
    "before_end_date": {"before_end_date": "2100-01-04 10:00"},
    "before_end_date, with dates": {
        "end_date": "2100-01-03 12:00",
        "before_end_date": "2100-01-03 12:00",
    },
    "unknown property": {"resource_properties": '["==", "$nothing", "1"]'},
    "unknown operator": {"resource_properties": '["~", "$vcpus", "1"]'},
    "no expression": {"resource_properties": '["and", []]'},
    "vcpus of an active one": {"vcpus": 1},
    "as flavor:instance": {"resource_type": "flavor:instance"},
}


@pytest.mark.parametrize("name", BREAKING)
def test_change_that_would_break_the_lease_is_refused(site, started, name):
    """The refusal gives a reason. Blazar's manager would set the lease to ERROR."""
    change = BREAKING[name]
    for lease in started[1:]:
        body = change
        if not set(change) & {"before_end_date"}:
            body = {"reservations": [{"id": lease["reservations"][0]["id"], **change}]}
        before = site.rows()
        path = f"/v1/leases/{lease['id']}"
        answer = sending.send(site.app, "PUT", path, body)
        assert answer.status_int in (400, 409), answer
        assert sending.refused(answer)[1] in ("invalid_field", "fixed_value")
        assert site.rows() == before

        # Stock Blazar sets the lease to ERROR for the same change.
        sending.send(site.stock_app(), "PUT", path, body)
        assert status(site, lease) == "ERROR"


def test_ended_lease_can_only_be_renamed(site, started):
    """This holds in the minute of its end too, in which Blazar would still change it."""
    site.set_time(things.moment(2, 11))
    site.run_events()
    lease = started[1]
    path = f"/v1/leases/{lease['id']}"
    change = {"end_date": "2100-01-03 13:00"}
    answer = sending.send(site.app, "PUT", path, change)
    assert sending.refused(answer) == (409, "invalid_state")
    assert sending.send(site.app, "PUT", path, {"name": "renamed"}).status_int == 200
    assert status(site, lease) == "TERMINATED"

    sending.send(site.stock_app(), "PUT", path, change)
    assert status(site, lease) == "ERROR"


@pytest.mark.parametrize(
    ("ended", "minutes"), [(True, 0), (True, 1), (True, 90), (False, 1), (False, 90)]
)
def test_extension_of_an_ended_lease_has_one_answer(site, started, ended, minutes):
    """Blazar's own answer depends on the minute, and on whether the end was carried out."""
    end = things.moment(2, 11)
    if ended:
        site.set_time(end)
        site.run_events()
    site.set_time(end + datetime.timedelta(minutes=minutes))
    for lease in started:
        change = {"end_date": "2100-01-03 15:00"}
        answer = sending.send(site.app, "PUT", f"/v1/leases/{lease['id']}", change)
        assert sending.refused(answer) == (409, "invalid_state")
        assert status(site, lease) == ("TERMINATED" if ended else "ACTIVE")


@pytest.mark.parametrize("minutes", [0, 1, 90])
def test_extension_of_an_ended_reservation_has_one_answer(site, started, minutes):
    """The same over v2: Blazar's own answer depends on the minute."""
    end = things.moment(2, 11)
    site.set_time(end)
    site.run_events()
    site.set_time(end + datetime.timedelta(minutes=minutes))
    path = f"/v2/reservations/{started[0]['reservations'][0]['id']}"
    answer = sending.send(site.app, "PATCH", path, {"end": "2100-01-03T15:00"})
    assert sending.refused(answer) == (409, "invalid_state")


@pytest.mark.parametrize("asked_type", [*hostile.KINDS, "virtual:floatingip", "no:such"])
def test_change_of_the_resource_type_is_refused(site, started, asked_type):
    """The plugin of another type would get the reservation, and Blazar would fail."""
    for lease in started:
        reservation = lease["reservations"][0]
        change = {"id": reservation["id"], "resource_type": asked_type}
        path = f"/v1/leases/{lease['id']}"
        answer = sending.send(site.app, "PUT", path, {"reservations": [change]})
        if asked_type == reservation["resource_type"]:
            assert answer.status_int == 200
        else:
            assert sending.refused(answer) == (409, "fixed_value")
            assert answer.json["detail"] == {"field": "reservations.0.resource_type"}
        assert status(site, lease) == "ACTIVE"


def test_lease_that_mixes_resource_types_is_refused():
    body = sending.lease(GOOD, INSTANCE)
    with pytest.raises(exceptions.MixedLease) as refused:
        lease_bodies.checked("POST", json.dumps(body).encode())
    assert refused.value.detail == {"types": ["virtual:instance"]}


def test_two_changes_of_one_reservation_are_refused():
    """Blazar would keep only the second one."""
    once = {"id": ID, "amount": 1}
    with pytest.raises(exceptions.InvalidField) as raised:
        checked("PUT", {"reservations": [once, {**once, "amount": 2}]})
    assert raised.value.detail["field"] == "reservations.1.id"
    assert checked("POST", sending.lease(GOOD, GOOD))
    assert checked("PUT", {"reservations": [once, {"id": ID.replace("3", "4")}]})


def test_good_changes_are_made(site, started):
    for lease in started:
        path = f"/v1/leases/{lease['id']}"
        for body in (
            {"name": "renamed"},
            {"end_date": "2100-01-03 12:00"},
            {"before_end_date": "2100-01-03 11:59"},
            {"end_date": "2100-01-03 11:00", "before_end_date": "2100-01-03 10:59"},
        ):
            answer = sending.send(site.app, "PUT", path, body)
            assert answer.status_int == 200, answer
        assert status(site, lease) == "ACTIVE"


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
@pytest.mark.parametrize("version", ["v1", "v2"])
def test_lease_of_another_project_is_answered_as_unknown(site, started, version, method):
    """The answer doesn't tell whether the lease exists, whatever is asked about it."""
    bodies = (
        [b""] if method != "PUT" else [{"before_end_date": f"2100-01-0{n} 10:00"} for n in "34"]
    )
    existing, unknown = (started[0]["id"], str(uuid.uuid4()))
    for body in bodies:
        answers = [
            sending.send(site.app, method, f"/{version}/leases/{lease_id}", body, who="beta")
            for lease_id in (existing, unknown)
        ]
        if (version, method) != ("v2", "PUT"):
            assert sending.refused(answers[0]) == (404, "not_found")
        assert answers[0].text.replace(existing, unknown) == answers[1].text
        assert answers[0].status == answers[1].status
    assert status(site, started[0]) == "ACTIVE"


def test_existing_lease_is_shown_without_checks(site):
    """Only bodies of requests are checked, not leases in the database."""
    made = world.add_lease(world.hours(24, 26), project_id="project-alpha")
    assert sending.send(site.app, "GET", f"/v1/leases/{made.id}").status_int == 200
