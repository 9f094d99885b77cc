"""Users, who book, change, delete and boot by their choices, and write down what they are told."""

import dataclasses
import datetime
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from tests.torture import choices, nonsense
from tests.torture.answers import Answer, Answers, Http
from tests.torture.choices import EXTEND, MOVE, SHORTEN, STOCK_NAME, V1, V2, WARRE, Choice
from tests.torture.ledger import REFUSED, UNKNOWN, Booking, Change, Lease, Ledger, Terms

_MINUTE = datetime.timedelta(minutes=1)
_V1_TIME = "%Y-%m-%d %H:%M"
_V2_TIME = "%Y-%m-%dT%H:%M:00+00:00"
RESERVATIONS = {V2: "/v2/reservations/", WARRE: "/v2/warre/v1/reservations/"}
LEASES = "/v1/leases"
#: What instances of Blazar's own types take.
_MUCH_MEMORY = {"vcpus": 1, "memory_mb": 2048, "disk_gb": 5}
_MANY_PROCESSORS = {"vcpus": 8, "memory_mb": 256, "disk_gb": 5}


@dataclasses.dataclass(frozen=True)
class Place:
    """Where users send their requests."""

    blazar: str
    nova: str
    image: str
    #: The flavors that they book.
    flavors: Sequence[str]


@dataclasses.dataclass(frozen=True)
class Person:
    """Who a user is."""

    number: int
    name: str
    user_id: str
    project: str
    project_id: str


def now() -> datetime.datetime:
    """The present minute, in naive UTC."""
    moment = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
    return moment.replace(second=0, microsecond=0)


def moment(text: str) -> datetime.datetime:
    """A time as an answer has it."""
    found = datetime.datetime.fromisoformat(text)
    if found.tzinfo is not None:
        found = found.astimezone(datetime.UTC).replace(tzinfo=None)
    return found


