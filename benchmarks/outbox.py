#!/usr/bin/env python3
"""What it costs to tell about bookings, and to book while 1,000 notices wait.

Needs no service: SQLite, a mail server of its own and the fake cloud of the tests. With ``--kind
mariadb`` it needs that server (``tools/testdb up && eval "$(tools/testdb env)"``). ``--beside``
names the directory of another version of this repository, such as a git worktree. It is measured in
turn with this one, and the ratios are printed.

Of each booking, the entries of the log are there. After some bookings, three channels tell about
them: mail, notifications, and Blazar's notifications about leases, on a bus that takes
everything. Counted are SQL statements, transactions, requests to Keystone about people, connections
to the mail server, mails, and the processor time of the thread that tells. A course is told in the
same way. Of a booking, the statements and the processor time of its own thread are counted: while
the outbox is empty, while 1,000 notices wait, and, but for SQLite, while they are being told.
"""

import argparse
import contextlib
import dataclasses
import datetime
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import figures
import sqlalchemy as sa
from aiosmtpd.controller import Controller
from blazar.db import api as db_api
from oslo_config import cfg
from oslo_utils import uuidutils

# Behind the directories that a process for another version is given.
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

from tests.fakes.cloud import Cloud
from tests.functional.db import databases, world
from warre_blazar import conf as our_conf
from warre_blazar.conf import messages as options
from warre_blazar.db import session, tables
from warre_blazar.db.messages import deliveries
from warre_blazar.db.messages.outbox import Telling
from warre_blazar.db.running import executions
from warre_blazar.domain.booking.labels import NO_LABELS
from warre_blazar.domain.messages.messages import MessageLimits, WantedMessages
from warre_blazar.domain.series.recurrence import Recurrence
from warre_blazar.domain.series.series import (
    BookedSeries,
    RepeatedBooking,
    SeriesStatus,
    SeriesWork,
)
from warre_blazar.domain.timeline import Span
from warre_blazar.messengers.smtp import SmtpMessenger
from warre_blazar.plugins import change_records
from warre_blazar.services.messages import messages, notifications
from warre_blazar.services.messages.delivery import Delivery
from warre_blazar.services.messages.rendering import Templates
from warre_blazar.services.series import progress

TREE = pathlib.Path(__file__).resolve().parents[1]
WAITING = 1_000
LESSONS = 15
CPU = "CPU ms"
COSTS = ("statements", "transactions", "requests to Keystone", "connections", "mails", CPU)
OF_BOOKING = ("statements", CPU)

Costs = dict[str, float]


class MailServer:
    """Takes all mail, and counts it."""

    def __init__(self) -> None:
        self.mails = self.connections = 0

    async def handle_EHLO(
        self, server: Any, session: Any, envelope: Any, hostname: str, responses: list[str]
    ) -> list[str]:
        session.host_name = hostname
        self.connections += 1
        return responses

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        self.mails += 1
        return "250 OK"


class Bus:
    """A message bus that takes everything."""

    def send(self, *_: object) -> None:
        pass


