"""The pages that show the project's reservations."""

from typing import Any

from django import http
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from warre_blazar.client import Reservation, calendar_file, times
from warre_blazar.dashboard import names, pages, servers

#: The parts of the list: their names in addresses, what people read, the states in them, and how
#: they are sorted. What runs has begun earlier than what comes.
_PARTS = {
    "live": (
        gettext_lazy("Running and coming"),
        ["ACTIVE", "ERROR", "PENDING_CREATE", "ALLOCATED"],
        "start",
    ),
    "past": (gettext_lazy("Over"), ["COMPLETE"], "end:desc"),
}


class MyReservationsPage(pages.PageView):
    """The project's reservations: what runs, what comes, and what was."""

    template_name = "flavor_reservations/mine.html"
    rule = "warre:reservation:list"
    title = gettext_lazy("My Reservations")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        chosen = self.request.GET.get("part")
        chosen = chosen if chosen in _PARTS else "live"
        _name, states, sort = _PARTS[chosen]
        listed = self.api.reservations.page(self.number(), self.size(), status=states, sort=sort)
        return super().get_context_data(
            parts=[(key, name, key == chosen) for key, (name, _s, _o) in _PARTS.items()],
            part=chosen,
            now=pages.now(),
            items=[
                {
                    "it": each,
                    "left": each.end - pages.now(),
                    "servers": inside,
                    "full": not servers.places_left(each, inside),
                }
                for each in listed.items
                for inside in [servers.of(self.api, each)]
            ],
            pager=self.pager(listed),
            messages_on=self.api.messages.get().enabled,
            may_change=self.may("warre:reservation:update"),
            may_subscribe=self.may("warre:calendar:create"),
            **kwargs,
        )


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
            live=found.status in ("PENDING_CREATE", "ALLOCATED", "ACTIVE", "ERROR"),
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
