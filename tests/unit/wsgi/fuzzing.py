"""A fuzzer of Blazar's v1 leases, which watches for what must not happen.

The requests go to the API in this process, which asks Blazar's own manager; the clock is moved and
the manager's due events are run by hand.
"""

import collections
import contextlib
import dataclasses
import datetime
import json
import traceback
from typing import Any

import hypothesis
import sqlalchemy as sa
import webob
from blazar.db import api as db_api

from tests.unit.api import things
from tests.unit.api.people import Person
from tests.unit.api.site import NOW
from tests.unit.wsgi import hostile, sending
from tests.unit.wsgi.whole import WholeSite

#: How many leases clients have at a time. The oldest ones are deleted.
_LEASES = 10
#: How many requests are sent before the clock moves.
_REQUESTS_A_TURN = 6
_MINUTE = datetime.timedelta(minutes=1)
_TURN = 7 * _MINUTE
#: The time from the start of one control lease to that of the next, and the length of each.
_CONTROL_EVERY, _CONTROL_LENGTH = 6 * _TURN, 3 * _TURN
#: Exceptions on which Blazar's manager breaks leases of its own types, for changes that only it can
#: know to be impossible. Here these are flavor:instance beside virtual:instance on a host.
_BLAZARS = ("ReservationTypeConflict",)
_STABLE = ("PENDING", "ACTIVE", "TERMINATED")
#: The projects and users that leases may belong to.
_OWNERS = ("project-alphauser-alpha", "project-betauser-beta")


@dataclasses.dataclass
class Report:
    """The results of a run."""

    requests: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    statuses: collections.Counter[int] = dataclasses.field(default_factory=collections.Counter)
    #: Answers with 5xx, by the place in Blazar where they were raised.
    failures: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    #: Leases that Blazar broke without our doing, and that their owner could still delete.
    broken: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    #: How many starts and ends of control leases were on time.
    controls: int = 0
    #: What must not happen, each with the request before it.
    wrong: list[str] = dataclasses.field(default_factory=list)

    def lines(self) -> list[str]:
        """The results as text for people."""
        counted = [f"{number:6} {method}" for method, number in sorted(self.requests.items())]
        counted += [
            f"{number:6} answers {status}" for status, number in sorted(self.statuses.items())
        ]
        counted += [f"{number:6} x {failure}" for failure, number in self.failures.most_common()]
        counted += [
            f"{number:6} x lease in ERROR by {name}" for name, number in self.broken.items()
        ]
        counted.append(f"{self.controls:6} starts and ends of control leases on time")
        counted.append(f"{len(self.wrong):6} things wrong")
        return counted + [f"  {wrong}" for wrong in self.wrong]


def stock(site: WholeSite) -> Any:
    """Blazar's own application. A crash of it is answered with 500."""
    blazar = site.stock_app()

    def application(environ: Any, start_response: Any) -> Any:
        try:
            return blazar(environ, start_response)
        except Exception:
            start_response("500 Failed", [("Content-Type", "application/json")])
            return [b"{}"]

    return application


@dataclasses.dataclass(frozen=True)
class Control:
    """A lease that must start and end on time, whatever clients send."""

    id: str
    start: datetime.datetime


