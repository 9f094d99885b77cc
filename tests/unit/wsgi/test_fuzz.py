"""Hostile requests don't harm the cloud. ``tools/fuzz`` sends many more of them."""

import logging

import pytest

from tests.unit.wsgi import odd_requests, sending, two_projects
from tests.unit.wsgi.fuzzing import Fuzz, stock
from tests.unit.wsgi.request_fuzzing import ROUND, RequestFuzz
from tests.unit.wsgi.whole import WholeSite

pytestmark = pytest.mark.slow
EXAMPLES = 150
REQUESTS = 6 * ROUND


def test_hostile_bodies_leave_the_cloud_working(site: WholeSite):
    report = Fuzz(site, site.app).run(EXAMPLES, seed=1)
    assert report.wrong == []
    assert report.controls > EXAMPLES // 20
    # Not all requests are refused by the checks.
    assert report.statuses[200] > EXAMPLES // 30
    assert report.statuses[201] > EXAMPLES // 30
    assert sum(report.statuses.values()) == EXAMPLES


def test_hostile_bodies_break_stock_blazar(site: WholeSite, monkeypatch: pytest.MonkeyPatch):
    """This shows that the fuzzer notices broken leases."""
    monkeypatch.setattr(site._manager.enforcement, "enabled_filters", [])
    report = Fuzz(site, stock(site)).run(EXAMPLES, seed=3)
    for wanted in ("an event without a lease", "lease UPDATING", "lease ERROR"):
        assert any(wrong.startswith(wanted) for wrong in report.wrong), wanted


def test_odd_requests_are_answered_in_the_form_of_the_api(site: WholeSite):
    site.clear()
    report = RequestFuzz(site, site.app, seed=1).run(REQUESTS)
    assert report.wrong == []
    assert sum(report.statuses.values()) == REQUESTS
    # Many requests get past the checks.
    assert len(report.carried_out) > 20
    assert report.statuses[200] > REQUESTS // 10


def test_odd_requests_break_stock_blazar(site: WholeSite):
    """This shows that the fuzzer notices answers of 5xx and other forms of errors."""
    site.clear()
    report = RequestFuzz(site, stock(site), seed=1).run(REQUESTS // 2)
    for wanted in ("500", "an error "):
        assert any(wrong.startswith(wanted) for wrong in report.wrong), wanted


class Careless:
    """An application that does and shows what it shouldn't."""

    def __init__(self, site: WholeSite, way: str) -> None:
        self._site, self._way = site, way

    def __call__(self, environ, start_response):
        if self._way == "log":
            try:
                raise ZeroDivisionError("secret")
            except ZeroDivisionError:
                logging.getLogger("blazar.api").exception("failed")
        if self._way == "write":
            sending.send(self._site.app, "PATCH", self._one("alpha"), {"name": "x"}, who="alpha")
        if self._way == "show":
            return sending.send(self._site.app, "GET", "/v2/reservations", who="alpha")(
                environ, start_response
            )
        if self._way == "crash":
            raise ZeroDivisionError("secret")
        start_response("404 Not Found", [("Content-Type", "text/html")])
        return [b"<html></html>"]

    def _one(self, name: str) -> str:
        booked = sending.send(self._site.app, "GET", "/v2/reservations", who=name).json["results"]
        return f"/v2/reservations/{booked[0]['id']}"


@pytest.mark.parametrize(
    ("way", "wanted"),
    [
        ("log", "a traceback in the log: failed"),
        ("write", "rows of project-alpha were changed"),
        ("show", "secret-of-alpha of alpha is shown to beta"),
        ("crash", "599"),
        ("html", "HTML"),
    ],
)
def test_fuzzer_notices_each_kind_of_damage(site: WholeSite, way: str, wanted: str):
    site.clear()
    report = RequestFuzz(site, Careless(site, way), seed=1).run(ROUND)
    found = [wrong for wrong in report.wrong if wrong.startswith(wanted)]
    assert found
    assert all("--only requests --seed 1 --from 0 --examples" in wrong for wrong in found)


def test_same_seed_gives_the_same_requests(site: WholeSite):
    site.clear()
    known = two_projects.furnish(site).known
    first, second, other = (odd_requests.Generator(seed, ["/v1/leases"]) for seed in (1, 1, 2))
    requests = [first.request(number, known) for number in range(100)]
    assert [second.request(number, known) for number in reversed(range(100))] == requests[::-1]
    assert [other.request(number, known) for number in range(100)] != requests


def test_all_methods_of_all_paths_are_asked_for(site: WholeSite):
    generator = odd_requests.Generator(1, ["/v1/leases", "/v1/leases/<lease_id>"])
    known = {name: [("everybody", "x")] for name in _parameters(generator.templates)}
    everything = len(generator.templates) * len(odd_requests.METHODS)
    asked = [generator.request(number, known) for number in range(0, 2 * everything, 2)]
    assert len({(request.method, request.template) for request in asked}) == everything


def _parameters(templates):
    return {part.strip("{}") for path in templates for part in path.split("/") if "{" in part} | {
        *("flavor_id", "project_id", "reservation_id")
    }
