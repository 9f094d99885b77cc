"""Tables of reservations of all projects, for operators."""

import datetime
from collections.abc import Iterable, Mapping
from typing import Any

from django import urls
from django.utils.translation import gettext as _

from warre_blazar.client import Reservation
from warre_blazar.dashboard import moments, tables
from warre_blazar.dashboard.tables import Link
from warre_blazar.dashboard.templatetags.flavor_reservations import state, titled

#: The states of reservations that aren't over.
LIVE = ("ACTIVE", "ERROR", "PENDING_CREATE", "ALLOCATED")


def of(
    reservations: Iterable[Reservation],
    projects: Mapping[str, str],
    users: Mapping[str, str],
    caption: str,
    idle: bool = False,
) -> tables.Table:
    """Return a table of reservations.

    :param projects: the names of projects, by id.
    :param users: the names of users, by id.
    :param idle: show since when each has had no server.
    """
    columns: dict[str, tables.Column] = {
        _("Reservation"): lambda each: Link(titled(each), detail(each.id)),
        _("Project"): lambda each: projects.get(each.project_id, each.project_id),
        _("User"): lambda each: users.get(each.user_id, each.user_id),
        _("Flavor"): "flavor.name",
        _("Instances"): "instance_count",
        _("Start"): "start",
        _("End"): "end",
        _("State"): lambda each: state(each.status),
    }
    if idle:
        columns[_("Without servers since")] = "idle_since"
    else:
        columns[_("Reason")] = "status_reason"
    return tables.of(caption, reservations, columns, _("There is no reservation here."))


def met(
    documents: Iterable[Mapping[str, Any]], projects: Mapping[str, str], titles: Mapping[str, str]
) -> tables.Table:
    """Return a table of the reservations that a maintenance window meets.

    :param documents: the reservations in the API's answer, or in an error of the API.
    :param titles: how people know reservations, by id.
    """
    columns: dict[str, tables.Column] = {
        _("Reservation"): lambda each: Link(titles.get(each["id"], each["id"]), detail(each["id"])),
        _("Project"): lambda each: projects.get(each["project_id"], each["project_id"]),
        _("Flavor"): lambda each: each["flavor"]["name"],
        _("Instances"): lambda each: each["instance_count"],
        _("Start"): lambda each: datetime.datetime.fromisoformat(each["start"]),
        _("End"): lambda each: datetime.datetime.fromisoformat(each["end"]),
        _("What becomes of it"): _outcome,
    }
    caption, empty = _("Reservations in the window"), _("The window meets none.")
    return tables.of(caption, documents, columns, empty)


def _outcome(met: Mapping[str, Any]) -> str:
    """What becomes of a reservation that a window meets. The API's errors don't say it."""
    start, end = (
        moments.when(datetime.datetime.fromisoformat(met[name])) if name in met else ""
        for name in ("new_start", "new_end")
    )
    texts = {
        "moved": _("gets other hosts"),
        "postponed": _("moves to %(start)s") % {"start": start},
        "ended": _("ends at %(end)s") % {"end": end},
        "left": _("stays: %(why)s") % {"why": met.get("reason")},
    }
    return texts.get(met.get("outcome", ""), "")


def detail(ref: str) -> str:
    """Return the address of a reservation's page for operators."""
    return urls.reverse("horizon:admin:all_flavor_reservations:detail", args=(ref,))