class Fuzz:
    """A run of the fuzzer, on a site that is set up for it."""

    def __init__(self, site: WholeSite, app: Any) -> None:
        self.site, self.app = site, app
        self.report = Report()
        self.now = NOW
        self._count = 0
        self._controls: collections.deque[Control] = collections.deque()
        self._last = "nothing"
        self._leases: list[dict[str, Any]] = []
        things.add_flavor(Person(site.app, "admin"), slots=8)

    def run(self, examples: int, seed: int) -> Report:
        """Send a number of requests, then delete all leases."""

        @hypothesis.seed(seed)
        @hypothesis.settings(
            max_examples=examples,
            deadline=None,
            database=None,
            suppress_health_check=list(hypothesis.HealthCheck),
            phases=[hypothesis.Phase.generate],
        )
        @hypothesis.given(hostile.PLANS)
        def one(plan: hostile.Plan) -> None:
            self._one(plan)

        self._book_controls(examples // _REQUESTS_A_TURN)
        one()
        for lease in list(self._leases):
            self._delete(lease)
        return self.report

    def _one(self, plan: hostile.Plan) -> None:
        self._count += 1
        if self._count % _REQUESTS_A_TURN == 0:
            self._turn()
        if plan.changes and self._leases:
            lease = self._leases[plan.lease % len(self._leases)]
            body = hostile.change(plan, self.now, lease)
            self._send("PUT", f"/v1/leases/{lease['id']}", body)
        else:
            body = hostile.creation(plan, self.now, f"lease {self._count}")
            answer = self._send("POST", "/v1/leases", body)
            if answer.status_int == 201:
                self._leases.append(answer.json["lease"])
        self._look()
        while len(self._leases) > _LEASES:
            self._delete(self._leases[0])

    def _send(self, method: str, path: str, body: Any, who: str = "alpha") -> webob.Response:
        self._last = f"{method} {json.dumps(body, default=repr)[:400]}"
        failures = self.site.failures()
        failures.clear()
        answer = sending.send(self.app, method, path, body, who=who)
        self.report.requests[method] += 1
        self.report.statuses[answer.status_int] += 1
        self._last += f": {answer.status_int} {_raised(failures)}"
        if answer.status_int >= 500:
            self._classify(answer, failures)
        return answer

    def _classify(self, answer: webob.Response, failures: Any) -> None:
        """Who caused a 5xx: it is ours if our code is in the traceback, or if we answered it."""
        frames = traceback.extract_tb(failures[-1].__traceback__) if failures else []
        ours = [frame for frame in frames if "/warre_blazar/" in frame.filename]
        if ours or "code" in answer.json:
            self._wrong(f"5xx of ours: {answer.text[:300]} {ours[-1:]}")
            return
        where = "the API"
        if frames:
            where = f"{frames[-1].filename.partition('site-packages/')[2]}: {frames[-1].name}"
        what = type(failures[-1]).__name__ if failures else answer.text[:80]
        self.report.failures[f"{answer.status_int} {what} in {where}"] += 1

    def _wrong(self, what: str) -> None:
        self.report.wrong.append(f"{what}; after {self._last}")

    def _look(self) -> None:
        """Check that all leases are as clients may have them, and that each event has a lease.

        No lease may be broken or in an intermediate status, have other events than its two,
        belong to another project or user than its creator's, or run before its start.
        """
        with self.site.engine.begin() as connection:
            events = connection.execute(
                sa.text("SELECT id FROM events WHERE lease_id IS NULL")
            ).fetchall()
            # The format in which SQLite stores times.
            now = self.now.isoformat(" ", "microseconds")
            broken = connection.execute(sa.text(_BROKEN), {"now": now}).fetchall()
        for event in events:
            self._wrong("an event without a lease")
            db_api.event_destroy(event.id)
        for lease in broken:
            self._take_away(lease)

    def _take_away(self, lease: Any) -> None:
        """Report a broken lease and delete it, so that the next one is noticed too."""
        found = [each for each in self._leases if each["id"] == lease.id]
        whole = (lease.status, lease.starts, lease.ends) == ("ERROR", 1, 1)
        what = self._blazars_own() if whole and found else None
        if what:
            self.report.broken[what] += 1
            self._delete(found[0])
            return
        self._wrong(
            f"lease {lease.status} from {lease.start_date} of {lease.project_id}, "
            f"{lease.starts} starts and {lease.ends} ends"
        )
        db_api.lease_destroy(lease.id)
        self._leases = [each for each in self._leases if each not in found]
        self._controls = collections.deque(c for c in self._controls if c.id != lease.id)

    def _blazars_own(self) -> str | None:
        """Why Blazar broke a lease without our doing or a client's; None if it didn't."""
        if not self.site.failures():
            return None
        raised = type(self.site.failures()[-1]).__name__
        return raised if raised in _BLAZARS else None

    def _delete(self, lease: dict[str, Any]) -> None:
        """Delete a lease as its owner. A lease that can't be deleted is reported as stuck."""
        self._leases.remove(lease)
        path = f"/v1/leases/{lease['id']}"
        answer = sending.send(self.app, "DELETE", path)
        if answer.status_int != 204:
            self._wrong(f"a lease can't be deleted: {answer.status_int} {answer.text[:300]}")

    def _turn(self) -> None:
        """Move the clock by some minutes."""
        self._last = f"a turn of the clock, and {self._last}"
        self.site.failures().clear()
        end = self.now + _TURN
        while self.now < end:
            # No lease of Blazar's begins and ends while the manager doesn't look. Blazar would
            # start the next one of its host before it ends this one, and would break it.
            self.now += _MINUTE
            self.site.set_time(self.now)
            try:
                self.site.run_events()
            except Exception as error:
                self._wrong(f"the manager's events stopped: {error!r}")
                with contextlib.suppress(Exception):
                    self._look()
        self._look()
        self._look_at_control()

    def _book_controls(self, turns: int) -> None:
        """Create all control leases, in another project, before clients send requests."""
        flavor = things.add_flavor(Person(self.site.app, "admin"), name="control")
        start, end = self.now + _TURN, self.now + turns * _TURN
        while start + _CONTROL_LENGTH < end:
            body = sending.lease(
                sending.slot(flavor),
                name=f"control {start}",
                start_date=hostile.text(start),
                end_date=hostile.text(start + _CONTROL_LENGTH),
            )
            answer = sending.send(self.site.app, "POST", "/v1/leases", body, who="beta")
            assert answer.status_int == 201, answer
            self._controls.append(Control(answer.json["lease"]["id"], start))
            start += _CONTROL_EVERY

    def _look_at_control(self) -> None:
        """Check that the present control lease has started and ended on time."""
        if not self._controls or self.now < self._controls[0].start:
            return
        control = self._controls[0]
        path = f"/v1/leases/{control.id}"
        status = sending.send(self.site.app, "GET", path, who="beta").json["lease"]["status"]
        wanted = "ACTIVE" if self.now < control.start + _CONTROL_LENGTH else "TERMINATED"
        if status == wanted:
            self.report.controls += 1
        else:
            self._wrong(f"the control is {status}, not {wanted}")
        if wanted == "TERMINATED":
            sending.send(self.site.app, "DELETE", path, who="beta")
            self._controls.popleft()


def _raised(failures: Any) -> str:
    """The manager's last exception, and where it was raised."""
    if not failures:
        return ""
    frame = traceback.extract_tb(failures[-1].__traceback__)[-1]
    what = traceback.format_exception_only(failures[-1])[-1].strip()
    return f"{what[:200]} in {frame.filename.partition('site-packages/')[2]}: {frame.name}"


_BROKEN = f"""
    SELECT * FROM (
        SELECT leases.*,
            (SELECT count(*) FROM events e
             WHERE e.lease_id = leases.id AND e.event_type = 'start_lease') AS starts,
            (SELECT count(*) FROM events e
             WHERE e.lease_id = leases.id AND e.event_type = 'end_lease') AS ends
        FROM leases) AS counted
    WHERE status NOT IN {_STABLE} OR starts <> 1 OR ends <> 1
        OR coalesce(project_id, '') || coalesce(user_id, '') NOT IN {_OWNERS}
        OR (status = 'ACTIVE' AND start_date > :now)
"""
