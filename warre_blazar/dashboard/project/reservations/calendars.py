"""The pages with the addresses at which calendar programs read the project's reservations."""

from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from warre_blazar.client import CalendarAddress
from warre_blazar.dashboard import addresses, pages, tables
from warre_blazar.dashboard import forms as fields
from warre_blazar.dashboard.tables import Link

_PANEL = "project:flavor_reservations"


class CalendarForm(fields.BaseForm):
    """A new address."""

    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=255,
        help_text=gettext_lazy("Calendar programs show it."),
    )


class CalendarsPage(pages.FormView):
    """The addresses that the user has made, and a form that makes one."""

    template_name = "flavor_reservations/form.html"
    rule = "warre:calendar:create"
    title = gettext_lazy("Subscribe to the Calendar")
    form_class = CalendarForm

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        intro = _(
            "A calendar program that has such an address shows the reservations of your project, "
            "without a password. Whoever knows the address can read them, until you withdraw it."
        )
        back = addresses.of(f"{_PANEL}:index")
        table = _table(self.api.calendars.list())
        more = {"intro": intro, "submit": _("Make an address"), "back": back, "table": table}
        return super().get_context_data(**kwargs, **more)

    def submit(self, form: CalendarForm) -> Any:
        self.api.calendars.create(name=form.cleaned_data["name"])
        text = _("The address is made. Copy it into your calendar program.")
        return self.done(text, f"horizon:{_PANEL}:calendars")


def _table(listed: list[CalendarAddress]) -> tables.Table:
    columns: dict[str, tables.Column] = {
        _("Name"): "name",
        _("Address"): "url",
        _("Actions"): lambda each: Link(
            _("Withdraw"), addresses.of(f"{_PANEL}:withdraw_calendar", each.id)
        ),
    }
    return tables.of(_("Your addresses"), listed, columns, _("You have made no address yet."))


class WithdrawCalendarPage(pages.ConfirmView):
    """Withdraws an address, after it has asked."""

    rule = "warre:calendar:delete"
    title, submit = gettext_lazy("Withdraw the Address"), gettext_lazy("Withdraw")
    said = gettext_lazy("The address is withdrawn. Nobody can read the calendar there any more.")
    after = f"horizon:{_PANEL}:calendars"

    def question(self) -> tuple[str, str]:
        name = self.api.calendars.get(self.kwargs["calendar"]).name
        question = _("Withdraw the address of the calendar %(name)s?")
        return question % {"name": name}, addresses.of(f"{_PANEL}:calendars")

    def carry_out(self) -> None:
        self.api.calendars.delete(self.kwargs["calendar"])
