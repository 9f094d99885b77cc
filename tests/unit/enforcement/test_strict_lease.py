"""``StrictLeaseFilter``: the values of a lease that it lets pass, and its refusals."""

import datetime
from typing import Any

import pytest
from blazar import context
from blazar import exceptions as blazar_exc

from warre_blazar.enforcement.strict_lease import StrictLeaseFilter

START = datetime.datetime(2100, 1, 1)
USER = "user"


@pytest.fixture
def strict():
    """The filter in the context of a request by USER."""
    with context.BlazarContext(user_id=USER, project_id="project"):
        yield StrictLeaseFilter(conf=None)


def created(**changes: Any) -> dict[str, Any]:
    """The values of a creation as Blazar passes them to filters, with a reservation of any type."""
    return {
        "name": "mine",
        "start_date": START,
        "end_date": START,
        "status": "CREATING",
        "user_id": USER,
        "project_id": "project",
        "reservations": [{"resource_type": "physical:host"}],
        **changes,
    }


def updated(**changes: Any) -> dict[str, Any]:
    return {"start_date": START, "end_date": START, "reservations": [], **changes}


@pytest.mark.parametrize("more", [{}, {"before_end_date": None}, {"before_end_date": "2100-01-01"}])
def test_fields_that_clients_send_pass(strict: StrictLeaseFilter, more: dict[str, Any]):
    strict.check_create({}, created(**more))
    strict.check_update({}, {}, updated(**more))
    strict.check_update({}, {}, updated(name="another", **more))


BAD = {
    "id": "4fd4b9a2",
    "project_id": "nobody",
    "user_id": "nobody",
    "trust_id": "another's",
    "status": "ACTIVE",
    "degraded": True,
    "events": [],
    "created_at": "2100-01-01",
    "__class__": "Lease",
    "name": ["a", "list"],
    "before_end_date": 7,
}
LONG_NAME = {"name": "x" * 100}


@pytest.mark.parametrize("field", [*BAD, "long name"])
def test_update_with_another_field_is_refused(strict: StrictLeaseFilter, field: str):
    changes = LONG_NAME if field == "long name" else {field: BAD[field]}
    with pytest.raises(blazar_exc.InvalidInput) as refused:
        strict.check_update({}, {}, updated(**changes))
    # Only for this exact type, Blazar doesn't set the lease to ERROR.
    assert type(refused.value) is blazar_exc.InvalidInput
    assert refused.value.kwargs["warre"]["detail"]["field"] in changes


@pytest.mark.parametrize("field", sorted(set(BAD) - {"status", "project_id"}))
def test_creation_with_another_field_is_refused(strict: StrictLeaseFilter, field: str):
    with pytest.raises(blazar_exc.InvalidInput) as refused:
        strict.check_create({}, created(**{field: BAD[field]}))
    assert refused.value.kwargs["warre"]["detail"]["field"] == field


def test_lease_of_several_reservations_of_ours_passes(strict: StrictLeaseFilter):
    strict.check_create({}, created(reservations=[{"resource_type": "flavor:slot"}] * 2))


def test_lease_that_mixes_resource_types_is_refused(strict: StrictLeaseFilter):
    types = ("physical:host", "flavor:slot", "virtual:instance")
    with pytest.raises(blazar_exc.InvalidInput, match="make two leases") as refused:
        strict.check_create({}, created(reservations=[{"resource_type": t} for t in types]))
    assert refused.value.kwargs["warre"] == {
        "code": "mixed_lease",
        "detail": {"types": ["physical:host", "virtual:instance"]},
    }


@pytest.mark.parametrize("reservations", [None, {}, [1], "all"])
def test_reservations_that_are_no_list_of_objects_are_refused(
    strict: StrictLeaseFilter, reservations: Any
):
    with pytest.raises(blazar_exc.InvalidInput):
        strict.check_update({}, {}, updated(reservations=reservations))
