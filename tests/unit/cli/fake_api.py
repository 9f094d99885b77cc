"""A fake v2 API that gives prepared answers, with documents such as those of the real API."""

import dataclasses
import datetime
from http.server import BaseHTTPRequestHandler
from typing import Any, ClassVar

import jsonschema

from tests.fakes.service import Answer, Fault, Request, Service
from warre_blazar.api import schemas, views
from warre_blazar.db import models
from warre_blazar.domain.booking.labels import NO_LABELS
from warre_blazar.domain.booking.quota import Amount
from warre_blazar.domain.booking.reservation import Reservation
from warre_blazar.domain.flavors.flavor import Flavor, Shape
from warre_blazar.domain.series.recurrence import Recurrence
from warre_blazar.domain.series.series import (
    BookedSeries,
    PlannedOccurrence,
    RepeatedBooking,
    SeriesStatus,
)
from warre_blazar.domain.timeline import Span
from warre_blazar.domain.waits import Wait
from warre_blazar.errors.exceptions import Relayed
from warre_blazar.fields.calendars import CalendarFields
from warre_blazar.fields.others import AccessFields, WindowFields
from warre_blazar.fields.shares import ShareFields
from warre_blazar.fields.waits import WaitFields
from warre_blazar.services.booking.dry_run import Foreseen
from warre_blazar.services.waits.waits import WaitStatus

FLAVOR = Flavor(
    id="11111111-1111-4111-8111-111111111111",
    name="gpu.large",
    shape=Shape(
        vcpu=4,
        memory_mb=8192,
        disk_gb=30,
        ephemeral_gb=0,
        extra_specs={"hw:a": "1", "trait:B": "required"},
        properties=None,
        availability_zone=None,
    ),
    slots=2,
    max_length_hours=24,
    start=None,
    end=datetime.datetime(2027, 1, 1),
    is_public=True,
    active=True,
    texts={c.name: None for c in models.flavors.c if c.info == models.TEXT} | {"category": "gpu"},
)

RESERVATION = Reservation(
    id="22222222-2222-4222-8222-222222222222",
    reservation_id="33333333-3333-4333-8333-333333333333",
    lease_id="lease-1",
    lease_name="a lease",
    flavor_id=FLAVOR.id,
    instance_count=2,
    shape=FLAVOR.shape,
    span=Span(datetime.datetime(2026, 12, 1, 9), datetime.datetime(2026, 12, 1, 11)),
    project_id="project-1",
    user_id="user-1",
    state="ALLOCATED",
    status_reason=None,
    created_at=datetime.datetime(2026, 11, 1),
)

_BODIES = {
    "POST /v2/flavors": schemas.FLAVOR_CREATE,
    "POST /v2/reservations": schemas.RESERVATION_CREATE,
    "POST /v2/series": schemas.SERIES_CREATE,
    "PATCH /v2/series": schemas.SERIES_UPDATE,
    "POST /v2/waits": schemas.creation(WaitFields),
    "PATCH /v2/flavors": schemas.FLAVOR_UPDATE,
    "PATCH /v2/reservations": schemas.RESERVATION_UPDATE,
    "POST /v2/shares": schemas.creation(ShareFields),
    "POST /v2/calendars": schemas.creation(CalendarFields),
    "POST /v2/flavorprojects": schemas.creation(AccessFields),
    "PATCH /v2/messages": schemas.MESSAGES_UPDATE,
    "POST /v2/maintenancewindows": schemas.creation(WindowFields),
    "PATCH /v2/maintenancewindows": schemas.WINDOW_UPDATE,
}


class Api(Service):
    """It refuses invalid bodies. ``answers`` has, by request line, an answer or a list of them."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Request] = []
        self.answers: dict[str, Answer | list[Answer]] = {}
        #: What a client discovers; that it does isn't recorded.
        self.versions = Answer(300, {"versions": [_version(1), _version(2)]})

    def record(self, request: Request) -> Fault | None:
        if request.path.endswith("/") and request.method == "GET":
            return None
        self.seen.append(request)
        return super().record(request)

    def answer(self, request: Request) -> Answer:
        if request.path.endswith("/") and request.method == "GET":
            return self.versions
        if request.body is not None:
            # Bodies that aren't Blazar's are for tests to look at.
            schema = _BODIES.get("/".join(request.line.split("/")[:3]), {})
            wrong = next(jsonschema.Draft202012Validator(schema).iter_errors(request.body), None)
            if wrong:
                return error(422, f"the fake: {wrong.message}")
        answer = self.answers.get(request.line) or error(404, f"the fake has no {request.line}")
        return answer.pop(0) if isinstance(answer, list) else answer


def _version(number: int) -> dict[str, Any]:
    # Behind a proxy Blazar doesn't know its own address.
    link = {"rel": "self", "href": f"http://inside:1/v{number}"}
    status = "CURRENT" if number == 1 else "DEPRECATED"
    return {"id": f"v{number}.0", "status": status, "links": [link]}


def error(status: int, message: str, code: str = "a_code", **detail: Any) -> Answer:
    """Return an error in the format of the API."""
    document = {"error_code": status, "error_message": message, "error_name": "N", "code": code}
    return Answer(status, document | ({"detail": detail} if detail else {}))


def listing(*results: dict[str, Any], **more: Any) -> Answer:
    """Return a page of a listing."""
    return Answer(200, {"results": list(results), "total": len(results), **more})


def flavor(**values: Any) -> dict[str, Any]:
    """Return a flavor's document."""
    return {**views.flavor(FLAVOR), **values}


