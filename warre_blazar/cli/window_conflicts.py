"""Lists the reservations during a maintenance window."""

import datetime
from collections.abc import Iterable, Iterator
from typing import Any

from warre_blazar.cli import base, columns, project_names, time_display, wording
from warre_blazar.client import Reservation, Span, Window, errors
from warre_blazar.client.types import Document


def line(item: Document, where: datetime.tzinfo) -> str:
    """Return a line about a reservation: its id, slots, flavor, time and project."""
    span = Span.of(item)
    start, end = (time_display.brief(moment, where) for moment in (span.start, span.end))
    project = item.get("project") or item["project_id"]
    slots = f"{wording.slots(item['instance_count'])} of {item['flavor']}"
    return f"{item['id']}  {slots}  {start} to {end}  project {project}"


def refused(command: base.Command, error: errors.ApiError) -> list[str]:
    """Return a line for each reservation because of which the API refused a window."""
    reservations = error.detail["reservations"]
    flat = [{**item, "flavor": item["flavor"]["name"]} for item in reservations]
    return [f"  {line(item, command.where)}" for item in _with_project_names(command, flat)]


def met(command: base.Command, window: Window) -> columns.ShownColumn:
    """Return the reservations that a window met. A table says what became of each."""
    return columns.lines(command.zoned_all(window.reservations), met_lines(command, window))


def met_lines(command: base.Command, window: Window) -> list[str]:
    """Return a line for each reservation that a window met: what became of it, and why."""
    flat = [{**item, "flavor": item["flavor"]["name"]} for item in window.reservations]
    return [
        f"{item['outcome']:<9}  {line(item, command.where)}{_after(item, command.where)}"
        for item in _with_project_names(command, flat)
    ]


def _after(item: Document, where: datetime.tzinfo) -> str:
    if item["reason"]:
        return f": {item['reason']}"
    if item["outcome"] == "moved":
        return ""
    new = Span.of({"start": item["new_start"], "end": item["new_end"]})
    start, end = (time_display.brief(moment, where) for moment in (new.start, new.end))
    return f", now {start} to {end}"


def within(command: base.Command, window: Window) -> columns.ShownColumn | None:
    """Return the reservations of a window's flavors, or on its hosts, during the window.

    The result is None if the API refuses to list them, as it does for users.
    """
    try:
        found = {item.id: item for item in _booked(command, window)}
    except errors.ClientError:
        return None
    listed = sorted(found.values(), key=lambda item: (item.start, item.id))
    documents = [_document(item) for item in listed]
    shown = _with_project_names(command, documents)
    return columns.lines(command.zoned_all(shown), (line(item, command.where) for item in shown))


def _booked(command: base.Command, window: Window) -> Iterator[Reservation]:
    """Yield the reservations during a window. One that is on several hosts may come repeatedly."""
    during: dict[str, Any] = {"since": window.start, "until": window.end, "all_projects": True}
    flavors = {flavor.id for flavor in window.flavors}
    if flavors:
        only = min(flavors) if len(flavors) == 1 else None
        for item in command.v2.reservations.list(flavor_id=only, **during):
            if item.flavor.id in flavors:
                yield item
    for host_id, _ in window.hosts:
        yield from command.v2.reservations.list(host=host_id, **during)


def _document(item: Reservation) -> Document:
    names = ("id", "instance_count", "start", "end", "status", "project_id")
    return {**{name: item.document[name] for name in names}, "flavor": item.flavor.name}


def _with_project_names(
    command: base.Command, documents: Iterable[Document]
) -> list[dict[str, Any]]:
    """Return the documents with the names of the projects, as far as Keystone shows the names."""
    items = list(documents)
    names = project_names.names(command, (item["project_id"] for item in items))
    return [
        {**item, **({"project": names[item["project_id"]]} if item["project_id"] in names else {})}
        for item in items
    ]
