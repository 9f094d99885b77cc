"""The page that books a flavor."""

import datetime
import functools
from typing import Any

from django import forms
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from warre_blazar.client import DryRun, errors
from warre_blazar.dashboard import addresses, moments, pages, verdicts
from warre_blazar.dashboard import forms as fields
from warre_blazar.dashboard.project.find import views
from warre_blazar.dashboard.project.waits import waiting

_MINUTE = datetime.timedelta(minutes=1)
_OTHERS_SHOWN = 5


class BookForm(fields.BookingForm):
    """What is booked of a flavor."""

    start = fields.MomentField(
        label=gettext_lazy("Start"),
        required=False,
        help_text=gettext_lazy("If you leave it empty, the reservation starts at the next minute."),
    )
    hours = fields.hours(initial=24)
    count = fields.count(initial=1)
    movable_hours = fields.movable_hours()
    #: What the user had looked for in the calendar.
    back = forms.CharField(required=False, widget=forms.HiddenInput)
    field_order = ("start", "hours", "count")

    def __init__(self, *args: Any, flavor: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not flavor.before_end_choice:
            del self.fields["before_end"]

    def booking(self, zone: str) -> dict[str, Any]:
        """The arguments of the client of the API.

        :param zone: the user's time zone, in which messages then also show times.
        """
        given = self.cleaned_data
        start = fields.at(given["start"]) or pages.now() + _MINUTE
        return {
            "start": start,
            "end": start + fields.length(given["hours"]),
            "count": given["count"],
            "timezone": zone,
            "movable_hours": given["movable_hours"],
            **self.labels(),
        }


class BookPage(pages.CheckedFormView):
    """Books a flavor. What the API would answer is shown before, also while one types."""

    template_name = "flavor_reservations/book.html"
    rule = "warre:reservation:create"
    title = gettext_lazy("Book")
    form_class = BookForm

    @functools.cached_property
    def flavor(self) -> Any:
        """The flavor, as the API shows it."""
        return self.api.flavors.get(self.kwargs["flavor"])

    def form_arguments(self) -> dict[str, Any]:
        return {"flavor": self.flavor}

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(**{**kwargs, "flavor": self.flavor})
        if self.may("warre:series:create"):
            context["regularly"] = self._regularly(context["form"])
        return context

    def _regularly(self, form: BookForm) -> str:
        """The address of the form that books the same as a series."""
        values = {name: form[name].value() for name in ("start", "hours", "count")}
        return addresses.of("project:reservation_series:create", flavor=self.flavor.id, **values)

    def carry_out(self, form: BookForm) -> Any:
        made = self.api.reservations.create(self.flavor.id, **form.booking(self.zone))
        text = _("%(flavor)s is booked from %(start)s to %(end)s.") % {
            "flavor": self.flavor.name,
            "start": moments.when(made.start),
            "end": moments.when(made.end),
        }
        return self.done(text, "horizon:project:flavor_reservations:detail", made.id)

    def refused(self, form: BookForm, error: errors.ApiError) -> Any:
        """Say why, and show what could be booked in its place, also of other flavors."""
        context = {"verdict": self.verdict(form), "others": self._others(form)}
        fields.add_refusal(form, error)
        return self.shown(form, **context)

    def verdict(self, form: BookForm) -> dict[str, Any]:
        wanted = form.booking(self.zone)
        try:
            foreseen = self.api.reservations.try_create(self.flavor.id, **wanted)
        except errors.ApiError as error:
            return {"error": error}
        return {**verdicts.of(foreseen), "instead": self._instead(form, wanted, foreseen)}

    def _instead(self, form: BookForm, wanted: dict[str, Any], foreseen: DryRun) -> list[Any]:
        """Changes of the form with which it could be booked: texts, and addresses of the form."""
        given = {name: form[name].value() for name in form.fields}
        found = []
        for text, change in verdicts.instead(foreseen, wanted["start"], form.cleaned_data):
            values = {name: value for name, value in {**given, **change}.items() if value}
            found.append((text, f"?{urlencode(values)}"))
        if foreseen.wait_start and self.may("warre:wait:create"):
            found += self._waits(form, wanted, foreseen.wait_start)
        return found

    def _waits(
        self, form: BookForm, wanted: dict[str, Any], wait_start: datetime.datetime
    ) -> list[Any]:
        """What can be waited for in place of what was refused: texts, and addresses of the form.

        :param wait_start: the first start that a wait could get.
        """
        given = form.cleaned_data
        names = ("hours", "count", *fields.BookingForm.base_fields)
        same = {name: given[name] for name in names if name in given}
        same["earliest"] = given["start"]
        later = (_("Wait for the next time with room"), waiting.address(self.flavor.id, **same))
        if given["start"] is None or wait_start > wanted["start"]:
            return [later]
        exact = waiting.address(self.flavor.id, **same, latest=wanted["end"])
        return [(_("Wait for exactly this time, in case somebody gives it back"), exact), later]

    def _others(self, form: BookForm) -> list[Any]:
        """The next offers of flavors of the same kind."""
        wanted = {**form.cleaned_data}
        now = pages.now()
        listed = self.api.offers.list(
            start=max(fields.at(wanted["start"]) or now, now),
            length=fields.length(wanted["hours"]),
            count=wanted["count"],
            category=self.flavor.category,
            limit=_OTHERS_SHOWN,
        )
        return [(offer, views.offer_address(offer, wanted, now)) for offer in listed.offers]