def reservation(**values: Any) -> dict[str, Any]:
    """Return a reservation's document."""
    return {**views.reservation(RESERVATION, FLAVOR), **values}


def server(name: str, *, status: str = "ACTIVE", moved_out: bool = False) -> dict[str, Any]:
    """Return a server in a reservation, as a reservation's document has it."""
    return {"id": f"id-{name}", "name": name, "status": status, "moved_out": moved_out}


WAIT = Wait(
    id="55555555-5555-4555-8555-555555555555",
    project_id="project-1",
    user_id="user-1",
    flavor_id=FLAVOR.id,
    category=None,
    instance_count=2,
    length=datetime.timedelta(hours=24),
    window=Span(datetime.datetime(2099, 12, 1, 9), datetime.datetime(2099, 12, 31, 9)),
    created_at=datetime.datetime(2026, 11, 1),
    expires_at=datetime.datetime(2099, 12, 30, 9),
)


def wait(**values: Any) -> dict[str, Any]:
    """Return the document of a wait that is third in line."""
    return {**views.wait(WaitStatus(WAIT, FLAVOR, None, 3), views.everything), **values}


def series(**values: Any) -> dict[str, Any]:
    """Return the document of a series with two reservations."""
    item = BookedSeries(
        id="44444444-4444-4444-8444-444444444444",
        project_id="project-1",
        user_id="user-1",
        booking=RepeatedBooking(FLAVOR.id, 1, None, NO_LABELS, None),
        recurrence=Recurrence(
            datetime.datetime(2026, 12, 1, 10),
            "Europe/Berlin",
            "FREQ=WEEKLY;COUNT=3",
            datetime.timedelta(hours=2),
        ),
        all_or_none=False,
        status=SeriesStatus.BOOKED,
        work_id="work",
        ends_running=False,
        created_at=datetime.datetime(2026, 11, 1),
        planned=3,
    )
    week = datetime.timedelta(days=7)
    second = dataclasses.replace(
        RESERVATION,
        id="66666666-6666-4666-8666-666666666666",
        span=Span(*(moment + week for moment in (RESERVATION.span.start, RESERVATION.span.end))),
    )
    refusal = {"code": "flavor_inactive", "message": "Flavor is not available", "detail": {}}
    planned = [
        PlannedOccurrence(RESERVATION.span, RESERVATION.id),
        PlannedOccurrence(second.span, second.id),
        PlannedOccurrence(Span(second.span.start + week, second.span.end + week), None, refusal),
    ]
    return {**views.series(item, FLAVOR, [RESERVATION, second], planned), **values}


def foreseen(*refusals: tuple[str, str, dict[str, Any]], **values: Any) -> Answer:
    """Return the answer to a dry run.

    :param refusals: the code, the text and the detail of each rule that refuses the request.
    """
    result = Foreseen(
        flavor=FLAVOR,
        span=RESERVATION.span,
        count=1,
        affinity=None,
        before_end="nothing",
        hosts={},
        refusals=[
            Relayed({"code": code, "message": text, "detail": detail})
            for code, text, detail in refusals
        ],
        cost=Amount(1, 2),
        standing=None,
        next_start=None,
        wait_start=None,
        longest=datetime.timedelta(0),
        most=0,
    )
    document = views.foreseen(dataclasses.replace(result, **values), with_hosts=False)
    return Answer(200, document)


class Page(BaseHTTPRequestHandler):
    """A web server in place of Blazar's API. Its ``answer`` is a status and an HTML page."""

    answer: ClassVar[tuple[int, str]]

    def do_GET(self) -> None:
        status, text = self.answer
        self.send_response(status)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""
