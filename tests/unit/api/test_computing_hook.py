"""What computes takes turns, also when it is a POST; what books doesn't wait for it."""

from concurrent import futures
from typing import Any

import pytest

from tests.unit.api import things
from tests.unit.api.people import Person, refusal
from tests.unit.api.site import Site
from warre_blazar.api import computing_hook
from warre_blazar.openstack.locks import READING, Locks

_READS, _LONG = "reads", "long"


@pytest.fixture
def flavor(admin: Person) -> dict[str, Any]:
    return things.add_flavor(admin, slots=8)


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kinds of turns that requests have taken."""
    found: list[str] = []
    held = Locks.held

    def noted(self: Locks, name: str) -> Any:
        kinds = {id(READING): _READS, id(computing_hook._LONG): _LONG}
        found.extend([kinds[id(self)]] if id(self) in kinds else [])
        return held(self, name)

    monkeypatch.setattr(Locks, "held", noted)
    return found


@pytest.mark.parametrize(
    ("path", "make", "kind"),
    [
        ("reservations", things.booking, None),
        ("reservations?dry_run=true", things.booking, _READS),
        ("series?dry_run=true", things.series, _LONG),
        ("series?dry_run=no", things.series, None),
        ("waits?dry_run=true", lambda flavor: {"flavor_id": flavor["id"], "hours": 1}, _READS),
        (
            "maintenancewindows",
            lambda flavor: {
                **{"start": things.at(5), "end": things.at(6)},
                **{"flavor_ids": [flavor["id"]], "bookings": "show"},
            },
            _LONG,
        ),
    ],
)
def test_request_that_computes_takes_a_turn(admin: Person, flavor, taken, path, make, kind):
    things.made(admin.post(path, make(flavor)))
    assert taken == ([kind] if kind else [])


def test_change_that_is_foreseen_takes_a_turn(alpha: Person, flavor, taken):
    booked = things.book(alpha, flavor)
    path = f"reservations/{booked['id']}"
    assert alpha.patch(f"{path}?dry_run=true", {"end": things.at(2, 12)}).status_int == 200
    assert taken == [_READS]
    assert alpha.patch(path, {"end": things.at(2, 12)}).status_int == 200
    assert taken == [_READS]


def test_busy_process_refuses_previews_with_retry_after(
    site: Site, alpha: Person, flavor, monkeypatch
):
    monkeypatch.setattr(computing_hook._LONG, "_refused_after", 0.01)
    with computing_hook._LONG.held("reading"), futures.ThreadPoolExecutor() as pool:
        asked = things.series(flavor)
        answer = pool.submit(alpha.post, "series?dry_run=true", asked).result()
        assert refusal(answer) == (503, "service_unavailable")
        assert int(answer.headers["Retry-After"]) > 0
        # Readers and bookings don't wait for it.
        assert pool.submit(alpha.get, "flavors").result().status_int == 200
        assert pool.submit(things.book, alpha, flavor).result()["status"] == "ALLOCATED"
    assert alpha.post("series?dry_run=true", asked).status_int == 200
