"""The Python client: the requests that it sends, and the values that it makes of the answers."""

import datetime
from collections.abc import Callable
from typing import Any

import pytest
from keystoneauth1 import exceptions as ksa

from tests.fakes.service import Answer
from tests.unit.cli.fake_api import (
    FLAVOR,
    RESERVATION,
    Api,
    error,
    flavor,
    listing,
    reservation,
    series,
)
from tests.unit.client.test_transport import connect
from warre_blazar import timer
from warre_blazar.client import Access, Alternatives, Client, Limits, Span, errors

UTC = datetime.UTC
START = datetime.datetime(2026, 12, 1, 9, tzinfo=UTC)
WINDOW = {
    "id": "44444444-4444-4444-8444-444444444444",
    "start": "2026-12-20T00:00:00+00:00",
    "end": "2026-12-21T00:00:00+00:00",
    "note": "firmware",
    "flavors": [{"id": FLAVOR.id, "name": FLAVOR.name}],
}
_FREE = "GET /v2/flavors/f/freeslots"


@pytest.fixture
def client(api: Api) -> Client:
    return connect(f"{api.url}/v1")


class Nowhere(datetime.tzinfo):
    """A time zone that doesn't give its offset."""

    def utcoffset(self, _: datetime.datetime | None) -> None:
        return None


def test_flavor_has_typed_fields(api: Api, client: Client) -> None:
    api.answers["GET /v2/flavors/f"] = Answer(200, flavor(colour="red"))
    found = client.flavors.get("f")
    assert (found.name, found.slots, found.start) == ("gpu.large", 2, None)
    assert found.end == datetime.datetime(2027, 1, 1, tzinfo=UTC)
    assert found.document["colour"] == "red"


def test_free_slots_are_returned_as_spans(api: Api, client: Client) -> None:
    spans = [{"start": "2026-12-01T09:00:00+00:00", "end": "2026-12-02T09:30:00+00:00"}]
    api.answers[_FREE] = Answer(200, spans)
    (found,) = client.flavors.free_slots("f", start=START, count=2)
    assert found == Span(START, START + datetime.timedelta(hours=24.5))
    assert found.length == datetime.timedelta(hours=24.5)
    assert api.seen[0].query == {"start": "2026-12-01T09:00:00+00:00", "count": "2"}


@pytest.mark.parametrize("noun", ["series", "waits"])
def test_page_has_some_of_the_items_and_the_number_of_all(
    noun: str, api: Api, client: Client
) -> None:
    documents = [{"id": str(number), "name": "course"} for number in range(2)]
    api.answers[f"GET /v2/{noun}"] = listing(*documents, total=5)
    found = getattr(client, noun).page(3, 2, project_id="p")
    assert api.seen[0].query == {"limit": "2", "page": "3", "project_id": "p"}
    assert ([each.name for each in found.items], found.count) == (["course"] * 2, 3)


def test_audit_report_has_a_page_of_findings(api: Api, client: Client) -> None:
    finding = {"kind": "host-gone", "text": "no cmp1", "failure": None, "mended": False}
    api.answers["GET /v2/audit"] = listing(
        finding,
        total=7,
        found=9,
        finished_at="2026-11-25T12:30:15+00:00",
        away=[{"service": "nova", "reason": "no answer"}],
    )
    report = client.audit.get(2, 5)
    assert api.seen[0].query == {"limit": "5", "page": "2"}
    assert report.finished_at == datetime.datetime(2026, 11, 25, 12, 30, 15, tzinfo=UTC)
    assert (report.found, report.away) == (9, {"nova": "no answer"})
    assert (report.findings.items[0].kind, report.findings.count) == ("host-gone", 2)


