"""Runs the campaign on the dev cloud that is up; ``tools/day2`` sees to that."""

import argparse
import collections
import datetime
import os
import random
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import openstack.exceptions

from tests.day2 import deeds, rooms
from tests.day2.deeds import NothingToDo, Place, Undo
from tests.day2.rooms import Fault
from tests.functional.cloud import devcloud, nova_side, world
from tests.functional.cloud.people import Person
from tests.functional.cloud.records import Records
from tests.functional.cloud.waiting import until
from tests.torture.stage import stage

#: Blazar's monitor looks for failed hosts this often.
MONITOR = {"enable_polling_monitor": "True", "polling_interval": "5", "healing_interval": "60"}
#: Flavors beside those of the torture test: for servers of several sizes on all hosts.
FLAVORS: dict[str, dict[str, Any]] = {
    "small": {"slots": 50, "memory_mb": 256},
    "large": {"slots": 50, "memory_mb": 2048},
}
#: Minutes that bookings last, and the most that run at the same time.
LENGTHS, MOST_ROOMS = (4, 9), 7
#: In how many minutes the other bookings begin. Hosts that are drained or fail hold them too.
LATER = (24 * 60, 72 * 60)
#: Steps until what an operator did is undone.
UNDONE_AFTER = (1, 3)
#: Seconds within which a room is well again after what harmed it was undone.
WELL_WITHIN = 300.0
#: Seconds within which a reservation says why a place can't be used.
SAID_WITHIN = 90.0
#: The share of steps after which every place must boot.
WELL_SHARE = 0.95


class Campaign:
    """One campaign."""

    def __init__(self, admin: Person, people: Sequence[Person], flavors: Sequence[str], seed: int):
        self._admin, self._people, self._flavors = admin, people, flavors
        self._choice = random.Random(seed)
        #: What operators did and hasn't been undone: its name, how, and at which step it will be.
        self._open: list[tuple[str, Undo, int]] = []
        self._last_undone = time.monotonic()
        self.done: collections.Counter[str] = collections.Counter()
        self.booked = self.looked = self.well = 0
        self.faults: list[str] = []
        self.violations: list[str] = []

    def step(self, number: int) -> None:
        """Book, do something, and look at each room."""
        self._book()
        self._undo(number)
        name = until("something that can be done", lambda: self._do(number), WELL_WITHIN)
        self.done[name] += 1
        count, found = rooms.faults(self._people)
        if count:
            self.looked += 1
            self.well += not found
        for fault in found:
            self._judge(number, name, fault)
        print(f"{number:4} {name:26} {count} rooms, {len(found)} with a fault", flush=True)

    def undo_all(self) -> None:
        for _, undo, _ in self._open:
            undo()
        self._open.clear()

    def _book(self) -> None:
        """Book a room that begins soon, or, if enough of them run, one for the next days."""
        person = self._choice.choice(self._people)
        is_soon = len(rooms.running(self._people)) < MOST_ROOMS
        wait = self._choice.randint(0, 2) if is_soon else self._choice.randint(*LATER)
        start = world.now() + datetime.timedelta(minutes=wait)
        end = start + datetime.timedelta(minutes=self._choice.randint(*LENGTHS))
        flavor = {"id": self._choice.choice(self._flavors)}
        answer = world.book(
            person, flavor, world.Period(start, end), self._choice.choice((1, 1, 2, 3))
        )
        self.booked += answer.status_code == 200
        if answer.status_code >= 500:
            self.violations.append(f"a booking was answered {answer.status_code}: {answer.text}")

    def _do(self, number: int) -> str | None:
        """Do something that can be done now. Return its name, or None if nothing can be done."""
        at = Place(self._admin, rooms.running(self._people), self._choice)
        # Several operations of operators at the same time leave nowhere to go on three hosts.
        kinds: Sequence[Callable[[Place], Undo | None]] = (
            deeds.USERS if self._open else (*deeds.USERS, *deeds.OPERATORS)
        )
        for deed in self._choice.sample(kinds, len(kinds)):
            try:
                undo = deed(at)
            except (NothingToDo, openstack.exceptions.ConflictException):
                # Nova refuses what doesn't go with a server's state, or with an admin's lock.
                continue
            if undo is not None:
                after = self._choice.randint(*UNDONE_AFTER)
                self._open.append((deed.__name__, undo, number + after))
            return deed.__name__
        return None

    def _undo(self, number: int) -> None:
        due = [each for each in self._open if each[2] <= number]
        for each in due:
            each[1]()
            self._open.remove(each)
            self._last_undone = time.monotonic()

    def _judge(self, number: int, name: str, fault: Fault) -> None:
        """Note a fault, and whether it breaks a promise."""
        reason = fault.reason or self._reason_later(fault)
        cause = self._open[0][0] if self._open else name
        line = (
            f"step {number}, {name} (under {cause}): {fault.missing} of {fault.room.places} places "
            f"of {fault.room.id}: Nova says {fault.because!r}, the reservation {reason!r}"
        )
        print(f"     {line}", flush=True)
        self.faults.append(line)
        if reason is None:
            self.violations.append(f"silent: {line}")
        elif not self._open and time.monotonic() - self._last_undone > WELL_WITHIN:
            self.violations.append(f"not well again: {line}")

    def _reason_later(self, fault: Fault) -> str | None:
        deadline = time.monotonic() + SAID_WITHIN
        while time.monotonic() < deadline:
            time.sleep(3)
            answer = fault.room.owner.ask("GET", f"/v2/reservations/{fault.room.id}/")
            if answer.status_code != 200 or answer.json()["status"] != "ACTIVE":
                return "it is over"
            if reason := rooms.told(fault.room):
                return reason
        # A manager may have healed it before anything was said.
        return None if rooms.fault(fault.room) else "it was well again within this time"


def main() -> int:
    """Run, and return the exit status: 0 if no promise was broken."""
    parser = argparse.ArgumentParser(prog="day2", description=__doc__)
    parser.add_argument("--operations", type=int, default=200, help="how many (default: 200)")
    parser.add_argument("--seed", type=int, default=1, help="the same choices (1)")
    chosen = parser.parse_args()
    admin, records = Person("admin"), Records()
    before = nova_side.orphans(admin, records)
    began = time.monotonic()
    with (
        devcloud.options({"physical:host": MONITOR}),
        stage(admin, os.environ["OS_PASSWORD"], 2, (1000, 10_000), FLAVORS) as prepared,
    ):
        people = [Person(user.name, user.project) for user in prepared.people[::3]]
        campaign = Campaign(admin, people, prepared.flavors[-len(FLAVORS) :], chosen.seed)
        try:
            for number in range(1, chosen.operations + 1):
                campaign.step(number)
        finally:
            campaign.undo_all()
    until("leftovers to go", lambda: nova_side.orphans(admin, records) <= before)
    share = campaign.well / max(campaign.looked, 1)
    if share < WELL_SHARE:
        campaign.violations.append(f"only {share:.1%} of the steps were well")
    print(f"{chosen.operations} operations, {campaign.booked} bookings", end=", ")
    print(f"{time.monotonic() - began:.0f} s: {dict(campaign.done.most_common())}")
    print(f"every place booted after {campaign.well} of {campaign.looked} steps ({share:.1%})")
    for title, lines in (("faults", campaign.faults), ("violations", campaign.violations)):
        print(f"{len(lines)} {title}", *lines, sep="\n  ")
    return bool(campaign.violations)


if __name__ == "__main__":
    sys.exit(main())
