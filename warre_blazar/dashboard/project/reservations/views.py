"""The pages that show the project's reservations."""

from typing import Any

from django import forms, http
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from warre_blazar.client import Page, Reservation, calendar_file, times
from warre_blazar.dashboard import addresses, names, pages, servers
from warre_blazar.dashboard import forms as fields
from warre_blazar.dashboard.reservation_tables import LIVE

#: The parts of the list: their names in addresses, what people read, the states in them, and how
#: they are sorted. What runs has begun earlier than what comes.
_PARTS = {
    "live": (
        gettext_lazy("Running and coming"),
        LIVE,
        "start",
    ),
    "past": (gettext_lazy("Over"), ["COMPLETE"], "end:desc"),
}


class SearchForm(fields.BaseForm):
    """Which of the project's reservations are listed."""

    words = forms.CharField(label=gettext_lazy("Name or flavor"), required=False, max_length=255)
    part = forms.CharField(required=False, widget=forms.HiddenInput)


class MyReservationsPage(pages.PageView):
    """The project's reservations: what runs, what comes, and what was."""

    template_name = "flavor_reservations/mine.html"
    rule = "warre:reservation:list"
    title = gettext_lazy("My Reservations")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        chosen = self.request.GET.get("part")
        chosen = chosen if chosen in _PARTS else "live"
        form = SearchForm(self.request.GET)
        words = form.cleaned_data["words"].casefold().split() if form.is_valid() else []
        listed = self._listed(chosen, words)
        return super().get_context_data(
            parts=[(key, name, key == chosen) for key, (name, _s, _o) in _PARTS.items()],
            part=chosen,
            form=form,
            searched=words,
            now=pages.now(),
            groups=_in_groups([self._shown(each) for each in listed.items]),
            pager=self.pager(listed),
            messages_on=self.api.messages.get().enabled,
            may_end=chosen == "live" and self.may("warre:reservation:delete"),
            may_change=self.may("warre:reservation:update"),
            may_subscribe=self.may("warre:calendar:create"),
            **kwargs,
        )

    def _listed(self, part: str, words: list[str]) -> Page[Reservation]:
        """A page of a part of the list, or all of it that has some words."""
        _name, states, sort = _PARTS[part]
        if not words:
            return self.api.reservations.page(self.number(), self.size(), status=states, sort=sort)
        found = [
            each
            for each in self.api.reservations.list(status=states, sort=sort)
            if all(word in f"{each.name} {each.flavor.name}".casefold() for word in words)
        ]
        return Page(tuple(found), 1, max(len(found), 1), len(found))

    def _shown(self, each: Reservation) -> dict[str, Any]:
        inside = servers.of(self.api, each)
        return {
            "it": each,
            "left": each.end - pages.now(),
            "servers": inside,
            "full": not servers.places_left(each, inside),
        }


def _in_groups(shown: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Reservations in groups. Those of a series stand together, at the place of the first one."""
    groups: dict[str, dict[str, Any]] = {}
    for each in shown:
        it = each["it"]
        group = groups.setdefault(it.series_id or it.id, {"items": []})
        group["items"].append(each)
    for key, group in groups.items():
        first = group["items"][0]["it"]
        if first.series_id and len(group["items"]) > 1:
            group["name"] = first.name or first.flavor.name
            group["href"] = addresses.of("project:reservation_series:detail", key)
    return list(groups.values())


class ReservationPage(pages.PageView):
    """One reservation with its servers, and with what has happened to it."""

    template_name = "flavor_reservations/reservation.html"
    rule = "warre:reservation:get"
    title = gettext_lazy("Reservation")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        found = self.api.reservations.get(kwargs["ref"], log=True)
        own = not found.shared
        may_share = own and self.may("warre:share:create")
        inside = servers.of(self.api, found)
        user, known = found.user_id or "", {self.request.user.id: self.request.user.username}
        return super().get_context_data(
            it=found,
            may_share=may_share,
            shares=self.api.shares.list(reservation_id=found.id) if may_share else [],
            now=pages.now(),
            left=found.end - pages.now(),
            length=found.end - found.start,
            fewer=found.instance_count - 1,
            live=found.status in LIVE,
            running=found.status == "ACTIVE",
            servers=inside,
            full=not servers.places_left(found, inside),
            by=names.known_users(self.request, known).get(user, user),
            may_change=own and self.may("warre:reservation:update"),
            may_end=own and self.may("warre:reservation:delete"),
            may_launch=self.may("warre:reservation:update"),
            **kwargs,
        )


class MessagesSwitch(pages.ActionView):
    """Turns messages on or off for the user."""

    rule = "warre:messages:update"
    page = "horizon:project:flavor_reservations:index"

    def post(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        enabled = request.POST.get("enabled") == "yes"
        self.api.messages.update(enabled=enabled)
        text = _("You get messages from now on.") if enabled else _("You get no more messages.")
        return self.carried_out(text)


class CalendarFilePage(pages.PageView):
    """One reservation, or all of the project, as a file for calendar programs."""

    rule = "warre:reservation:list"

    def get(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        shown = self._shown(kwargs.get("ref"))
        text = calendar_file.calendar((calendar_file.title(each), each) for each in shown)
        answer = http.HttpResponse(text, content_type="text/calendar; charset=utf-8")
        answer["Content-Disposition"] = 'attachment; filename="reservations.ics"'
        return answer

    def _shown(self, ref: str | None) -> list[Reservation]:
        if ref is not None:
            return [self.api.reservations.get(ref, changes=True)]
        return self.api.reservations.of_calendar(since=pages.now() - times.PAST_IN_CALENDARS)