def test_access_is_listed_granted_and_revoked(api: Api, client: Client) -> None:
    document = {"id": "a", "flavor": FLAVOR.id, "project_id": "p"}
    api.answers |= {
        "GET /v2/flavorprojects": listing(document),
        "POST /v2/flavorprojects": Answer(200, document),
        "DELETE /v2/flavorprojects/a": Answer(204),
    }
    right = Access(id="a", flavor=FLAVOR.id, project_id="p")
    assert client.access.list(flavor_id=FLAVOR.id) == [right]
    assert client.access.grant("gpu.large", "p") == right
    client.access.revoke("a")
    assert api.seen[0].query == {"flavor_id": FLAVOR.id}


def test_reservation_is_created_updated_and_deleted(api: Api, client: Client) -> None:
    path = f"/v2/reservations/{RESERVATION.id}"
    api.answers |= {
        "POST /v2/reservations": Answer(200, reservation()),
        f"PATCH {path}": Answer(200, reservation()),
        f"DELETE {path}": [Answer(204), Answer(202)],
    }
    end = START + datetime.timedelta(hours=2)
    made = client.reservations.create("gpu.large", start=START, end=end, count=2)
    assert (made.flavor.name, made.start, made.status) == ("gpu.large", START, "ALLOCATED")
    assert client.reservations.update(made.id, end=end) == made
    assert [client.reservations.delete(made.id) for _ in range(2)] == [True, False]
    assert api.seen[1].body == {"end": "2026-12-01T11:00:00+00:00"}


def test_windows_are_listed_created_updated_and_deleted(api: Api, client: Client) -> None:
    path = f"/v2/maintenancewindows/{WINDOW['id']}"
    api.answers |= {
        "GET /v2/maintenancewindows": listing(WINDOW),
        "POST /v2/maintenancewindows": Answer(201, WINDOW),
        f"PATCH {path}": Answer(200, WINDOW),
        f"DELETE {path}": Answer(204),
    }
    (found,) = client.windows.list()
    assert [f.name for f in found.flavors] == ["gpu.large"]
    made = client.windows.create(start=found.start, end=found.end, flavor_ids=[FLAVOR.id])
    assert made == found
    client.windows.update("firmware", note=None)
    client.windows.delete("4444")
    assert [r.body for r in api.seen if r.method == "PATCH"] == [{"note": None}]


def test_change_says_what_was_shown(api: Api, client: Client) -> None:
    documents = {"flavors": flavor(), "reservations": reservation(), "maintenancewindows": WINDOW}
    for noun, document in documents.items():
        path = f"/v2/{noun}/{document['id']}"
        api.answers[f"GET {path}"] = Answer(200, document, {"ETag": '"before"'})
        api.answers[f"PATCH {path}"] = Answer(200, document, {"ETag": '"after"'})
    for things in (client.flavors, client.reservations, client.windows):
        things: Any
        shown = things.get(documents[things.noun]["id"])
        assert shown.etag == '"before"'
        start = shown.start or shown.end
        after = things.update(shown.id, etag=shown.etag, start=start)
        assert (after, after.etag) == (shown, '"after"')
        assert things.update(shown.id, start=start).etag == '"after"'
        if things is not client.reservations:
            things.update(shown.id, dry_run=True, etag=shown.etag, start=start)
    sent = [r.headers.get("if-match") for r in api.seen if r.method == "PATCH"]
    assert sent == ['"before"', None, '"before"', '"before"', None, '"before"', None, '"before"']


@pytest.mark.parametrize("wrapped", [True, False])
def test_limits_of_one_project_and_of_all_are_read(api: Api, client: Client, wrapped: bool) -> None:
    numbers = {
        "maxHours": -1,
        "maxReservations": 10,
        "totalHoursUsed": 3,
        "totalReservationsUsed": 1,
    }
    one = {"absolute": numbers} if wrapped else numbers
    api.answers["GET /v2/limits"] = [Answer(200, one), listing({**one, "project_id": "p"})]
    values = {
        "max_reservations": 10,
        "total_reservations_used": 1,
        "max_hours": -1,
        "total_hours_used": 3,
    }
    assert client.limits.get("p") == Limits(**values)
    assert client.limits.list() == [Limits(**values, project_id="p")]
    assert [r.query for r in api.seen] == [{"project_id": "p"}, {"all_projects": "true"}]