class Site:
    """A fake cloud with users, a mail server, and a manager's channels."""

    def __init__(self, cloud: Cloud, engine: sa.Engine, port: int, users: int) -> None:
        self._cloud, self._engine, self._users = cloud, engine, users
        self._booked = self._copied = 0
        #: The entries of one booking.
        self._entries: list[dict[str, Any]] = []
        change_records.register()
        session.change(deliveries.set_channels, {"notifications": True, "message smtp": False})
        for number in range(users):
            user = {"name": f"user{number}", "email": f"user{number}@example.org"}
            cloud.keystone.users[f"user{number}"] = user
            cloud.keystone.projects[f"project{number}"] = {"name": f"project{number}"}
        world.add_host(cloud, "a", vcpus=10_000, memory_mb=10**8, disk_gb=10**6)
        self._flavor = world.add_flavor(slots=10_000, vcpu=1)
        self._channels = _channels(port)

    def book(self) -> None:
        """Book for the next user, as a manager does."""
        number, day = self._booked % self._users, 1 + self._booked % 300
        self._booked += 1
        self._book(number, day)

    def _book(self, number: int, day: int, work: SeriesWork | None = None) -> None:
        span, project = _lesson(day), f"project{number}"
        request = world.request(self._flavor, span, project_id=project)
        lease = world.add_lease(span, project_id=project)
        world.write_lease(lease.id, {"user_id": f"user{number}"})
        world.plan(dataclasses.replace(request, series=work), lease)
        world.set_status(lease, "CREATING")
        with session.writer() as db:
            db_api.lease_update(lease.id, {"status": "PENDING"})
            notifications.add_of_leases(db, [lease.id], "create")

    def book_course(self) -> None:
        """Book a series, as the API does."""
        rule = Recurrence(world.NOW, "UTC", "FREQ=DAILY", datetime.timedelta(hours=1))
        booking = RepeatedBooking(self._flavor.id, 1, None, NO_LABELS, None)
        series = progress.begin(
            BookedSeries(
                id=uuidutils.generate_uuid(),
                project_id="project0",
                user_id="user0",
                booking=booking,
                recurrence=rule,
                all_or_none=False,
                status=SeriesStatus.BOOKING,
                work_id=uuidutils.generate_uuid(),
                ends_running=False,
                created_at=world.NOW,
            ),
            [_lesson(day) for day in range(LESSONS)],
        )
        for day in range(LESSONS):
            self._book(0, day, SeriesWork(series.id, series.work_id))
        progress.finish(progress.tries(series))

    def let_wait(self, bookings: int) -> None:
        """Write what bookings write, so that it waits to be told: copies of one booking's entries.

        :param bookings: how many, each for the next user.
        """
        entries = tables.log_entries
        if not self._entries:
            self.book()
            new = entries.c.telling == Telling.NEW.value
            with session.writer() as db:
                found = db.execute(sa.select(entries).where(new)).mappings().all()
                db.execute(entries.delete().where(new))
            self._entries = [{k: v for k, v in row.items() if k != "id"} for row in found]
        rows = []
        for _ in range(bookings):
            self._copied += 1
            user = self._copied % self._users
            rows += [_copied(entry, self._copied, user) for entry in self._entries]
        with session.writer() as db:
            db.execute(entries.insert(), rows)

    def tell(self) -> None:
        """Tell everything by all channels."""
        for channel in self._channels:
            while channel.run():
                pass

    def counted(self, server: MailServer, action: Callable[[], None]) -> Costs:
        """What this thread does in an action, and the requests and mails of all threads."""
        self._cloud.keystone.requests.clear()
        mails, connections = server.mails, server.connections
        with self._counting() as costs:
            action()
        asked = [line for line in self._cloud.keystone.requests if _is_of_people(line)]
        costs["requests to Keystone"] = len(asked)
        costs["mails"] = server.mails - mails
        costs["connections"] = server.connections - connections
        return costs

    @contextlib.contextmanager
    def _counting(self) -> Iterator[Costs]:
        costs: Costs = {"statements": 0, "transactions": 0}
        mine = threading.get_ident()

        def executes(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
            costs["statements"] += threading.get_ident() == mine and statement != "BEGIN"

        def begins(_connection: Any) -> None:
            costs["transactions"] += threading.get_ident() == mine

        sa.event.listen(self._engine, "before_cursor_execute", executes)
        sa.event.listen(self._engine, "begin", begins)
        begun = time.thread_time()
        yield costs
        costs[CPU] = 1000 * (time.thread_time() - begun)
        sa.event.remove(self._engine, "before_cursor_execute", executes)
        sa.event.remove(self._engine, "begin", begins)


def _lesson(day: int) -> Span:
    return world.hours(24 * day, 24 * day + 1)


def _copied(entry: Mapping[str, Any], number: int, user: int) -> dict[str, Any]:
    """The same entry about another lease and another reservation, of a user."""
    stored = json.loads(entry["content"])
    project_id = f"project{user}"
    stored["content"] |= {
        "lease_id": f"lease{number}",
        "project_id": project_id,
        "user_id": f"user{user}",
    }
    subject = f"{entry['subject'][:-6]}{number:06}"
    changes = {"subject": subject, "project_id": project_id, "content": json.dumps(stored)}
    return {**entry, **changes}


def _is_of_people(line: str) -> bool:
    return "/v3/users/" in line or "/v3/projects/" in line


def _channels(port: int) -> list[Delivery]:
    given = {"sender": "a@example.org", "smtp_host": "127.0.0.1", "smtp_security": "none"}
    for name, value in {**given, "smtp_port": port}.items():
        cfg.CONF.set_override(name, value, group="warre_messages")
    wanted = WantedMessages(frozenset(options.EVENTS), False)
    limits = MessageLimits(own=10**6, others=10**6)
    site = messages.MessageSite("Cloud", "", wanted, limits, Templates(), lambda _: None)
    bus: Any = Bus()
    channels: list[Any] = [
        notifications.LeaseNotifications(bus),
        notifications.ReservationNotifications(bus),
        messages.MessageChannel("smtp", SmtpMessenger(cfg.CONF), site),
    ]
    session.change(executions.beat, "manager", "host")
    return [Delivery(channel, "manager") for channel in channels]


@contextlib.contextmanager
def site(kind: str, users: int) -> Iterator[tuple[Site, MailServer]]:
    """A site on a new database."""
    cfg.CONF([], default_config_files=[])
    our_conf.register(cfg.CONF)
    server = MailServer()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    controller = Controller(server, hostname="127.0.0.1", port=port, ready_timeout=120)
    controller.start()
    with contextlib.ExitStack() as stack:
        directory = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        stack.callback(controller.stop)
        cloud = stack.enter_context(Cloud())
        cloud.configure(_override)
        url = stack.enter_context(databases.made(kind, directory))
        databases.fill(kind, url, directory)
        cfg.CONF.set_override("connection", url, group="database")
        cfg.CONF.set_override("sqlite_synchronous", False, group="database")
        engine = stack.enter_context(databases.connected())
        yield Site(cloud, engine, port, users), server


def _override(name: str, value: Any, group: str | None) -> None:
    if group != "oslo_limit":  # No quota is asked for.
        cfg.CONF.set_override(name, value, group=group)


def measured(asked: argparse.Namespace) -> dict[str, Costs]:
    """What is measured of this version, by what was done."""
    found: dict[str, Costs] = {}
    with site(asked.kind, asked.users) as (ours, server):
        told: list[Costs] = []
        for _ in range(asked.bookings // asked.each + 1):
            ours.let_wait(asked.each)
            told.append(ours.counted(server, ours.tell))
        # What is done for the first time is left out.
        found["bookings"] = {name: sum(costs[name] for costs in told[1:]) for name in COSTS}
        ours.book_course()
        found["course"] = ours.counted(server, ours.tell)
        found["empty"] = _of_booking(ours, server, asked.runs)
        ours.tell()
        # Each booking is told by three channels.
        ours.let_wait(WAITING // 3)
        while session.change(deliveries.spread):
            pass
        found["waiting"] = _of_booking(ours, server, asked.runs)
        if asked.kind != "sqlite":  # It has one writer at a time.
            teller = threading.Thread(target=ours.tell)
            teller.start()
            found["telling"] = _of_booking(ours, server, asked.runs)
            teller.join()
    return found


def _of_booking(ours: Site, server: MailServer, runs: int) -> Costs:
    """The medians of bookings."""
    costs = [ours.counted(server, ours.book) for _ in range(runs)]
    return {name: statistics.median(each[name] for each in costs) for name in OF_BOOKING}


def run(tree: pathlib.Path, words: list[str]) -> dict[str, Costs]:
    """Measure a version in a process of its own."""
    paths = os.pathsep.join([str(tree), str(tree / "tools")])
    environment = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-W", "ignore", __file__, "--one", *words]
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Costs] = json.loads(done.stdout.splitlines()[-1])
    return found


def medians(rounds: list[dict[str, Costs]]) -> dict[str, Costs]:
    return {
        what: {name: statistics.median(each[what][name] for each in rounds) for name in costs}
        for what, costs in rounds[0].items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bookings", type=int, default=200)
    parser.add_argument("--each", type=int, default=20, help="bookings before each telling")
    parser.add_argument("--users", type=int, default=10)
    parser.add_argument("--runs", type=int, default=20, help="single bookings of each kind")
    parser.add_argument("--rounds", type=int, default=3, help="of each version")
    parser.add_argument("--kind", choices=databases.KINDS, default="sqlite")
    parser.add_argument("--beside", type=pathlib.Path, help="another version's directory")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(measured(asked)))
        return
    names = ("bookings", "each", "users", "runs", "kind")
    words = [word for name in names for word in (f"--{name}", str(getattr(asked, name)))]
    versions = {"ours": TREE} | ({"beside": asked.beside.resolve()} if asked.beside else {})
    rounds: dict[str, list[dict[str, Costs]]] = {version: [] for version in versions}
    for number in range(asked.rounds):
        # In another order each time, so that no version always comes first.
        for version in sorted(versions, reverse=bool(number % 2)):
            rounds[version].append(run(versions[version], words))
    found = {version: medians(each) for version, each in rounds.items()}
    _show(asked, found)


def _show(asked: argparse.Namespace, found: dict[str, dict[str, Costs]]) -> None:
    named = {
        "bookings": f"telling of {asked.bookings} bookings, {asked.each} at a time",
        "course": f"telling of a course with {LESSONS} lessons",
        "empty": "a booking, outbox empty",
        "waiting": f"a booking, {WAITING:,} notices wait",
        "telling": f"a booking while {WAITING:,} notices are told",
    }
    recorded = {"runs": str(asked.runs), "bookings": str(asked.bookings)}
    print(f"{'':44} {'':22}" + "".join(f"{version:>10}" for version in found))
    for what, costs in found["ours"].items():
        for name in costs:
            values = [found[version][what][name] for version in found]
            ratio = ""
            if len(values) == 2 and values[0]:
                ratio = f"   beside / ours = {values[1] / values[0]:.2f}"
                recorded[f"{what}.{name}.ratio"] = f"{values[1] / values[0]:.1f}"
            recorded[f"{what}.{name}"] = f"{values[0]:.0f}"
            print(f"{named[what]:44} {name:22}" + "".join(f"{v:>10.1f}" for v in values) + ratio)
    figures.record("outbox", recorded)


if __name__ == "__main__":
    main()
