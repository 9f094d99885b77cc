"""The campaign: hostile requests of members to all paths, while managers are killed in turn."""

import argparse
import datetime
import itertools
import math
import os
import pathlib
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator, Sequence

from tests.functional.cloud.people import Person as Client
from tests.torture import measures
from tests.torture.answers import Answer, Http
from tests.torture.members import Known, Members, Request
from tests.torture.outages import Layout, Services, layout
from tests.torture.stage import Stage, stage
from tests.torture.users import Person
from tests.torture.verdicts import JUDGED_FROM, Process, Verdicts

_PROJECTS, _THREADS = 2, 8
#: Seconds until a request counts as not answered. The API waits a minute for a manager that was
#: killed, and a series calls managers many times.
_PATIENCE = 300.0
#: Before and after a request that is measured, API and managers must have nothing to do: they use
#: less than this many seconds of a core within a look's seconds. What they do now and then is less.
_IDLE, _LOOK = 0.03, 0.25
#: Seconds to wait for that.
_CALM = 120.0
#: What the dearest requests are printed of.
_DEAREST = 10
#: Flavors beside those of the torture test: with as many slots and as long as they can be.
_FLAVORS = {"endless": {"slots": 2**31 - 1, "max_length_hours": 8760}}
_PLENTY = (1000, 100_000)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command line."""
    parser.add_argument("--requests", type=int, default=40_000, help="how many (default: 40000)")
    parser.add_argument("--minutes", type=float, default=120, help="at most so long (120)")
    parser.add_argument(
        "--kill-every", type=float, default=120, metavar="SECONDS", help="kill a manager (120)"
    )
    parser.add_argument(
        "--quiet-phase", type=int, default=10, metavar="N", help="then send N of each kind alone"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the choices (1)")
    parser.add_argument(
        "--memory", type=float, default=6.0, metavar="GIB", help="address space of each process (6)"
    )


class Campaign:
    """One campaign on a dev cloud."""

    def __init__(self, its_layout: Layout, services: Services, chosen: argparse.Namespace) -> None:
        self._layout, self._services, self._chosen = its_layout, services, chosen
        self._url = its_layout.url("blazar")
        for url in (self._url, its_layout.auth_url):
            if urllib.parse.urlsplit(url).hostname != "127.0.0.1":
                raise ValueError(f"{url} isn't on this machine")
        self._password = str(its_layout.login("admin")["password"])
        self._managers = services.matching("blazar-manager*")
        self._watched = [*services.matching("blazar-api"), *self._managers]
        self.verdicts = Verdicts()
        self._known = Known()
        self._over = threading.Event()

    def run(self) -> list[str]:
        """Send all requests. Return the report."""
        self._services.bring_up(self._services.all)
        self._limit()
        admin = Client("admin")
        memory: list[str] = []
        costs: list[tuple[float, str]] = []
        with stage(admin, self._password, _PROJECTS, _PLENTY, _FLAVORS) as prepared:
            try:
                memory += self._loud(prepared)
                costs += self._quiet(prepared)
            except KeyboardInterrupt:
                self.verdicts.fail("interrupted", "not all requests were sent and judged")
            finally:
                self._services.bring_up(self._services.all)
                _delete_waits_and_series(admin, set(prepared.limits))
        return [
            *self.verdicts.lines(),
            f"{self.verdicts.kills} kills of managers",
            "resident memory:",
            *(f"  {line}" for line in memory),
            *self._about_memory(),
            "seconds of a core of the dearest requests, each of them alone:",
            *(f"  {cost:6.2f}  {text}" for cost, text in sorted(costs)[: -_DEAREST - 1 : -1]),
            "FAILED" if self.verdicts.failures else "nothing found",
        ]

    def _about_memory(self) -> list[str]:
        if self._chosen.requests >= JUDGED_FROM:
            return []
        return [f"  growth isn't judged with fewer than {JUDGED_FROM} requests"]

    def _limit(self) -> None:
        measures.limit_memory(self._watched, int(self._chosen.memory * 2**30))

    # All at once.

    def _loud(self, prepared: Stage) -> list[str]:
        """Send the requests from several threads. Return lines that say how memory has grown."""
        deadline = time.monotonic() + 60 * self._chosen.minutes
        killer = threading.Thread(target=self._kill_in_turn, name="killer")
        killer.start()
        try:
            requests = self._chosen.requests
            with measures.Watch(self._watched) as memory:
                sent = self._send_all(prepared, requests // 2, 0, deadline)
                half = memory.latest()
                sent += self._send_all(prepared, requests - requests // 2, 1, deadline)
                end = memory.latest()
        finally:
            self._over.set()
            killer.join()
        if sent < requests:
            self.verdicts.fail("too slow", f"{sent} of {requests} requests were sent")
        self._services.bring_up(self._managers)
        return [*self.verdicts.judge_memory(half, end, requests), *memory.lines()]

    def _send_all(self, prepared: Stage, number: int, part: int, deadline: float) -> int:
        """Send requests, and return how many were sent until all were or the time was up."""
        left, sent = itertools.count(), [0] * _THREADS

        def work(thread: int) -> None:
            person = prepared.people[thread % len(prepared.people)]
            seed = (self._chosen.seed * 2 + part) * _THREADS + thread
            http = self._http(person)
            requests = self._members(prepared, person, seed).requests()
            while next(left) < number and time.monotonic() < deadline and not self._over.is_set():
                self._ask(http, next(requests))
                sent[thread] += 1

        threads = [threading.Thread(target=work, args=(each,)) for each in range(_THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return sum(sent)

    def _ask(self, http: Http, request: Request) -> Answer:
        began = time.time()
        answer = http.ask(request.method, self._url + request.path, request.body, _PATIENCE)
        self.verdicts.judge(request, answer, began, time.time())
        self._known.note(request, answer.document)
        return answer

    def _http(self, person: Person) -> Http:
        return Http(self._layout.auth_url, person.name, person.project, self._password)

    def _members(self, prepared: Stage, person: Person, seed: int) -> Members:
        return Members(seed, prepared.flavors, person, self._known, _now)

    def _kill_in_turn(self) -> None:
        """Kill a manager from time to time, and start it again.

        The last manager lives, so that its memory can be compared.
        """
        victims = self._managers[:-1] or self._managers
        for number in itertools.count():
            if self._over.wait(self._chosen.kill_every):
                return
            victim = victims[number % len(victims)]
            self.verdicts.killed(time.time())
            victim.stop(kill=True)
            victim.start()
            self._limit()

    # One after the other.

    def _quiet(self, prepared: Stage) -> Iterator[tuple[float, str]]:
        """Send requests of each kind alone. Yield what each costs, as _cost does, and its text."""
        person = prepared.people[0]
        http, members = self._http(person), self._members(prepared, person, self._chosen.seed)
        for kind in members.kinds:
            for _ in range(self._chosen.quiet_phase):
                request = members.of(kind)
                yield self._cost(lambda r=request: self._ask(http, r)), str(request)

    def _cost(self, ask: Callable[[], Answer]) -> float:
        """The seconds of a core that API and managers use while a request is served."""
        these = measures.members(self._watched)
        before = self._calm(these)
        ask()
        after = self._calm(these)
        used = math.fsum(after[each] - before[each] for each in after if each in before)
        gone = [each for each in before if each not in after]
        for each in gone:
            self.verdicts.fail("a process ended", f"{each.service} {each.pid}")
        return used

    @staticmethod
    def _calm(these: Sequence[Process]) -> dict[Process, float]:
        """Wait until processes have nothing to do. Return the seconds that they have used."""
        deadline = time.monotonic() + _CALM
        last = measures.cpu_seconds(these)
        while time.monotonic() < deadline:
            time.sleep(_LOOK)
            now = measures.cpu_seconds(these)
            if math.fsum(now.values()) - math.fsum(last.values()) < _IDLE:
                return now
            last = now
        return last


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC).replace(second=0, microsecond=0)


def _delete_waits_and_series(admin: Client, projects: set[str]) -> None:
    for name in ("waits", "series"):
        for each in _all(admin, f"/v2/{name}?all_projects=true"):
            if each["project_id"] in projects:
                admin.ask("DELETE", f"/v2/{name}/{each['id']}")


def _all(admin: Client, path: str) -> Iterator[dict]:
    for page in itertools.count(1):
        found = admin.asks("GET", f"{path}&limit=1000&page={page}")["results"]
        yield from found
        if len(found) < 1000:
            return


def main(words: Sequence[str]) -> int:
    """Run a campaign on the dev cloud that is up.

    :returns: 0: nothing was found; 1: something was.
    """
    parser = argparse.ArgumentParser(prog="tools/torture campaign", description=__doc__)
    add_arguments(parser)
    chosen = parser.parse_args(words)
    its_layout = layout(pathlib.Path(os.environ["WARRE_DEVCLOUD_HOME"]))
    campaign = Campaign(its_layout, Services(its_layout), chosen)
    print("\n".join(campaign.run()), flush=True)
    return 1 if campaign.verdicts.failures else 0