def test_older_server_without_limits_of_all_projects_raises_not_served(
    api: Api, client: Client
) -> None:
    api.answers["GET /v2/limits"] = Answer(200, {"absolute": {}})
    with pytest.raises(errors.NotServed, match="older than this"):
        client.limits.list()


_OTHER = "22222222-9999-4999-8999-999999999999"


def test_id_start_of_id_or_flavor_name_finds_reservation(api: Api, client: Client) -> None:
    over = reservation(id="5" * 8 + RESERVATION.id[8:], status="COMPLETE", name="sweep")
    api.answers["GET /v2/reservations"] = listing(reservation(name="sweep"), over)
    api.answers[f"GET /v2/reservations/{RESERVATION.id}"] = Answer(200, reservation())
    for ref in (RESERVATION.id, "2222", RESERVATION.id[:-1], "gpu.large", "sweep"):
        assert client.reservations.get(ref).id == RESERVATION.id


def test_own_name_goes_before_the_name_of_a_flavor(api: Api, client: Client) -> None:
    other = reservation(id=_OTHER, name=FLAVOR.name)
    api.answers["GET /v2/reservations"] = listing(reservation(), other)
    api.answers[f"GET /v2/reservations/{_OTHER}"] = Answer(200, other)
    assert client.reservations.get(FLAVOR.name).id == _OTHER


def test_start_of_an_id_of_another_project(api: Api, client: Client) -> None:
    api.answers["GET /v2/reservations"] = [listing(), listing(reservation())]
    api.answers[f"GET /v2/reservations/{RESERVATION.id}"] = Answer(200, reservation())
    assert client.reservations.get("2222").id == RESERVATION.id
    assert api.seen[1].query == {"all_projects": "true"}


def test_start_of_an_id_of_another_project_is_unknown_to_a_member(api: Api, client: Client) -> None:
    # The second pair of requests is about deleted reservations.
    api.answers["GET /v2/reservations"] = [listing(), error(403, "no", "forbidden")] * 2
    with pytest.raises(errors.NotFound, match=r"no reservation '2222'.*at least four char"):
        client.reservations.get("2222")


_GONE = {
    "name": "sweep",
    "status": "DELETED",
    "deleted_at": "2026-12-01T10:00:00+00:00",
    "deleted_by": "u-1",
}


@pytest.mark.parametrize("own", [True, False])
def test_start_of_the_id_of_a_deleted_reservation_says_so(
    api: Api, client: Client, own: bool
) -> None:
    gone, nothing = listing(reservation(**_GONE)), [listing(), listing()]
    api.answers["GET /v2/reservations"] = [*nothing, *([gone] if own else [listing(), gone])]
    with pytest.raises(errors.Over) as caught:
        client.reservations.get("2222")
    said = f"Reservation {RESERVATION.id} was deleted at 2026-12-01 10:00 UTC by u-1"
    assert (str(caught.value), caught.value.ids) == (said, [RESERVATION.id])
    assert (caught.value.code, caught.value.status) == ("reservation_not_found", 404)
    assert api.seen[2].query == {"deleted": "true"}


def test_name_of_reservations_that_are_over_says_when_the_last_ones_ended(
    api: Api, client: Client
) -> None:
    over = reservation(name="sweep", status="COMPLETE")
    gone = [reservation(id=f"{RESERVATION.id[:-1]}{n}", **_GONE) for n in range(3, 9)]
    api.answers["GET /v2/reservations"] = [listing(over), listing(*gone)]
    with pytest.raises(errors.Over) as caught:
        client.reservations.update("sweep", count=1)
    assert caught.value.ids == [RESERVATION.id, *(each["id"] for each in gone)]
    first, second, *_, last = str(caught.value).split("; ")
    assert first == f"Reservation sweep ({RESERVATION.id}) ended at 2026-12-01 11:00 UTC"
    assert second.startswith(f"Reservation sweep ({gone[0]['id']}) was deleted at ")
    assert last == "2 more"
    assert api.seen[1].query == {"deleted": "true", "name": "sweep"}


