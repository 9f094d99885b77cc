"""The pages that show reservations of all projects to operators."""

import dataclasses
import datetime
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from warre_blazar.client import Reservation, errors, lookup
from warre_blazar.dashboard import forms as fields
from warre_blazar.dashboard import moments, names, pages, reservation_tables, servers
from warre_blazar.dashboard.project.reservations import changing
from warre_blazar.dashboard.reservation_tables import LIVE
from warre_blazar.dashboard.tables import Table

_SHOWN = [
    ("", gettext_lazy("running and coming")),
    ("all", gettext_lazy("all")),
    ("ACTIVE", gettext_lazy("running")),
    ("PENDING_CREATE,ALLOCATED", gettext_lazy("coming")),
    ("COMPLETE", gettext_lazy("over")),
    ("ERROR", gettext_lazy("failed")),
    ("deleted", gettext_lazy("deleted")),
    ("idle", gettext_lazy("running without servers")),
]

#: Those of the choices that list what is over.
_PAST = ("all", "COMPLETE", "deleted")

_SORTS = [
    (order, order)
    for name in ("start", "end", "project_id", "user_id")
    for order in (name, f"{name}:desc")
]


class ReservationsFilterForm(fields.FilterForm):
    """Which reservations are listed."""

    show = forms.ChoiceField(label=gettext_lazy("Show"), choices=_SHOWN, required=False)
    project = forms.ChoiceField(label=gettext_lazy("Project"), required=False)
    flavor = forms.ChoiceField(label=gettext_lazy("Flavor"), required=False)
    name = forms.CharField(label=gettext_lazy("Whole name"), required=False, max_length=255)
    user = forms.ChoiceField(label=gettext_lazy("User"), required=False)
    host = forms.ChoiceField(label=gettext_lazy("Host"), required=False)
    since = fields.MomentField(label=gettext_lazy("Ends after"), required=False)
    until = fields.MomentField(label=gettext_lazy("Starts before"), required=False)
    sort = forms.ChoiceField(required=False, choices=[("", ""), *_SORTS], widget=forms.HiddenInput)

    def filters(self) -> dict[str, Any]:
        """The arguments of the client of the API."""
        given = self.cleaned_data
        show = given["show"] or ",".join(LIVE)
        return {
            # What is over comes last, and the latest of it first.
            "sort": given["sort"] or ("start:desc" if show in _PAST else "start"),
            "idle": show == "idle",
            "deleted": show == "deleted",
            "status": show.split(",") if show not in ("all", "idle", "deleted") else None,
            "project_id": given["project"] or None,
            "flavor_id": given["flavor"] or None,
            "user_id": given["user"] or None,
            "name": given["name"] or None,
            "host": given["host"] or None,
            "since": fields.at(given["since"]),
            "until": fields.at(given["until"]),
        }


class AllReservationsPage(pages.PageView):
    """The reservations of all projects, by pages, with filters."""

    template_name = "flavor_reservations/admin_list.html"
    rule = "warre:reservation:list:all"
    title = gettext_lazy("All Reservations")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        projects, users = names.projects(self.request), names.users(self.request)
        flavors = self.api.flavors.list(all_projects=True)
        hosts = self.api.hosts.list() if self.may("warre:host:list") else []
        choices = {
            "project": projects,
            "user": users,
            "flavor": lookup.titles(flavors),
            "host": {each.name: each.name for each in hosts},
        }
        form = ReservationsFilterForm(self.request.GET, choices=choices)
        context = super().get_context_data(form=form, **kwargs)
        if not form.is_valid():
            return context
        filters = form.filters()
        try:
            listed = self.api.reservations.page(
                self.number(), self.size(), all_projects=True, **filters
            )
        except errors.ApiError as error:
            if error.detail.get("field") not in form.fields:
                raise
            fields.add_refusal(form, error)
            return context
        table = reservation_tables.of(
            listed.items, projects, users, _("Reservations"), filters["idle"]
        )
        table = dataclasses.replace(table, sorted_by=self._sorted_by(filters["sort"]))
        if filters["name"] and not listed.items and (similar := self._similar(filters)):
            said = _("No reservation has exactly this name. Similar names: %(names)s")
            table = dataclasses.replace(table, empty=said % {"names": ", ".join(similar)})
        return {**context, "table": table, "pager": self.pager(listed)}

    def _similar(self, filters: dict[str, Any]) -> list[str]:
        """The names that are like the one that no reservation has, among those of the filters."""
        others = self.api.reservations.list(all_projects=True, **{**filters, "name": None})
        return lookup.similar(filters["name"], sorted({each.name for each in others if each.name}))

    def _sorted_by(self, now: str) -> dict[str, str]:
        """The addresses of the list in other orders, by the header of the column."""
        heads = {"start": _("Start"), "end": _("End"), "project_id": _("Project")}
        heads |= {"user_id": _("User")}
        made = {}
        for name, head in heads.items():
            query = self.request.GET.copy()
            query["sort"] = f"{name}:desc" if now == name else name
            query.pop("page", None)
            made[head] = f"?{query.urlencode()}"
        return made


class AnyReservationPage(pages.PageView):
    """One reservation of any project, with what has happened to it."""

    template_name = "flavor_reservations/admin_reservation.html"
    rule = "warre:reservation:list:all"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        found = self.api.reservations.get(kwargs["ref"], log=True)
        projects, users = names.projects(self.request), names.users(self.request)
        user = found.user_id or ""
        context = super().get_context_data(
            it=found,
            project=projects.get(found.project_id, found.project_id),
            user=users.get(user, user),
            servers=servers.of(self.api, found),
            hosts=self._hosts(found),
            live=found.status in LIVE,
            running=found.status == "ACTIVE",
            may_change=self.may("warre:reservation:update"),
            may_end=self.may("warre:reservation:delete"),
            table=_log(found.log or [], users),
            **kwargs,
        )
        return {**context, "page_title": _("Reservation")}

    def _hosts(self, found: Reservation) -> str:
        """The names of the hosts that the reservation is on, for those who may see hosts."""
        if found.status not in LIVE or not self.may("warre:host:list"):
            return ""
        hosts = self.api.hosts.list(start=found.start, end=found.end)
        on = [h.name for h in hosts if found.id in {r["id"] for r in h.document["reservations"]}]
        return ", ".join(on)


def _log(entries: list[dict[str, Any]], users: dict[str, str]) -> Table:
    rows = [
        [
            datetime.datetime.fromisoformat(entry["at"]),
            users.get(entry["user_id"] or "", entry["user_id"]),
            entry["change"],
            _values(entry["before"]),
            _values(entry["after"]),
        ]
        for entry in entries
    ]
    headers = (_("Time"), _("User"), _("Change"), _("Before"), _("After"))
    return Table(_("What has happened"), headers, rows, _("Nothing has been recorded."))


#: The values of changes that are moments.
_MOMENTS = ("start", "end", "idle_counted_from", "ends_at")


def _values(values: dict[str, Any] | None) -> str:
    return ", ".join(
        f"{name}: {moments.when(datetime.datetime.fromisoformat(value))}"
        if name in _MOMENTS and value
        else f"{name}: {value}"
        for name, value in (values or {}).items()
    )


class AnyChangePage(changing.ChangePage):
    """Changes a reservation of any project."""

    rule = AnyReservationPage.rule
    page = "horizon:admin:all_flavor_reservations:detail"


class AnyEndPage(changing.EndPage):
    """Ends or deletes a reservation of any project, after it has named its servers."""

    rule = AnyReservationPage.rule
    page, after = AnyChangePage.page, "horizon:admin:all_flavor_reservations:index"
