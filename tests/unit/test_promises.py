"""No release takes away what an earlier one has promised (doc/source/promises.rst)."""

import pytest

from tests import promises

ADVICE = """{number} lines of tests/promises.txt are gone. Programs of users and operators rely on
them. Keep the old name or type beside the new one. The page of contributing says under "Releases"
when a line may go:
{lines}"""


@pytest.fixture(scope="module")
def kept() -> set[str]:
    return promises.promised()


def recorded() -> list[str]:
    return promises.RECORDED.read_text().splitlines()


def test_nothing_that_was_promised_is_gone(kept: set[str]):
    gone = sorted(set(recorded()) - kept)
    assert not gone, ADVICE.format(number=len(gone), lines="\n".join(gone))


def test_recorded_lines_are_sorted_so_that_a_change_is_seen():
    assert recorded() == sorted(set(recorded()))


@pytest.mark.parametrize(
    "line",
    [
        "api GET /reservations",
        "api GET /reservations takes query status",
        "api Reservation.instance_count is integer",
        'api Reservation.status may be "ACTIVE"',
        "error slots_exhausted has status 400",
        "error too_long has max_length_hours",
        "command openstack reservation list is blazar reservation-list",
        "command openstack reservation list has column start",
        "command openstack reservation host status has column full_now",
        "command openstack reservation create takes --count, a value",
        "command warre-blazar-manage db upgrade takes argument revision, ?",
        "option [warre] emit_notifications is Boolean",
        "option [warre] nova_aggregate_rules may be isolation",
        "policy warre:flavor:create",
        "metric openstack_blazar_hosts has label state",
        "notification reservation.lease_id is string",
        "client reservations.create needs flavor",
        "blazar.resource.plugins flavor.slot.plugin",
    ],
)
def test_each_kind_of_promise_is_found(kept: set[str], line: str):
    assert line in kept


@pytest.mark.parametrize(
    ("before", "after", "gone"),
    [
        ({"type": "string"}, {"type": ["string", "null"]}, {"x is string"}),
        ({"enum": ["a", "b"]}, {"enum": ["b", "c"]}, {'x may be "a"'}),
        (
            {"properties": {"a": {"type": "string"}}},
            {"properties": {"a": {"type": "string"}}, "required": ["a"]},
            {"x.a? is string"},
        ),
        ({"items": {"type": "string"}}, {"items": {"type": "integer"}}, {"x[] is string"}),
        ({"type": "object"}, {"type": "object", "properties": {"a": {"type": "string"}}}, set()),
    ],
    ids=["type", "word", "required", "item", "addition"],
)
def test_changed_schema_loses_lines(before: object, after: object, gone: set[str]):
    lines = [set(promises._schema("x", schema)) for schema in (before, after)]
    assert lines[0] - lines[1] == gone