class User:
    """A thread that does what its choices say."""

    def __init__(
        self,
        person: Person,
        place: Place,
        http: Http,
        ledger: Ledger,
        answers: Answers,
        its_choices: Iterator[Choice],
    ) -> None:
        self.person, self._place, self._http = person, place, http
        self._ledger, self._answers = ledger, answers
        self._choices = its_choices
        #: The leases of Blazar's own types that this user has.
        self._stock_leases: list[str] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name=person.name, daemon=True)
        self.failure: BaseException | None = None

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Do nothing more after what is being done."""
        self._over.set()

    def join(self, seconds: float) -> bool:
        """Wait for what is being done; whether that is over."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def do(self, choice: Choice) -> None:
        """Do what a choice says."""
        steps = {
            choices.BOOK: self._book,
            choices.CHANGE: self._change,
            choices.COUNT: self._change_count,
            choices.DELETE: self._delete,
            choices.BOOT: self._boot,
            choices.LIST: self._list,
            choices.SHOW: self._show,
            choices.FREE: self._free,
            choices.STUPID: self._stupid,
            choices.STOCK: self._stock,
        }
        steps[choice.kind](choice)

    def _run(self) -> None:
        try:
            for choice in self._choices:
                if self._over.wait(choice.pause):
                    return
                self.do(choice)
        except BaseException as error:
            self.failure = error
            raise

    def _ask(
        self, choice: Choice, way: str, method: str, path: str, body: Any = None, kind: str = ""
    ) -> Answer:
        began = time.time()
        answer = self._http.ask(method, self._place.blazar + path, body, choice.patience)
        self._answers.add(kind or choice.kind, way, answer, began)
        if answer.status == 500 and way != V1:
            key = f"500 {method} {path.partition('?')[0]}"
            self._answers.add_wrong(key, f"{method} {path} {body} was answered 500: {answer}")
        return answer

    # Bookings.

    def _book(self, choice: Choice) -> None:
        flavors = [self._flavor(choice.flavor)]
        if choice.way == V1 and choice.second is not None:
            flavors += [f for f in [self._flavor(choice.second)] if f not in flavors]
        start = now() + choice.start * _MINUTE
        name = f"torture-{uuid.uuid4()}"
        booking = Booking(
            self.person.project_id,
            self.person.user_id,
            tuple(flavors),
            start,
            start + choice.length * _MINUTE,
            (choice.count,) * len(flavors),
            time.time(),
            lease_name=name if choice.way == V1 else None,
            label=name if choice.way == V2 else None,
        )
        path, body = _booking_request(booking, choice.way)
        self._ledger.asks_for(booking)
        answer = self._ask(choice, choice.way, "POST", path, body)
        lease = _booked(answer, booking)
        if lease is not None:
            lease_id, by_reservation, terms = lease
            wanted = (booking.start, booking.end)
            if (terms.start, terms.end) != wanted:
                self._answers.add_wrong(f"booked {lease_id}", f"{wanted} was booked as {terms}")
            self._ledger.booked(booking, lease_id, by_reservation, terms, time.time())
        else:
            outcome = REFUSED if answer.is_refusal or _is_unsent(answer) else UNKNOWN
            self._ledger.not_booked(booking, outcome, time.time())

    def _flavor(self, number: int) -> str:
        return self._place.flavors[number % len(self._place.flavors)]

    # Changes and deletions of what the project has.

    def _target(self, choice: Choice) -> Lease | None:
        known = self._ledger.known(self.person.project_id)
        # What has been over for long is of no interest.
        known = [x for x in known if max(t.end for t in x.possible()) > now() - 5 * _MINUTE]
        return known[int(choice.which * len(known))] if known else None

    def _change(self, choice: Choice) -> None:
        lease = self._target(choice)
        if lease is None:
            return
        terms = min(lease.possible())
        way = choice.way
        if choice.change == MOVE:
            way = V2 if way == WARRE else way
            start = now() + choice.start * _MINUTE
            change = Change(start=start, end=start + choice.length * _MINUTE)
        else:
            by = {EXTEND: choice.by, SHORTEN: -choice.by}[choice.change]
            change = Change(end=max(terms.end + by * _MINUTE, now() + (way != V1) * _MINUTE))
        self._send_change(choice, way, lease, change)

    def _change_count(self, choice: Choice) -> None:
        lease = self._target(choice)
        if lease is None:
            return
        reservation = sorted(lease.flavors)[0]
        way = V2 if choice.way == WARRE else choice.way
        self._send_change(choice, way, lease, Change(counts=((reservation, choice.count),)))

    def _send_change(self, choice: Choice, way: str, lease: Lease, change: Change) -> None:
        if way == V1:
            method, path, body = "PUT", f"{LEASES}/{lease.id}", _v1_change(change)
        else:
            path = f"{RESERVATIONS[way]}{sorted(lease.flavors)[0]}/"
            method, body = "PATCH", _v2_change(change)
        with self._ledger.asking(lease.id, change, time.time()) as request:
            answer = self._ask(choice, way, method, path, body)
        if answer.is_success:
            self._ledger.accepted(lease.id, request, time.time())
            self._check_answer(lease, change, way, answer)
        elif answer.is_refusal or _is_unsent(answer):
            self._ledger.refused(lease.id, request)
        else:
            self._ledger.unknown(lease.id, request, time.time())

    def _check_answer(self, lease: Lease, change: Change, way: str, answer: Answer) -> None:
        """An accepted change is answered with what was asked for."""
        document = answer.document["lease"] if way == V1 else answer.document
        start, end = ("start_date", "end_date") if way == V1 else ("start", "end")
        told = (moment(document[start]), moment(document[end]))
        wrong = (change.start and told[0] != change.start) or (change.end and told[1] != change.end)
        # Somebody else may have changed it at the same moment.
        if wrong and not lease.open:
            text = f"lease {lease.id}: {change} was answered as done with {told}"
            self._answers.add_wrong(f"answer {lease.id} {change}", text)

    def _delete(self, choice: Choice) -> None:
        lease = self._target(choice)
        if lease is None:
            return
        if choice.way == V1:
            path = f"{LEASES}/{lease.id}"
        else:
            path = f"{RESERVATIONS[choice.way]}{sorted(lease.flavors)[0]}/"
        with self._ledger.asking(lease.id, Change(deletes=True), time.time()) as request:
            answer = self._ask(choice, choice.way, "DELETE", path)
        if answer.is_success:
            self._ledger.accepted(lease.id, request, time.time())
        elif answer.is_refusal or _is_unsent(answer):
            self._ledger.refused(lease.id, request)
        else:
            self._ledger.unknown(lease.id, request, time.time())

    # Leases of Blazar's own types.

    def _stock(self, choice: Choice) -> None:
        """Book, change or delete a lease of Blazar's own types. The judge only counts it."""
        mine = self._stock_leases
        step = choice.variant % 4 if mine else 0
        if step < 2:
            answer = self._ask(choice, V1, "POST", LEASES, _stock_request(choice))
            if answer.status == 201:
                mine.append(answer.document["lease"]["id"])
            return
        lease_id = mine[int(choice.which * len(mine))]
        path = f"{LEASES}/{lease_id}"
        if step == 2:
            start = now() + choice.start * _MINUTE
            change = Change(start=start, end=start + choice.length * _MINUTE)
            self._ask(choice, V1, "PUT", path, _v1_change(change))
            return
        answer = self._ask(choice, V1, "DELETE", path)
        if answer.is_success or answer.status == 404:
            mine.remove(lease_id)

    # Servers.

    def _boot(self, choice: Choice) -> None:
        """Boot on a reservation that runs, or is about to."""
        known = [
            (lease, reservation)
            for lease in self._ledger.known(self.person.project_id)
            if all(t.start < now() + 2 * _MINUTE and t.end > now() for t in lease.possible())
            for reservation in sorted(lease.flavors)
        ]
        if not known:
            return
        _, reservation = known[int(choice.which * len(known))]
        began = time.time()
        server = {
            "name": f"torture-{reservation}",
            "imageRef": self._place.image,
            "flavorRef": reservation.replace("-", ""),
            "networks": "none",
        }
        url = f"{self._place.nova}/servers"
        answer = self._http.ask("POST", url, {"server": server}, choice.patience)
        self._answers.add(choice.kind, "nova", answer, began)

    # Reading.

    def _list(self, choice: Choice) -> None:
        began = time.time()
        before = self._ledger.known(self.person.project_id)
        way = V2 if choice.way == V1 else choice.way
        answer = self._ask(choice, way, "GET", RESERVATIONS[way])
        if answer.status != 200:
            return
        seen = {each["id"]: each for each in answer.document["results"]}
        after = {x.id for x in self._ledger.known(self.person.project_id) if not x.may_go()}
        for lease in before:
            if lease.id in after and not lease.may_go() and lease.accepted < began:
                for missing in set(lease.flavors) - set(seen):
                    key = f"unlisted {missing}"
                    self._answers.add_wrong(key, f"reservation {missing} isn't listed")
        self._adopt(seen)

    def _adopt(self, seen: dict[str, Any]) -> None:
        """What nobody was told is booked and is in a listing is booked."""
        unknown = [b for b in self._ledger.view().bookings if b.outcome == UNKNOWN]
        by_label = {b.label: b for b in unknown if b.label}
        for each in seen.values():
            booking = by_label.get(each.get("name"))
            if booking is not None and each["status"] in ("ALLOCATED", "ACTIVE"):
                lease_id, flavors, terms = _of_v2(each)
                self._ledger.booked(booking, lease_id, flavors, terms, time.time())

    def _show(self, choice: Choice) -> None:
        lease = self._target(choice)
        if lease is None:
            return
        if choice.way == V1:
            self._ask(choice, V1, "GET", f"{LEASES}/{lease.id}")
        else:
            path = f"{RESERVATIONS[choice.way]}{sorted(lease.flavors)[0]}/"
            self._ask(choice, choice.way, "GET", path)

    def _free(self, choice: Choice) -> None:
        root = "/v2" if choice.way != WARRE else "/v2/warre/v1"
        path = f"{root}/flavors/{self._flavor(choice.flavor)}/freeslots/"
        start = now() + choice.start * _MINUTE
        query = f"?start={start:%Y-%m-%dT%H:%M:00}Z"
        way = WARRE if choice.way == WARRE else V2
        self._ask(choice, way, "GET", path + query)

    def _stupid(self, choice: Choice) -> None:
        lease = self._target(choice)
        flavor = self._flavor(choice.flavor)
        request = nonsense.request(choice, flavor, lease, now())
        answer = self._ask(choice, request.way, request.method, request.path, request.body)
        if 200 <= answer.status < 300:
            text = f"{request.method} {request.path} {request.body} was answered {answer}"
            self._answers.add_wrong(f"nonsense {request.name}", text)


