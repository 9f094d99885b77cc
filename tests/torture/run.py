"""A whole run: users, outages and the judge side by side, then what is left when all is calm."""

import json
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import pymysql

from tests.functional.cloud import devcloud
from tests.functional.cloud.people import Person as Client
from tests.torture import choices, users
from tests.torture import judge as judging
from tests.torture.answers import Answers, Http
from tests.torture.calm import Absences
from tests.torture.judge import Judge, Watch
from tests.torture.ledger import AT_REST, SETTLED, Ledger
from tests.torture.outages import Layout, Outages, Services
from tests.torture.reading import Reader
from tests.torture.report import Report
from tests.torture.stage import Stage, stage

#: Seconds that a user's last request may take.
_LAST_REQUEST = 90.0
#: Seconds for the polls of the managers to tidy up, once no request can be done any more.
_TIDIED = 240.0
#: Blazar leaves the trust of a lease that is deleted; the audit's fix deletes these.
_TRUSTS = "trusts-unused"

#: How the names of the exact plugins begin.
_EXACT = "exact."

Differences = dict[tuple[str, str], str]


class Disturbance(Protocol):
    """What is done to the services while users go on, in a thread, as Outages do it."""

    failure: BaseException | None

    def start(self) -> None: ...
    def last(self, seconds: float, over: threading.Event) -> None: ...
    def stop(self) -> None: ...


