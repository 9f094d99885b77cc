"""Tables of reservations of all projects, for operators."""

import datetime
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django import urls
from django.utils.translation import gettext as _

from warre_blazar.client import Reservation
from warre_blazar.dashboard import moments
from warre_blazar.dashboard.tables import Link, Table
from warre_blazar.dashboard.templatetags.flavor_reservations import state


def of(
    reservations: Iterable[Reservation],
    projects: Mapping[str, str],
    users: Mapping[str, str],
    caption: str,
    idle: bool = False,
) -> Table:
    """Return a table of reservations.

    :param projects: the names of projects, by id.
    :param users: the names of users, by id.
    :param idle: show since when each has had no server.
    """
    headers = [
        *(_("Reservation"), _("Project"), _("User"), _("Flavor"), _("Instances"), _("Start")),
        *(_("End"), _("State")),
        _("Without servers since") if idle else _("Reason"),
    ]
    rows = [_row(each, projects, users, idle) for each in reservations]
    return Table(caption, headers, rows, _("There is no reservation here."))


def _row(
    each: Reservation, projects: Mapping[str, str], users: Mapping[str, str], idle: bool
) -> Sequence[Any]:
    user = each.user_id or ""
    return [
        Link(each.name or each.id, detail(each.id)),
        projects.get(each.project_id, each.project_id),
        users.get(user, user),
        each.flavor.name,
        each.instance_count,
        each.start,
        each.end,
        state(each.status),
        each.idle_since if idle else each.status_reason,
    ]


def met(documents: Iterable[Mapping[str, Any]], projects: Mapping[str, str]) -> Table:
    """Return a table of the reservations that a maintenance window meets.

    :param documents: the reservations in the API's answer, or in an error of the API.
    """
    headers = (
        *(_("Reservation"), _("Project"), _("Flavor"), _("Instances"), _("Start"), _("End")),
        _("What becomes of it"),
    )
    rows = [
        [
            Link(each["id"], detail(each["id"])),
            projects.get(each["project_id"], each["project_id"]),
            each["flavor"]["name"],
            each["instance_count"],
            *(datetime.datetime.fromisoformat(each[name]) for name in ("start", "end")),
            _outcome(each),
        ]
        for each in documents
    ]
    return Table(_("Reservations in the window"), headers, rows, _("The window meets none."))


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