def _is_unsent(answer: Answer) -> bool:
    return answer.code in ("not sent: no token", "no connection")


def _booking_request(booking: Booking, way: str) -> tuple[str, dict[str, Any]]:
    if way == V1:
        reservations = [
            {"resource_type": "flavor:slot", "flavor_id": flavor, "amount": count}
            for flavor, count in zip(booking.flavors, booking.counts, strict=True)
        ]
        body = {
            "name": booking.lease_name,
            "start_date": booking.start.strftime(_V1_TIME),
            "end_date": booking.end.strftime(_V1_TIME),
            "reservations": reservations,
            "events": [],
        }
        return LEASES, body
    body = {
        "flavor_id": booking.flavors[0],
        "start": booking.start.strftime(_V2_TIME),
        "end": booking.end.strftime(_V2_TIME),
        "instance_count": booking.counts[0],
    }
    if booking.label:
        body["name"] = booking.label
    return RESERVATIONS[way], body


def _stock_request(choice: Choice) -> dict[str, Any]:
    """A lease of one or two reservations of instances, or of a host."""
    start = now() + choice.start * _MINUTE
    instances = {
        "resource_type": "virtual:instance",
        "amount": choice.count,
        **(_MUCH_MEMORY if choice.flavor % 2 else _MANY_PROCESSORS),
        "affinity": None,
        "resource_properties": "",
    }
    host = {
        "resource_type": "physical:host",
        "min": 1,
        "max": 1,
        "hypervisor_properties": "",
        "resource_properties": "",
    }
    several = [instances, instances] if choice.second is not None else [instances]
    return {
        "name": f"{STOCK_NAME}{uuid.uuid4()}",
        "start_date": start.strftime(_V1_TIME),
        "end_date": (start + choice.length * _MINUTE).strftime(_V1_TIME),
        "reservations": [host] if choice.flavor % 5 == 0 else several,
        "events": [],
    }