def test_older_server_that_lists_no_deleted_reservations(api: Api, client: Client) -> None:
    refused = error(422, "deleted: not known", "invalid_field")
    api.answers["GET /v2/reservations"] = [listing(), listing(), refused]
    with pytest.raises(errors.NoSuchReservation):
        client.reservations.get("2222")


@pytest.mark.parametrize("ref", ["gpu.large", "2222", "sweep"])
def test_ambiguous_name_is_refused_with_its_candidates(api: Api, client: Client, ref: str) -> None:
    both = [reservation(id=each, name="sweep") for each in (RESERVATION.id, _OTHER)]
    api.answers["GET /v2/reservations"] = listing(*both)
    with pytest.raises(errors.Ambiguous) as caught:
        client.reservations.delete(ref)
    assert caught.value.candidates == [RESERVATION.id, _OTHER]
    for candidate in caught.value.candidates:
        assert f"{candidate}  2026-12-01 09:00 to 2026-12-01 11:00 UTC  ALLOCATED" in str(
            caught.value
        )
    assert not [r for r in api.seen if r.method == "DELETE"]


@pytest.mark.parametrize("ref", ["nothing", "222", "", "333"])
def test_unknown_name_is_refused(api: Api, client: Client, ref: str) -> None:
    api.answers["GET /v2/reservations"] = listing(reservation())
    with pytest.raises(errors.NotFound, match=f"There is no reservation '{ref}'"):
        client.reservations.get(ref)


def test_wait_returns_when_reservation_is_active(api: Api, client: Client) -> None:
    states = ["PENDING_CREATE", "ALLOCATED", "ACTIVE"]
    api.answers[f"GET /v2/reservations/{RESERVATION.id}"] = [
        Answer(200, reservation(status=status)) for status in states
    ]
    told: list[str] = []
    slept: list[float] = []
    found = client.reservations.wait(
        RESERVATION.id, tell=lambda r: told.append(r.status), poll=2, sleep=slept.append
    )
    assert found.status == "ACTIVE"
    # tell is called every second, and the API is asked every other second.
    assert told == ["PENDING_CREATE"] * 2 + ["ALLOCATED"] * 2 + ["ACTIVE"]
    assert slept == [1.0] * 4


@pytest.mark.parametrize("status", ["ERROR", "COMPLETE"])
def test_wait_for_reservation_that_is_over_or_failed_raises(
    api: Api, client: Client, status: str
) -> None:
    over = reservation(status=status, status_reason="Nova refused")
    api.answers[f"GET /v2/reservations/{RESERVATION.id}"] = Answer(200, over)
    with pytest.raises(errors.WaitError, match=f"is {status}: Nova refused"):
        client.reservations.wait(RESERVATION.id)


def test_refused_request_raises_with_the_api_text(api: Api, client: Client) -> None:
    api.answers["GET /v2/flavors/x"] = error(404, "Flavor x doesn't exist", "flavor_not_found")
    with pytest.raises(errors.NotFound, match="doesn't exist"):
        client.flavors.get("x")


@pytest.mark.parametrize("zone", [None, Nowhere()], ids=["none", "one that doesn't say"])
def test_times_without_a_zone_are_refused(
    api: Api, client: Client, zone: datetime.tzinfo | None
) -> None:
    naive = datetime.datetime(2026, 12, 1, 9, tzinfo=zone)
    aware = datetime.datetime(2026, 12, 1, 11, tzinfo=datetime.UTC)
    for ask in (
        lambda: client.reservations.create("f", start=naive, end=aware),
        lambda: client.reservations.update(RESERVATION.id, end=naive),
        lambda: client.windows.create(start=naive, end=aware),
        lambda: client.flavors.update("f", start=naive),
        lambda: client.flavors.free_slots("f", end=naive),
    ):
        with pytest.raises(errors.NaiveTime, match=r"(start|end)=.* has no time zone; give an aw"):
            ask()
    assert not api.seen


