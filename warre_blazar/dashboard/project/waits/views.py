"""The pages that show what the project waits for."""

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from warre_blazar.client import Wait
from warre_blazar.dashboard import addresses, pages, tables
from warre_blazar.dashboard.tables import Link
from warre_blazar.dashboard.templatetags.flavor_reservations import hours

#: The parts of the list: their names in addresses, what people read, and the states in them.
_PARTS = {
    "open": (gettext_lazy("Waiting"), "WAITING,BOOKING"),
    "over": (gettext_lazy("Over"), "BOOKED,TOLD,EXPIRED,CANCELED,REFUSED"),
}
#: What people read in place of the API's names of states.
_STATES = {
    "WAITING": gettext_lazy("waiting"),
    "BOOKING": gettext_lazy("being booked"),
    "BOOKED": gettext_lazy("booked"),
    "TOLD": gettext_lazy("told"),
    "EXPIRED": gettext_lazy("there was no room in time"),
    "CANCELED": gettext_lazy("canceled"),
    "REFUSED": gettext_lazy("refused"),
}
#: What is said if no message will come.
_NO_MESSAGE = {
    "not_sent": gettext_lazy("This cloud sends no messages, so look here whether there is room."),
    "off": gettext_lazy("Your messages are off, so you get none. Turn them on in My Reservations."),
    "no_address": gettext_lazy(
        "No email address of yours is known, so you get no message: look here whether there is "
        "room."
    ),
}


class WaitsPage(pages.PageView):
    """What the project waits for, and what it has waited for."""

    template_name = "flavor_reservations/project_list.html"
    rule = "warre:wait:list"
    title = gettext_lazy("Waiting for Room")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        chosen = self.request.GET.get("part", "open")
        chosen = chosen if chosen in _PARTS else "open"
        listed = self.api.waits.page(self.number(), self.size(), status=_PARTS[chosen][1])
        create = addresses.of("project:reservation_waits:create")
        return super().get_context_data(
            intro=_(
                "As soon as there is room, what you wait for is booked for you, or you get a "
                "message."
            ),
            parts=[(key, name, key == chosen) for key, (name, _states) in _PARTS.items()],
            create=Link(_("Wait for a flavor"), create) if self.may("warre:wait:create") else None,
            table=_table(listed.items),
            pager=self.pager(listed),
            **kwargs,
        )


def _table(waits: tuple[Wait, ...]) -> tables.Table:
    columns: dict[str, tables.Column] = {
        _("Wait"): lambda each: Link(each.name or each.id, detail(each.id)),
        _("Flavor"): goal,
        _("Instances"): "instance_count",
        _("Hours"): lambda each: hours(each.hours),
        _("Not before"): "earliest",
        _("Done by"): "latest",
        _("Position in line"): "position",
        _("State"): lambda each: _STATES.get(each.status, each.status),
    }
    caption, empty = _("Waits of your project"), _("Your project waits for nothing.")
    return tables.of(caption, waits, columns, empty)


def detail(ref: str) -> str:
    """Return the address of a wait's page."""
    return addresses.of("project:reservation_waits:detail", ref)


def goal(wait: Wait) -> str:
    """Return what somebody waits for, for people."""
    if wait.category:
        return _("any flavor of the kind %(kind)s") % {"kind": wait.category}
    return str(wait.flavor or wait.flavor_id)


class WaitPage(pages.PageView):
    """One wait, with its position in line, or with what was booked."""

    template_name = "flavor_reservations/wait.html"
    rule = "warre:wait:get"
    title = gettext_lazy("Wait")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        found = self.api.waits.get(kwargs["ref"])
        waiting = found.status == "WAITING"
        tells = waiting and found.mode == "tell"
        why_none = self.api.messages.get().why_none(found.contact) if tells else ""
        return super().get_context_data(
            it=found,
            goal=goal(found),
            state=_STATES.get(found.status, found.status),
            waiting=waiting,
            no_message=_NO_MESSAGE.get(why_none, ""),
            may_cancel=waiting and self.may("warre:wait:delete"),
            **kwargs,
        )
