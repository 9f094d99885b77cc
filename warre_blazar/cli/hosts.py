"""The command that shows hosts: whether they can be booked, how full they are, and who is there."""

import argparse
import datetime
from collections.abc import Sequence
from typing import Any

from warre_blazar.cli import arguments, base, columns, owners, time_display, times
from warre_blazar.cli.failure import Failure
from warre_blazar.client import Host
from warre_blazar.client.types import Document

_COLUMNS = ("host", "state", "full_now", "full_at_most", "reservations")
_WHY_COLUMNS = ("drained_by", "drained_at", "reason")
_LONG_COLUMNS = ("id", "availability_zone", "providers_read_at")
_RESERVATION_COLUMNS = (
    *("host", "id", "resource_type", "flavor", "project", "project_id", "user", "user_id"),
    *("status", "instance_count", "start", "end"),
)


def _taken(room: list[Document] | None) -> columns.ShownColumn:
    """Return who has taken room of a host. A table has a line for each."""
    if room is None:
        return columns.ShownColumn(room, "unknown: Nova or Placement can't be asked")
    lines = [f"{each['text']}. {each['needs']}: {each['remedy']}" for each in room]
    return columns.lines(room, lines or ["nobody"])


class ListHosts(base.ListCommand):
    """Show hosts: which can be booked, how full they are, and whose reservations are on them.

    full_now and full_at_most are the booked part of the resource of which most is booked, at this
    minute and at the fullest moment of the coming week (or of the time that --start and --end
    give). The column reservations counts the reservations of this time. Servers without a
    reservation don't count. For hosts that are named, room_taken says who holds room on them now
    without a reservation, and compute_service whether Nova boots servers there.
    """

    noun = "host"
    nouns = "hosts"

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "hosts", metavar="HOST", nargs="*", help="ID or name of a host (default: all)"
        )
        arguments.add_start(parser, "start of the time to show (default: now)")
        arguments.add_end(parser, "end of the time to show (default: a week after the start)")
        parser.add_argument(
            "--reservations",
            action="store_true",
            help="list the reservations on the hosts in this time, of all projects",
        )
        parser.add_argument("--long", action="store_true", help="show all columns")
        return parser

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        start, end = self._period(parsed_args)
        hosts = _chosen(self.v2.hosts.list(start=start, end=end), parsed_args.hosts)
        if parsed_args.reservations:
            return self._reservations(hosts)
        names = list(_COLUMNS)
        if parsed_args.hosts:
            # Who has taken room is looked up for one host at a time.
            asked = [self.v2.hosts.list(start=start, end=end, host=each.id) for each in hosts]
            hosts = [host for found in asked for host in found]
            names += ["compute_service", "room_taken"]
        if parsed_args.long or any(host.document.get("draining") for host in hosts):
            names += _WHY_COLUMNS
        if parsed_args.long:
            names += _LONG_COLUMNS
        return self.table(names, [self._row(host) for host in hosts])

    def _period(
        self, parsed_args: argparse.Namespace
    ) -> tuple[datetime.datetime | None, datetime.datetime]:
        """Return the start and the end of the time to show, and print them. No start: now."""
        now = self.now().replace(second=0, microsecond=0)
        start, end = self.times(parsed_args, now)
        length = datetime.timedelta(days=times.HOSTS_SHOWN_DAYS)
        since, until = arguments.span(start or now, end, length, self.where)
        zone = (start and start.tzinfo) or self.where
        shown = " to ".join(time_display.plain(moment, zone) for moment in (since, until))
        self.tell(f"Only reservations in this time are shown: {shown}")
        return start, until

    def _row(self, host: Host) -> Document:
        document = host.document
        drain = document.get("draining") or {}
        return {
            **document,
            "host": host.name,
            "full_now": _fullness(document, "used_now"),
            "full_at_most": _fullness(document, "used_peak"),
            "reservations": len(document["reservations"]),
            "room_taken": _taken(document.get("room_taken")),
            "drained_by": drain.get("by"),
            "drained_at": self._moment(drain.get("at")),
            "reason": drain.get("reason"),
            "providers_read_at": self._moment(document["providers_read_at"]),
        }

    def _moment(self, text: str | None) -> str | None:
        return text and time_display.iso(datetime.datetime.fromisoformat(text), self.where)

    def _reservations(self, hosts: Sequence[Host]) -> tuple[Any, Any]:
        held = [
            {**each, "host": host.name, "flavor": (each["flavor"] or {}).get("name")}
            for host in hosts
            for each in host.document["reservations"]
        ]
        return self.table(_RESERVATION_COLUMNS, owners.named(self, held))


def _chosen(hosts: Sequence[Host], refs: Sequence[str]) -> list[Host]:
    """Return the hosts with these ids or names, or all hosts if there are none.

    :raises Failure: there is no such host.
    """
    known = {name: host for host in hosts for name in (host.id, host.name)}
    for ref in refs:
        if ref not in known:
            there = ", ".join(host.name for host in hosts) or "Blazar has no hosts"
            raise Failure(f"Blazar has no host {ref!r}. There are: {there}")
    return [known[ref] for ref in refs] or list(hosts)


def _fullness(document: Document, amount: str) -> columns.ShownColumn:
    """Return the largest booked part of all resources of a host, which a table shows as 25 %."""
    parts = [r[amount] / r["capacity"] for r in document["resources"] if r["capacity"]]
    most = round(max(parts, default=0), 4)
    return columns.ShownColumn(most, f"{100 * most:.0f} %")


def of_reservation(hosts: Sequence[Host], reservation_id: str) -> dict[str, int]:
    """Return the names of the hosts that a reservation is on, each with its instances."""
    return {
        host.name: each["instance_count"]
        for host in hosts
        for each in host.document["reservations"]
        if each["id"] == reservation_id
    }
