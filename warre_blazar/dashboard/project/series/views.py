"""The pages that show series of reservations."""

import datetime
from typing import Any

from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from warre_blazar.client import Series, Span
from warre_blazar.dashboard import addresses, pages
from warre_blazar.dashboard.project.series import rules
from warre_blazar.dashboard.project.waits import waiting
from warre_blazar.dashboard.tables import Link, Table
from warre_blazar.dashboard.templatetags.flavor_reservations import hours

#: So many letters of a name are shown in the list.
_SHOWN = 40
#: What people read in place of the API's names of states.
_STATES = {
    "booking": gettext_lazy("being booked"),
    "undoing": gettext_lazy("being deleted"),
    "ending": gettext_lazy("being ended"),
    "booked": gettext_lazy("booked"),
    "ended": gettext_lazy("ended"),
}
#: The same of what has no reservation.
_MISSING_STATES = {
    "planned": gettext_lazy("about to be booked"),
    "missing": gettext_lazy("not booked"),
    "dropped": gettext_lazy("dropped"),
}
#: The states of reservations that haven't begun.
_COMING = ("PENDING_CREATE", "ALLOCATED")


class AllSeriesPage(pages.PageView):
    """The project's series, the latest first."""

    template_name = "flavor_reservations/project_list.html"
    rule = "warre:series:list"
    title = gettext_lazy("Series")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        listed = self.api.series.page(self.number(), self.size())
        create = addresses.of("project:reservation_series:create")
        return super().get_context_data(
            intro=_(
                "A series is a number of reservations that take place regularly, such as the "
                "lessons of a course."
            ),
            create=Link(_("Book a series"), create) if self.may("warre:series:create") else None,
            table=_table(listed.items),
            pager=self.pager(listed),
            **kwargs,
        )


def _table(listed: tuple[Series, ...]) -> Table:
    headers = (
        *(_("Series"), _("Flavor"), _("Instances"), _("First start"), _("Hours each")),
        *(_("Rule"), _("State")),
    )
    rows = [
        [
            Link(Truncator(each.name or each.id).chars(_SHOWN), detail(each.id)),
            each.flavor["name"],
            each.instance_count,
            first_start(each),
            hours(each.hours),
            _("%(rule)s (cut off)") % {"rule": rules.words(each.rrule)}
            if each.cut_off
            else rules.words(each.rrule),
            _state(each),
        ]
        for each in listed
    ]
    return Table(_("Series of your project"), headers, rows, _("Your project has no series."))


def _state(item: Series) -> Any:
    state = _STATES.get(item.status, item.status)
    if item.status != "booked" or not item.unbooked:
        return state
    return _("%(state)s, %(count)d missing") % {"state": state, "count": item.unbooked}


def detail(ref: str) -> str:
    """Return the address of the page of a series."""
    return addresses.of("project:reservation_series:detail", ref)


def first_start(series: Series) -> str:
    """Return the local start of the first reservation, with its zone."""
    return f"{series.start:%Y-%m-%d %H:%M} {series.timezone}"


class SeriesPage(pages.PageView):
    """One series, with its reservations."""

    template_name = "flavor_reservations/series.html"
    rule = "warre:series:get"
    title = gettext_lazy("Series")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        found = self.api.series.get(kwargs["ref"])
        may_extend = found.status == "booked" and self.may("warre:series:update")
        may_wait = self.may("warre:wait:create")
        may_drop = self.may("warre:reservation:delete")
        booked = [
            {
                "id": each["id"],
                "status": each["status"],
                "span": Span.of(each),
                "drop": may_drop and each["status"] in _COMING,
            }
            for each in found.reservations
        ]
        return super().get_context_data(
            it=found,
            first=first_start(found),
            state=_STATES.get(found.status, found.status),
            rule=rules.words(found.rrule),
            booked=booked,
            missing=[
                {**_missing(each), "wait": may_wait and _wait(found, each)}
                for each in found.missing
            ],
            may_retry=may_extend and any(map(_may_be_booked, found.missing)),
            may_extend=may_extend,
            may_end=found.status == "booked" and self.may("warre:series:delete"),
            **kwargs,
        )


def _missing(item: dict[str, Any]) -> dict[str, Any]:
    deleted = item["deleted_at"]
    return {
        "span": Span.of(item),
        "state": _MISSING_STATES.get(item["state"], item["state"]),
        "reason": item["message"],
        "deleted_at": datetime.datetime.fromisoformat(deleted) if deleted else None,
    }


def _wait(series: Series, item: dict[str, Any]) -> str | None:
    """The address of the form that waits for a reservation that couldn't be booked."""
    if not _may_be_booked(item):
        return None
    span, same = Span.of(item), ("contact", "note", "name")
    return waiting.address(
        series.flavor["id"],
        hours=series.hours,
        count=series.instance_count,
        earliest=span.start,
        latest=span.end,
        **{name: getattr(series, name) for name in same},
    )


def _may_be_booked(item: dict[str, Any]) -> bool:
    return item["state"] == "missing" and Span.of(item).start > pages.now()