class Run:
    """One run on a dev cloud."""

    def __init__(
        self,
        its_layout: Layout,
        services: Services,
        absences: Absences,
        seed: int,
        disturbance: Callable[[Services, Absences, int], Disturbance] = Outages,
        programs: Callable[[], Path] | None = None,
    ) -> None:
        """
        :param programs: the directory of the programs of the version that is installed now.
            Default: that of the cloud's environment.
        """
        self._layout, self._services, self._absences = its_layout, services, absences
        self._seed, self._disturbance = seed, disturbance
        self._programs = programs or (lambda: its_layout.venv / "bin")
        self._password = str(its_layout.login("admin")["password"])
        self._ledger = Ledger()
        self.answers = Answers(absences)
        self._reader = Reader(devcloud.database_url())

    def run(self, seconds: float, over: threading.Event, *, keep: bool = False) -> Report:
        """Run for some time, or until it is told that it is over."""
        self._services.bring_up(self._services.all)
        with stage(Client("admin"), self._password, keep=keep) as prepared:
            judge = Judge(self._ledger, self._absences, prepared.limits)
            watch = Watch(judge, self._ledger, self._reader)
            known_before = self._held()
            differences_before = set(self._audit()[1])
            began = time.time()
            outages = self._disturbance(self._services, self._absences, self._seed)
            people = self._users(prepared)
            failures: list[str] = []
            try:
                for part in (watch, outages, *people):
                    part.start()
                outages.last(seconds, over)
            finally:
                lasted = time.time() - began
                failures += self._end(outages, people, over)
            audit, end = self._calm(watch, judge, prepared, known_before, differences_before, over)
            watch.stop()
            if watch.failure:
                failures.append(f"judge: {watch.failure!r}")
        return Report(
            seed=self._seed,
            seconds=lasted,
            operations=self.answers.by_operation,
            errors=self.answers.errors,
            absences=self._absences.all(),
            looks=watch.looks,
            checked=judge.checked,
            violations=[*judge.violations.values(), *self.answers.wrong.values()],
            audit=audit,
            end=end,
            failures=failures,
            ended_early=over.is_set(),
        )

    def _users(self, prepared: Stage) -> list[users.User]:
        stock = _EXACT in devcloud.option("manager", "plugins")
        place = users.Place(
            self._layout.url("blazar"),
            self._layout.url("nova", "/v2.1"),
            prepared.image,
            prepared.flavors,
        )
        return [
            users.User(
                person,
                place,
                Http(self._layout.auth_url, person.name, person.project, self._password),
                self._ledger,
                self.answers,
                choices.of_user(self._seed, person.number, stock=stock),
            )
            for person in prepared.people
        ]

    def _end(
        self, outages: Disturbance, people: list[users.User], over: threading.Event
    ) -> list[str]:
        """End users and outages; what of them failed. All services are up then."""
        failures = []
        for user in people:
            user.stop()
        outages.stop()
        if outages.failure:
            failures.append(f"outages: {outages.failure!r}")
        self._services.bring_up(self._services.all)
        deadline = time.monotonic() + _LAST_REQUEST
        for user in people:
            while not user.join(1.0) and time.monotonic() < deadline and not over.is_set():
                continue
            if not user.join(0.0) and not over.is_set():
                failures.append(f"{user.person.name} has had no answer")
            if user.failure:
                failures.append(f"{user.person.name}: {user.failure!r}")
        return failures

    def _calm(
        self,
        watch: Watch,
        judge: Judge,
        prepared: Stage,
        known_before: set[str],
        differences_before: set[tuple[str, str]],
        over: threading.Event,
    ) -> tuple[list[str], list[str]]:
        """Wait until everything has come to rest; what the audit says, and what is wrong."""
        began = time.monotonic()

        def new() -> Differences:
            status, found = self._audit()
            found = {k: t for k, t in found.items() if k not in differences_before}
            if status > 1:
                found["audit", ""] = f"the audit ended with {status}"
            return {k: t for k, t in found.items() if k[0] != _TRUSTS}

        def left() -> list[str]:
            snapshot, backing = watch.look(), self._reader.backing()
            ignored = known_before | judge.stock
            return judging.at_the_end(snapshot, backing, prepared.limits, ignored)

        differences = _waited(new, SETTLED + _TIDIED, over)
        if over.is_set():
            return ["ended early: what is left was not judged"], []
        waited = time.monotonic() - began
        lines = [f"the audit found nothing more after {waited:.0f} s"] if not differences else []
        wrong = [f"audit: {kind}: {text}" for (kind, _), text in differences.items()]
        wrong += _waited(left, 60.0, over)
        # What is unknown is known once it can't be done any more.
        over.wait(max(0.0, AT_REST - (time.monotonic() - began)))
        self._ledger.come_to_rest()
        watch.look()
        watch.look()
        lines.append(f"accepted leases in all: {len(self._ledger.view().leases)}")
        trusts = [text for (kind, _), text in self._audit()[1].items() if kind == _TRUSTS]
        lines += [f"{text.partition(':')[0]} (Blazar's: deleted by --fix --yes)" for text in trusts]
        self._audit("--fix", "--yes")

        def unfixed() -> Differences:
            status, found = self._audit()
            lines[-1] = f"audit: status {status}, {len(found)} differences"
            return {key: text for key, text in found.items() if key not in differences_before}

        lines.append("")
        still = _waited(unfixed, 60.0, over)
        wrong += [f"audit after --fix --yes: {kind}: {text}" for (kind, _), text in still.items()]
        return lines, wrong

    def _audit(self, *words: str) -> tuple[int, Differences]:
        """The exit status of an audit, and its differences by kind and subject."""
        config = self._layout.etc("blazar", "blazar.conf")
        program = self._programs() / "warre-blazar-manage"
        command = [str(program), "--config-file", str(config), "audit", "--json", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if not done.stdout:
            return done.returncode, {("audit", ""): done.stderr[-500:]}
        document = json.loads(done.stdout)
        found = {(d["kind"], d["subject"]): d["text"] for d in document["differences"]}
        found |= {("away", service): why for service, why in document["away"].items()}
        return done.returncode, found

    def _held(self) -> set[str]:
        """The reservations of which Nova or Placement hold anything now."""
        backing = self._reader.backing()
        return {*backing.flavors, *backing.aggregates, *backing.classes}


def _waited(probe: Callable[[], Any], seconds: float, over: threading.Event) -> Any:
    """What a probe answers as soon as that is nothing, or at last."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            found = probe()
        except (pymysql.MySQLError, OSError):
            found = None
        is_last = time.monotonic() > deadline or over.is_set()
        if found is not None and (not found or is_last):
            return found
        if over.wait(5):
            return found
