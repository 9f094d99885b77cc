"""What a user is answered is written down as accepted, refused or unknown."""

import dataclasses
import datetime
import itertools
from typing import Any

import pytest

from tests.torture import choices, users
from tests.torture.answers import Answer, Answers
from tests.torture.calm import Absences
from tests.torture.choices import V1, V2, WARRE, Choice
from tests.torture.ledger import REFUSED, UNKNOWN, Ledger

FLAVORS = ["f1", "f2"]
LOST = Answer(0, None, "connection lost")
UNSENT = Answer(0, None, "not sent: no token")
REFUSAL = Answer(409, {"code": "try_again"}, "try_again")
AWAY = Answer(503, {"code": "no_answer"}, "no_answer")

CHOICE = Choice(
    kind=choices.BOOK,
    way=V2,
    start=10,
    length=20,
    count=2,
    flavor=0,
    second=1,
    which=0.5,
    change=choices.EXTEND,
    by=5,
    variant=0,
    patience=1.0,
    pause=0.0,
)


class FakeHttp:
    """Answers what it is told to, or does what the API would."""

    def __init__(self) -> None:
        self.answer: Answer | None = None
        self.asked: list[tuple[str, str, Any]] = []
        self._numbers = itertools.count(1)

    def ask(self, method: str, url: str, body: Any, patience: float) -> Answer:
        """An answer."""
        self.asked.append((method, url, body))
        if self.answer is not None:
            return self.answer
        if method == "DELETE":
            return Answer(204, None, "")
        return self._v1(method, body) if "/v1/leases" in url else self._v2(body)

    def _v2(self, body: Any) -> Answer:
        body = {"start": "2026-05-01T12:00:00+00:00", **body}
        number = next(self._numbers)
        document = {
            "id": f"r{number}",
            "lease_id": f"l{number}",
            "status": "ALLOCATED",
            "start": body["start"],
            "end": body["end"],
            "instance_count": body.get("instance_count", 1),
            "flavor": {"id": body.get("flavor_id")},
        }
        return Answer(200, document, "")

    def _v1(self, method: str, body: Any) -> Answer:
        number = next(self._numbers)
        reservations = [
            {"id": f"r{number}-{n}", **each} for n, each in enumerate(body.get("reservations", []))
        ]
        start = body.get("start_date", "2026-05-01 12:00")
        times = {"start_date": f"{start}:00.000000", "end_date": body["end_date"]}
        lease = {"id": f"l{number}", **times, "reservations": reservations}
        return Answer(201 if method == "POST" else 200, {"lease": lease}, "")


@dataclasses.dataclass
class World:
    """A user and what can be seen of it."""

    user: users.User
    http: FakeHttp
    ledger: Ledger
    answers: Answers

    def do(self, **changes: Any) -> None:
        """Let the user do something."""
        self.user.do(dataclasses.replace(CHOICE, **changes))

    def lease(self):
        """The only lease."""
        (found,) = self.ledger.view().leases.values()
        return found


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    """A user who has done nothing yet, in a minute that doesn't pass."""
    monkeypatch.setattr(users, "now", lambda: datetime.datetime(2026, 5, 1, 12, 0))
    person = users.Person(1, "user", "user-id", "project", "project-id")
    place = users.Place("http://blazar", "http://nova", "image", FLAVORS)
    http, ledger, answers = FakeHttp(), Ledger(), Answers(Absences())
    user = users.User(person, place, http, ledger, answers, iter(()))
    return World(user, http, ledger, answers)


@pytest.mark.parametrize(("way", "parts"), [(V2, 1), (WARRE, 1), (V1, 2)])
def test_booking_that_is_accepted(world: World, way: str, parts: int):
    world.do(way=way)
    lease = world.lease()
    assert sorted(lease.flavors.values()) == FLAVORS[:parts]
    (terms,) = lease.possible()
    assert terms.start == users.now() + datetime.timedelta(minutes=10)
    assert terms.end - terms.start == datetime.timedelta(minutes=20)
    assert [count for _, count in terms.counts] == [2] * parts
    assert world.ledger.view().bookings == []
    assert world.answers.wrong == {}


@pytest.mark.parametrize("way", [V2, WARRE, V1])
@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (REFUSAL, REFUSED),
        (UNSENT, REFUSED),
        (LOST, UNKNOWN),
        (AWAY, UNKNOWN),
        (Answer(200, {"status": "PENDING_CREATE"}, ""), UNKNOWN),
    ],
)
def test_booking_that_is_not(world: World, way: str, answer: Answer, outcome: str):
    world.http.answer = answer
    world.do(way=way)
    (booking,) = world.ledger.view().bookings
    assert booking.outcome == outcome
    assert world.ledger.view().leases == {}


