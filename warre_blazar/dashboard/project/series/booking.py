"""The pages that book a series, and further reservations of a series."""

import datetime
import functools
from typing import Any

from django import forms
from django.contrib import messages
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from warre_blazar.client import Flavor, Series, errors, lookup
from warre_blazar.dashboard import addresses, moments, pages
from warre_blazar.dashboard import forms as fields
from warre_blazar.dashboard.project.series import rules, verdicts, views

#: At most so many reservations that couldn't be booked are named in the message.
_NAMED = 5


class SeriesForm(fields.BookingForm):
    """What is booked, and when."""

    flavor = forms.ChoiceField(label=gettext_lazy("Flavor"))
    count = fields.count(initial=1)
    start = fields.LocalMomentField(label=gettext_lazy("First start"))
    timezone = fields.zone(
        label=gettext_lazy("Time zone of the start"),
        help_text=gettext_lazy(
            "All start at the same time of day in this zone, also when the clocks change."
        ),
    )
    hours = fields.hours(initial=2)
    repeat = forms.ChoiceField(label=gettext_lazy("Repeat"), choices=rules.CHOICES)
    days = forms.MultipleChoiceField(
        label=gettext_lazy("On"),
        choices=rules.DAYS,
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=gettext_lazy(
            "For every week or every two weeks. The day of the first start must be one of them. If "
            "you choose none, it is the only one."
        ),
    )
    ends = forms.ChoiceField(label=gettext_lazy("Ends"), choices=rules.ENDS)
    times = forms.IntegerField(
        label=gettext_lazy("How many times"),
        min_value=1,
        max_value=100_000,
        required=False,
        initial=12,
        help_text=gettext_lazy("Only if it ends after a number of times."),
    )
    until = fields.DayField(
        label=gettext_lazy("Last day"),
        required=False,
        help_text=gettext_lazy("Only if it ends on a day."),
    )
    rule = forms.CharField(
        label=gettext_lazy("My own rule"),
        required=False,
        max_length=255,
        help_text=gettext_lazy(
            "Only if it repeats by your own rule. Write a rule as in RFC 5545, such as "
            "FREQ=WEEKLY;BYDAY=MO,WE;COUNT=24. It ends by its own COUNT or UNTIL."
        ),
    )
    exdates = fields.days_left_out()
    all_or_none = forms.BooleanField(
        label=gettext_lazy("Book all of them or none"),
        required=False,
        help_text=gettext_lazy("Otherwise, those that can be booked are booked."),
    )
    field_order = (
        *("flavor", "count", "start", "timezone", "hours", "repeat", "days", "ends", "times"),
        *("until", "rule", "exdates", "all_or_none"),
    )

    def __init__(self, *args: Any, flavors: list[Flavor], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["flavor"].choices = [*lookup.titles(flavors).items()]

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or self.cleaned_data
        if given.get("repeat") == "own":
            if not given.get("rule"):
                self.add_error("rule", _("Write the rule, or choose how it repeats."))
        elif given.get("ends") == "after" and given.get("until"):
            self.add_error("until", _("Leave this empty, or choose that it ends on a day."))
        elif given.get("ends") == "after" and given.get("times", 0) is None:
            self.add_error("times", _("Say how many times, or choose that it ends on a day."))
        elif given.get("ends") == "on" and given.get("until", 0) is None:
            self.add_error("until", _("Say the last day, or choose after how many times it ends."))
        return given

    def values(self) -> dict[str, Any]:
        """The arguments of the client of the API, but the flavor."""
        given = self.cleaned_data
        end = given["times"] if given["ends"] == "after" else given["until"]
        own = given["repeat"] == "own"
        return {
            "start": given["start"],
            "timezone": given["timezone"],
            "length": fields.length(given["hours"]),
            "rrule": given["rule"] if own else rules.rule(given["repeat"], given["days"], end),
            "count": given["count"],
            "all_or_none": given["all_or_none"],
            "exdates": given["exdates"],
            **self.labels(),
        }


class _BookingPage(pages.CheckedFormView):
    """Books reservations of a series. What the API would answer is shown before."""

    template_name = "flavor_reservations/series_form.html"
    verdict_template = "flavor_reservations/_series_verdict.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(verdict_template=self.verdict_template, **kwargs)

    def submit(self, form: Any) -> Any:
        """Do what the valid form says. If only some can be booked, ask first."""
        if "check" in self.request.POST:
            return self.shown(form)
        verdict = self.verdict(form)
        left = verdict.get("left") if verdict.get("bookable") else 0
        if left and self.request.POST.get("all_but") != str(left):
            return self.shown(form, verdict=verdict)
        return self.carry_out(form)

    def booked(self, series: Series) -> Any:
        """Say what couldn't be booked, on the page of the series."""
        if left := series.refused:
            starts = [moments.when(span.start) for span in map(verdicts.span, left[:_NAMED])]
            text = ngettext(
                "%(count)d reservation couldn't be booked: %(starts)s.",
                "%(count)d reservations couldn't be booked, the first of them: %(starts)s.",
                len(left),
            )
            values = {"count": len(left), "starts": ", ".join(starts)}
            messages.warning(self.request, text % values)
        where = "horizon:project:reservation_series:detail"
        text = _("The series is booked.")
        return self.done(f"{text} {_extent(series)}", where, series.id)

    def refused(self, form: Any, error: errors.ApiError) -> Any:
        fields.add_refusal(form, error)
        left = error.detail.get("refused")
        return self.shown(form, verdict=verdicts.of_refused(left) if left else None)


def _extent(series: Series) -> str:
    """Return a sentence about the number of reservations that a series has now, and the last one.

    :returns: "" if it has none.
    """
    starts = [verdicts.span(each).start for each in series.reservations]
    if not starts:
        return ""
    text = ngettext(
        "It has %(count)d reservation, which starts on %(last)s.",
        "It has %(count)d reservations. The last one starts on %(last)s.",
        len(starts),
    )
    return text % {"count": len(starts), "last": moments.when(max(starts))}


class CreateSeriesPage(_BookingPage):
    """Books a series."""

    rule = "warre:series:create"
    title = gettext_lazy("Book a Series")
    form_class = SeriesForm

    def form_arguments(self) -> dict[str, Any]:
        return {"flavors": self.api.flavors.list()}

    def initial(self) -> dict[str, Any]:
        return {"timezone": self.zone}

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        back = addresses.of("project:reservation_series:index")
        return super().get_context_data(**kwargs, submit=_("Book the series"), back=back)

    def carry_out(self, form: SeriesForm) -> Any:
        return self.booked(self.api.series.create(form.cleaned_data["flavor"], **form.values()))

    def verdict(self, form: SeriesForm) -> dict[str, Any]:
        flavor = form.cleaned_data["flavor"]
        return verdicts.asked(lambda: self.api.series.try_create(flavor, **form.values()))


class ExtensionForm(fields.BaseForm):
    """How many further reservations are booked, or until when, and what is left out."""

    more = forms.IntegerField(
        label=gettext_lazy("Further reservations"),
        min_value=1,
        max_value=100_000,
        initial=1,
        required=False,
    )
    until = fields.DayField(
        label=gettext_lazy("Last day"),
        required=False,
        help_text=gettext_lazy("In place of a number: all until this day."),
    )
    exdates = fields.days_left_out()

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or self.cleaned_data
        number, day = given.get("more"), given.get("until")
        if not self.errors and (number is None) == (day is None):
            self.add_error("until", _("Say a number or the last day, and leave the other empty."))
        return given

    def values(self) -> dict[str, Any]:
        """The arguments of the client of the API."""
        day = self.cleaned_data["until"]
        end = day and datetime.datetime.combine(day, datetime.time(23, 59))
        return {**self.cleaned_data, "until": end}


class ExtendSeriesPage(_BookingPage):
    """Books further reservations of a series, by the same rule."""

    rule = "warre:series:update"
    title = gettext_lazy("Extend the Series")
    form_class = ExtensionForm

    @functools.cached_property
    def series(self) -> Series:
        """The series, as the API shows it."""
        return self.api.series.get(self.kwargs["ref"])

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        back, rule = views.detail(self.series.id), rules.words(self.series.rrule)
        return super().get_context_data(
            **kwargs, it=self.series, rule=rule, submit=_("Extend"), back=back
        )

    def carry_out(self, form: ExtensionForm) -> Any:
        return self.booked(self.api.series.extend(self.series.id, **form.values()))

    def verdict(self, form: ExtensionForm) -> dict[str, Any]:
        return verdicts.asked(lambda: self.api.series.try_extend(self.series.id, **form.values()))


class MissingPage(_BookingPage):
    """Books the reservations of a series that couldn't be booked before."""

    rule = "warre:series:update"
    title = gettext_lazy("Book What Is Missing")
    form_class = fields.BaseForm

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        back = views.detail(self.kwargs["ref"])
        return super().get_context_data(**kwargs, submit=_("Book what is missing"), back=back)

    def carry_out(self, form: fields.BaseForm) -> Any:
        return self.booked(self.api.series.extend(self.kwargs["ref"], missing=True))

    def verdict(self, form: fields.BaseForm) -> dict[str, Any]:
        return verdicts.asked(lambda: self.api.series.try_extend(self.kwargs["ref"], missing=True))
