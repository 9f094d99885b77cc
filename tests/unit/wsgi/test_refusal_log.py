"""What the manager logs about a request that is refused, and about one that fails."""

import logging

import pytest

from tests.unit.api import things
from tests.unit.api.people import Person, refusal
from tests.unit.wsgi import sending
from tests.unit.wsgi.whole import WholeSite
from warre_blazar import texts
from warre_blazar.errors import exceptions
from warre_blazar.services.booking import changing


def loud(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [r for r in caplog.records if r.levelno >= logging.ERROR]


def refusals(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.getMessage().startswith("Refused")]


def test_refused_change_is_one_line(
    site: WholeSite, alpha: Person, caplog: pytest.LogCaptureFixture
):
    flavor = things.add_flavor(Person(site.app, "admin"), slots=1)
    mine = things.book(alpha, flavor)
    things.book(alpha, flavor, start=things.at(2, 12), end=things.at(2, 13))
    lease = {"end_date": f"{things.at(2, 13)[:10]} 13:00"}
    path = f"/v1/leases/{mine['lease_id']}"
    caplog.set_level(logging.INFO)
    assert sending.send(site.app, "PUT", path, lease).status_int == 400
    assert loud(caplog) == []
    (line,) = refusals(caplog)
    assert line.startswith("Refused (slots_exhausted): No capacity")


def test_refused_booking_is_one_line(site: WholeSite, caplog: pytest.LogCaptureFixture):
    flavor = things.add_flavor(Person(site.app, "admin"), slots=1)
    caplog.set_level(logging.INFO)
    body = sending.lease(sending.slot(flavor, amount=2))
    assert sending.send(site.app, "POST", "/v1/leases", body).status_int == 400
    assert loud(caplog) == []
    assert len(refusals(caplog)) == 1


def test_fault_keeps_its_traceback(
    site: WholeSite,
    alpha: Person,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
):
    mine = things.book(alpha, things.add_flavor(Person(site.app, "admin")))

    def fail(*_: object) -> None:
        raise exceptions.ServiceUnavailable("Keystone", texts.services.SAID(said="no answer"))

    monkeypatch.setattr(changing, "move", fail)
    answer = alpha.patch(f"reservations/{mine['id']}", {"end": things.at(2, 12)})
    assert refusal(answer)[1] == "service_unavailable"
    assert any(record.exc_info for record in loud(caplog))
    assert refusals(caplog) == []