def test_booking_answered_with_another_time(world: World):
    document = world.http._v2({"end": "2030-01-01T00:00:00+00:00"}).document
    world.http.answer = Answer(200, document, "")
    world.do()
    assert world.answers.wrong


@pytest.mark.parametrize("way", [V2, WARRE, V1])
def test_change_that_is_accepted(world: World, way: str):
    world.do()
    (before,) = world.lease().possible()
    if way != V1:
        start = f"{before.start:%Y-%m-%dT%H:%M}:00+00:00"
        end = f"{before.end + datetime.timedelta(minutes=5):%Y-%m-%dT%H:%M}:00+00:00"
        world.http.answer = world.http._v2({"start": start, "end": end})
    world.do(kind=choices.CHANGE, way=way)
    (after,) = world.lease().possible()
    assert after.end - before.end == datetime.timedelta(minutes=5)
    assert after.start == before.start
    assert world.answers.wrong == {}


@pytest.mark.parametrize("kind", [choices.CHANGE, choices.COUNT, choices.DELETE])
@pytest.mark.parametrize("way", [V2, WARRE, V1])
def test_request_that_is_refused_or_unknown(world: World, kind: str, way: str):
    world.do()
    (before,) = world.lease().possible()
    world.http.answer = REFUSAL
    world.do(kind=kind, way=way, count=3)
    assert world.lease().possible() == {before}
    assert not world.lease().may_go()
    world.http.answer = LOST
    world.do(kind=kind, way=way, count=3)
    assert before in world.lease().possible()
    assert len(world.lease().possible()) == (1 if kind == choices.DELETE else 2)
    assert world.lease().may_go() == (kind == choices.DELETE)


def test_change_answered_with_another_time(world: World):
    world.do()
    world.http.answer = world.http._v2({"end": "2030-01-01T00:00:00+00:00"})
    world.do(kind=choices.CHANGE)
    assert world.answers.wrong


@pytest.mark.parametrize("way", [V2, WARRE, V1])
def test_deletion_that_is_accepted(world: World, way: str):
    world.do()
    world.do(kind=choices.DELETE, way=way)
    assert world.lease().deleted
    world.http.asked.clear()
    world.do(kind=choices.DELETE, way=way)
    assert world.http.asked == []


def test_deletion_that_goes_on_is_unknown(world: World):
    world.do()
    world.http.answer = Answer(202, None, "")
    world.do(kind=choices.DELETE)
    assert world.lease().deleted is None
    assert world.lease().may_go()


def test_listing_without_an_accepted_lease(world: World):
    world.do()
    world.http.answer = Answer(200, {"results": []}, "")
    world.do(kind=choices.LIST)
    assert world.answers.wrong


def test_unknown_booking_that_is_listed_is_booked(world: World):
    world.http.answer = LOST
    world.do()
    name = world.http.asked[0][2]["name"]
    document = world.http._v2(world.http.asked[0][2]).document
    world.http.answer = Answer(200, {"results": [{**document, "name": name}]}, "")
    world.do(kind=choices.LIST)
    assert world.lease().id == document["lease_id"]


def test_nonsense_that_is_accepted(world: World):
    for variant in range(40):
        world.http.answer = REFUSAL
        world.do(kind=choices.STUPID, variant=variant)
    assert world.answers.wrong == {}
    world.http.answer = Answer(200, {}, "")
    world.do(kind=choices.STUPID)
    assert world.answers.wrong


def test_500_of_ours_is_a_violation(world: World):
    world.http.answer = Answer(500, {"code": "internal"}, "internal")
    world.do(way=V1)
    assert world.answers.wrong == {}
    world.do(way=V2)
    assert world.answers.wrong


def test_5xx_is_counted_by_what_was_away(world: World):
    world.http.answer = AWAY
    world.do()
    world.answers._absences.begin("mariadb", "hang", 0.0)
    world.do()
    causes = world.answers.errors["v2: 503 no_answer"]
    assert causes == {"nothing was away": 1, "mariadb (hang)": 1}


@pytest.mark.parametrize(("flavor", "kind"), [(5, "physical:host"), (1, "virtual:instance")])
def test_lease_of_blazars_own_type_is_booked_moved_and_deleted(
    world: World, flavor: int, kind: str
):
    for variant in (0, 2, 3, 3):
        world.do(kind=choices.STOCK, flavor=flavor, variant=variant)
    methods = [method for method, _, _ in world.http.asked]
    # Without a lease the last choice is a booking.
    assert methods == ["POST", "PUT", "DELETE", "POST"]
    (_, _, booked), (_, path, moved), *_ = world.http.asked
    assert {each["resource_type"] for each in booked["reservations"]} == {kind}
    assert booked["name"].startswith(choices.STOCK_NAME)
    assert path.endswith("/v1/leases/l1")
    assert set(moved) == {"start_date", "end_date"}
    assert world.ledger.view().leases == {}