class Patience(timer.Clock):
    """A clock on which waiting takes no time."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> Patience:
    clock = Patience()
    monkeypatch.setattr(timer, "clock", clock)
    return clock


PERIOD = {"start": START, "end": START + datetime.timedelta(hours=2)}


@pytest.mark.parametrize(
    "fault",
    [
        {"drop": True},
        {"lose": True},
        {"status": 503},
        {"status": 504},
    ],
    ids=str,
)
def test_creation_without_an_answer_is_repeated_with_its_key(
    api: Api, client: Client, patience: Patience, fault: dict
) -> None:
    api.answers["POST /v2/reservations"] = Answer(200, reservation())
    api.fail(match="POST", times=2, **fault)
    assert client.reservations.create("f", **PERIOD).id == RESERVATION.id
    posts = [request for request in api.seen if request.line == "POST /v2/reservations"]
    assert len(posts) == 3
    assert len({request.headers["idempotency-key"] for request in posts}) == 1
    assert patience.slept == [1, 2]


def test_each_creation_has_its_own_key(api: Api, client: Client) -> None:
    api.answers["POST /v2/reservations"] = Answer(200, reservation())
    for _ in range(2):
        client.reservations.create("f", **PERIOD)
    keys = {request.headers["idempotency-key"] for request in api.seen}
    assert len(keys) == 2


def test_two_clients_for_the_same_wish_have_one_key(api: Api, client: Client) -> None:
    api.answers["POST /v2/reservations"] = Answer(200, reservation())
    for _ in range(2):
        wish = Client(client.transport.session, idempotency_key="my wish")
        wish.reservations.create("f", **PERIOD)
    assert {request.headers["idempotency-key"] for request in api.seen} == {"my wish"}


def test_extension_of_a_series_has_the_key_of_its_client(api: Api, client: Client) -> None:
    line = f"/v2/series/{series()['id']}"
    api.answers[f"PATCH {line}"] = Answer(200, series(refused=[]))
    wish = Client(client.transport.session, idempotency_key="my wish")
    wish.series.extend(series()["id"], more=10)
    (asked,) = (request for request in api.seen if request.method == "PATCH")
    assert (asked.headers["idempotency-key"], asked.body) == ("my wish", {"more": 10})


def test_creation_that_is_never_answered_says_what_may_have_happened(
    api: Api, client: Client, patience: Patience
) -> None:
    api.answers["POST /v2/reservations"] = error(503, "The manager is silent", "no_answer")
    told: list[str] = []
    telling = Client(client.transport.session, tell=told.append)
    with pytest.raises(errors.Unanswered, match="may have happened nevertheless") as caught:
        telling.reservations.create("f", **PERIOD)
    assert caught.value.has_arrived
    assert sum(patience.slept) == 30
    why = "The manager is silent"
    assert told == [f"No answer from the API yet ({why}). Trying again for 30 s."]


_ONE = f"/v2/reservations/{RESERVATION.id}"
#: Each way to change a reservation or a series, and the request that it sends.
CHANGES: dict[str, Callable[[Client], Any]] = {
    "POST /v2/reservations": lambda client: client.reservations.create("f", **PERIOD),
    f"PATCH {_ONE}": lambda client: client.reservations.update(RESERVATION.id, count=1),
    f"DELETE {_ONE}": lambda client: client.reservations.delete(RESERVATION.id),
}


@pytest.mark.parametrize("line", CHANGES)
def test_all_changes_are_repeated_alike(
    api: Api, client: Client, patience: Patience, line: str
) -> None:
    api.answers[line] = Answer(204) if "DELETE" in line else Answer(200, reservation())
    method, _, _ = line.partition(" ")
    api.fail(lose=True, match=method, times=2)
    assert CHANGES[line](client)
    assert len([r for r in api.seen if r.line == line]) == 3
    assert len({r.headers["idempotency-key"] for r in api.seen if r.line == line}) == 1
    assert patience.slept == [1, 2]


@pytest.mark.parametrize("line", CHANGES)
def test_change_that_reached_nobody_has_not_happened(
    api: Api, client: Client, patience: Patience, line: str
) -> None:
    api.stop()
    with pytest.raises(errors.Unanswered, match="Nothing was done") as caught:
        CHANGES[line](client)
    assert not caught.value.has_arrived
    assert sum(patience.slept) == 30


@pytest.mark.parametrize("is_lost", [True, False])
def test_repeated_deletion_of_what_is_gone_has_succeeded(
    api: Api, client: Client, patience: Patience, is_lost: bool
) -> None:
    gone = error(404, "deleted", "reservation_not_found")
    api.answers[f"DELETE {_ONE}"] = gone
    if is_lost:
        api.fail(lose=True, match="DELETE", times=1)
        assert client.reservations.delete(RESERVATION.id)
    else:
        with pytest.raises(errors.NotFound):
            client.reservations.delete(RESERVATION.id)


@pytest.mark.parametrize(
    ("first", "may_be_deleted"),
    [
        pytest.param(Answer(504), True, id="late"),
        pytest.param(error(503, "silent", "no_answer"), True, id="manager silent"),
        pytest.param(Answer(502), False, id="bad gateway"),
        pytest.param(Answer(503), False, id="unavailable"),
        pytest.param(error(409, "others change it", "try_again"), False, id="nothing changed"),
    ],
)
def test_deletion_succeeds_only_if_what_is_gone_may_have_been_deleted(
    api: Api, client: Client, patience: Patience, first: Answer, may_be_deleted: bool
) -> None:
    """A proxy without an API behind it has deleted nothing, so the id may be wrong."""
    api.answers[f"DELETE {_ONE}"] = [first, error(404, "no such", "reservation_not_found")]
    if may_be_deleted:
        assert client.reservations.delete(RESERVATION.id)
    else:
        with pytest.raises(errors.NotFound, match="no such"):
            client.reservations.delete(RESERVATION.id)
    assert patience.slept == [1]


def test_deletion_that_reached_nobody_at_first_does_not_find_what_is_gone(
    api: Api, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Starting(Patience):
        def sleep(self, seconds: float) -> None:
            api.start()

    api.answers[f"DELETE {_ONE}"] = error(404, "no such", "reservation_not_found")
    monkeypatch.setattr(timer, "clock", Starting())
    api.stop()
    with pytest.raises(errors.NotFound, match="no such"):
        client.reservations.delete(RESERVATION.id)


@pytest.mark.parametrize("status", [502, 503, 504])
def test_deletion_that_only_a_proxy_answers_may_have_happened(
    api: Api, client: Client, patience: Patience, status: int
) -> None:
    api.answers[f"DELETE {_ONE}"] = Answer(status)
    with pytest.raises(errors.Unanswered, match="may have happened") as caught:
        client.reservations.delete(RESERVATION.id)
    assert caught.value.has_arrived


def test_dry_run_is_not_repeated(api: Api, client: Client, patience: Patience) -> None:
    api.fail(lose=True, match="POST")
    with pytest.raises(ksa.ConnectFailure):
        client.reservations.try_create("f", **PERIOD)
    assert patience.slept == []


def test_refused_creation_is_not_repeated(api: Api, client: Client) -> None:
    api.answers["POST /v2/reservations"] = error(503, "Nova is away", "service_unavailable")
    with pytest.raises(errors.ApiError, match="Nova is away"):
        client.reservations.create("f", **PERIOD)
    assert len(api.seen) == 1


def test_wait_survives_an_api_that_is_away(api: Api, client: Client) -> None:
    away = [error(503, "away", "service_unavailable") for _ in range(5)]
    api.answers[f"GET /v2/reservations/{RESERVATION.id}"] = [
        Answer(200, reservation()),
        *away,
        Answer(200, reservation(status="ACTIVE")),
    ]
    found = client.reservations.wait(RESERVATION.id, poll=1, sleep=lambda _: None)
    assert found.status == "ACTIVE"


def test_wait_survives_an_api_that_is_away_from_the_beginning(api: Api, client: Client) -> None:
    api.answers[f"GET /v2/reservations/{RESERVATION.id}"] = [
        error(503, "away", "service_unavailable"),
        Answer(200, reservation(status="ACTIVE")),
    ]
    found = client.reservations.wait(RESERVATION.id, poll=1, sleep=lambda _: None)
    assert found.status == "ACTIVE"


def test_wait_that_never_reads_the_reservation_names_it(api: Api, client: Client) -> None:
    away = [error(503, "away", "service_unavailable") for _ in range(3)]
    api.answers[f"GET /v2/reservations/{RESERVATION.id}"] = away
    with pytest.raises(errors.WaitError, match=f"^Reservation {RESERVATION.id} can't be read"):
        client.reservations.wait(RESERVATION.id, poll=1, patience=3, sleep=lambda _: None)


def test_wait_for_an_api_that_stays_away_names_the_reservation(api: Api, client: Client) -> None:
    away = [error(503, "away", "service_unavailable") for _ in range(4)]
    api.answers[f"GET /v2/reservations/{RESERVATION.id}"] = [Answer(200, reservation()), *away]
    with pytest.raises(errors.WaitError, match=RESERVATION.id):
        client.reservations.wait(RESERVATION.id, poll=1, patience=3, sleep=lambda _: None)


def test_wait_ends_if_the_reservation_is_gone(api: Api, client: Client) -> None:
    gone = error(404, "gone", "reservation_not_found")
    api.answers[f"GET /v2/reservations/{RESERVATION.id}"] = [Answer(200, reservation()), gone]
    with pytest.raises(errors.NotFound):
        client.reservations.wait(RESERVATION.id, poll=1, sleep=lambda _: None)


def dry_run(**changes: object) -> Answer:
    """The answer to a dry run that is refused."""
    document = {
        "bookable": False,
        "refusals": [{"code": "slots_exhausted", "message": "No", "detail": {}}],
        "instance_count": 2,
        "start": "2026-12-01T09:00:00+00:00",
        "end": "2026-12-01T11:00:00+00:00",
        "quota": None,
        "next_start": "2026-12-02T09:00:00+00:00",
        "longest_hours": 1.5,
        "most_instances": 1,
    }
    return Answer(200, {**document, **changes})


INSTEAD = {
    "next_start": "2026-12-02T09:00:00+00:00",
    "longest_hours": 1.5,
    "most_instances": 1,
    "category": "gpu",
}


def test_refused_booking_has_alternatives(api: Api, client: Client) -> None:
    api.answers["POST /v2/reservations"] = error(400, "No slot", "slots_exhausted", **INSTEAD)
    with pytest.raises(errors.ApiError) as caught:
        client.reservations.create("f", **PERIOD, count=2)
    instead = caught.value.alternatives
    assert instead == Alternatives(START + datetime.timedelta(days=1), 1.5, 1, "gpu")
    assert len(api.seen) == 1


def test_refused_change_has_alternatives(api: Api, client: Client) -> None:
    path = f"PATCH /v2/reservations/{RESERVATION.id}"
    instead = {**INSTEAD, "next_start": None}
    api.answers[path] = error(400, "No room", "hosts_exhausted", **instead)
    with pytest.raises(errors.ApiError) as caught:
        client.reservations.update(RESERVATION.id, count=9)
    assert caught.value.alternatives == Alternatives(None, 1.5, 1, "gpu")


def test_other_errors_have_no_alternatives(api: Api, client: Client) -> None:
    api.answers["POST /v2/reservations"] = [
        error(404, "No flavor", "flavor_not_found"),
        error(400, "No slot", "slots_exhausted"),
    ]
    for _ in range(2):
        with pytest.raises(errors.ApiError) as caught:
            client.reservations.create("f", **PERIOD)
        assert caught.value.alternatives is None
