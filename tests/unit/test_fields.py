"""What the declared fields promise holds: bounds, descriptions, rules and options."""

import argparse
from typing import Any

import pytest

from warre_blazar import policies
from warre_blazar.api import openapi, parsing, schemas
from warre_blazar.cli import flavor_fields
from warre_blazar.db import models
from warre_blazar.domain.booking import labels, reservation_states
from warre_blazar.domain.running import handles
from warre_blazar.errors import exceptions
from warre_blazar.fields import calendars, flavors, others, reservations, shares, waits
from warre_blazar.fields.declaration import Field, Use, answered, fields
from warre_blazar.fields.kinds import BOOLEAN, EXPECTED, Integer
from warre_blazar.services.flavors.flavors import _COLUMNS

RESOURCES = [
    flavors.FlavorShown,
    reservations.ReservationFields,
    others.AccessFields,
    others.WindowFields,
    others.LimitsFields,
    others.MessagesFields,
    waits.WaitFields,
    shares.ShareFields,
    calendars.CalendarFields,
]
FIELDS = [
    pytest.param(field, id=f"{resource.__name__}-{field.key}")
    for resource in RESOURCES
    for field in fields(resource)
]
BODIES = [o.body for o in openapi.OPERATIONS if o.body]
#: A value outside of a bound and the text that names the bound, by the keyword of the bound.
OUTSIDE: dict[str, Any] = {
    "minimum": lambda least: (least - 1, f"at least {least}"),
    "maximum": lambda most: (most + 1, f"at most {most}"),
    "minLength": lambda _: ("", "isn't empty"),
    "maxLength": lambda most: ("x" * (most + 1), f"at most {most} characters"),
    "maxItems": lambda most: ([str(n) for n in range(most + 1)], f"at most {most} entries"),
    "maxProperties": lambda most: (
        {str(n): "" for n in range(most + 1)},
        f"at most {most} entries",
    ),
    "uniqueItems": lambda _: (["a", "a"], "only once"),
    "not": lambda rule: ("\x00", rule.get(EXPECTED, "printable text")),
}
BOUNDS = [
    pytest.param(body, name, keyword, id=f"{body}-{name}-{keyword}")
    for body in BODIES
    for name, schema in openapi.request_schema(body)["properties"].items()
    for keyword in sorted(schema.keys() & OUTSIDE)
]


@pytest.mark.parametrize(
    ("value", "expected"),
    [(-1, "at least 0"), (8, "at most 7"), ("3", "a whole number"), (True, "a whole number")],
)
def test_value_that_is_no_number_within_the_bounds_is_refused(value: Any, expected: str):
    with pytest.raises(ValueError, match=expected):
        Integer(0, 7).validate(value)


@pytest.mark.parametrize(("body", "name", "keyword"), BOUNDS)
def test_refusal_names_the_field_and_its_bound(body: str, name: str, keyword: str):
    schema = openapi.request_schema(body)
    value, text = OUTSIDE[keyword](schema["properties"][name][keyword])
    with pytest.raises(exceptions.InvalidField, match=f"^{name}: ") as refused:
        parsing.check({name: value}, {**schema, "required": []})
    assert text in str(refused.value)


@pytest.mark.parametrize("field", FIELDS)
def test_field_is_described(field: Field[Any]):
    assert field.description.endswith(".")
    rules = {rule.name for rule in policies.list_rules()}
    assert field.seen_by in {None, *rules}


def test_fields_keep_the_order_in_which_they_are_declared():
    declared = [
        name for name, v in vars(reservations.ReservationFields).items() if isinstance(v, Field)
    ]
    assert [field.key for field in fields(reservations.ReservationFields)] == declared
    assert [field.key for field in fields(flavors.FlavorOffered)][-3:] == [
        *("bookable", "bookable_hosts", "warnings")
    ]


def test_states_are_those_that_the_server_derives():
    assert reservations.STATES == reservation_states.ALL
    assert reservations.DELETED == reservation_states.DELETED


def test_each_field_of_a_flavor_has_a_column():
    stored = {_COLUMNS.get(field.key, field.key) for field in fields(flavors.FlavorFields)}
    assert stored <= set(models.flavors.c.keys())


def test_warres_path_has_only_warres_fields():
    body = schemas.in_warre(schemas.RESERVATION_CREATE)
    ours = {*labels.NAMES, "before_end", "movable_hours", *handles.NAMES, "project_id"}
    assert schemas.RESERVATION_CREATE["properties"].keys() - body["properties"] == ours
    optional = {
        f.name for f in answered(reservations.ReservationFields) if Use.NOT_IN_WARRE in f.use
    }
    answer = schemas.of_answer(reservations.ReservationFields)
    assert set(answer["required"]) == answer["properties"].keys() - optional


@pytest.mark.parametrize("add", [flavor_fields.add_all, flavor_fields.add_changes])
def test_each_field_of_a_flavor_that_can_be_given_has_an_option(add: Any):
    parser = argparse.ArgumentParser()
    add(parser)
    given = {action.dest for action in parser._actions}
    body = "FlavorCreate" if add is flavor_fields.add_all else "FlavorUpdate"
    assert given >= openapi.request_schema(body)["properties"].keys() - {"name"}


def test_boolean_without_words_of_its_own_gets_options_by_its_name(
    monkeypatch: pytest.MonkeyPatch,
):
    field: Field[bool] = Field(BOOLEAN, "Whether it is new.")
    field.key = "is_new"
    monkeypatch.setattr(flavor_fields, "_DECLARED", [field])
    parser = argparse.ArgumentParser()
    flavor_fields.add_all(parser)
    assert parser.parse_args(["--is-new"]).is_new
    assert not parser.parse_args(["--no-is-new"]).is_new
    assert parser.parse_args([]) == argparse.Namespace()