def _booked(answer: Answer, booking: Booking) -> tuple[str, dict[str, str], Terms] | None:
    """The lease that an answer says is made: its id, flavors by reservation, and its terms."""
    if answer.status == 200 and booking.lease_name is None:
        # Still being made: it may yet be refused.
        made = answer.document["status"] != "PENDING_CREATE"
        return _of_v2(answer.document) if made else None
    if answer.status == 201:
        lease = answer.document["lease"]
        counts = {r["id"]: int(r["amount"]) for r in lease["reservations"]}
        flavors = {r["id"]: str(r.get("flavor_id")) for r in lease["reservations"]}
        terms = Terms.of(moment(lease["start_date"]), moment(lease["end_date"]), counts)
        return lease["id"], flavors, terms
    return None


def _of_v2(document: dict[str, Any]) -> tuple[str, dict[str, str], Terms]:
    counts = {document["id"]: document["instance_count"]}
    terms = Terms.of(moment(document["start"]), moment(document["end"]), counts)
    return document["lease_id"], {document["id"]: document["flavor"]["id"]}, terms


def _v1_change(change: Change) -> dict[str, Any]:
    body: dict[str, Any] = {}
    if change.start:
        body["start_date"] = change.start.strftime(_V1_TIME)
    if change.end:
        body["end_date"] = change.end.strftime(_V1_TIME)
    if change.counts:
        body["reservations"] = [{"id": key, "amount": count} for key, count in change.counts]
    return body


def _v2_change(change: Change) -> dict[str, Any]:
    body: dict[str, Any] = {}
    if change.start:
        body["start"] = change.start.strftime(_V2_TIME)
    if change.end:
        body["end"] = change.end.strftime(_V2_TIME)
    for _, count in change.counts:
        body["instance_count"] = count
    return body
