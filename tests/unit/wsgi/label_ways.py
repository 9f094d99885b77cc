"""All ways to give a label to what is booked, by the API and by the manager."""

from collections.abc import Callable
from typing import Any

from tests.unit.api import things
from tests.unit.api.people import Person
from tests.unit.wsgi import sending

#: A way to give a label: (person, flavor, reservation, value, name of the label) to the answer.
Way = Callable[..., Any]


def v1(alpha: Person, flavor: dict[str, Any], _: Any, value: str, name: str = "contact") -> Any:
    """A plain lease, whose labels only the manager checks."""
    lease = sending.lease(sending.slot(flavor, **{name: value}))
    return sending.send(alpha._app.app, "POST", "/v1/leases", lease)


def _wait(a: Person, f: dict[str, Any], _: Any, value: str, name: str = "contact") -> Any:
    return a.post("waits", {"flavor_id": f["id"], "hours": 1, name: value})


def _posted(path: str, made: Callable[..., dict[str, Any]]) -> Way:
    return lambda a, f, r, value, name="contact": a.post(path, made(f, **{name: value}))


def _changed(query: str = "") -> Way:
    return lambda a, f, r, value, name="contact": a.patch(
        f"reservations/{r['id']}{query}", {name: value}
    )


WAYS: dict[str, Way] = {
    "booking": _posted("reservations", things.booking),
    "dry booking": _posted("reservations?dry_run=true", things.booking),
    "change": _changed(),
    "dry change": _changed("?dry_run=true"),
    "series": _posted("series", things.series),
    "dry series": _posted("series?dry_run=true", things.series),
    "wait": _wait,
    "v1": v1,
}
