"""The pages that end a series, and that drop one of its reservations."""

from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from warre_blazar.dashboard import forms as fields
from warre_blazar.dashboard import moments, pages
from warre_blazar.dashboard.project.series import views


class EndForm(fields.BaseForm):
    """What is deleted beside the reservations that haven't begun."""

    running = forms.BooleanField(
        label=gettext_lazy("Also end the reservation that runs, and delete its servers"),
        required=False,
    )


class EndSeriesPage(pages.FormView):
    """Deletes the reservations of a series that haven't begun, after it has asked."""

    template_name = "flavor_reservations/form.html"
    rule = "warre:series:delete"
    title = gettext_lazy("End the Series")
    form_class = EndForm
    only_once = False

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        series = self.api.series.get(self.kwargs["ref"])
        intro = _("All reservations of %(name)s that haven't begun are deleted.")
        more = {"intro": intro % {"name": series.name or series.flavor["name"]}}
        more |= {"submit": _("End the series"), "back": views.detail(series.id)}
        return super().get_context_data(**kwargs, **more)

    def submit(self, form: EndForm) -> Any:
        running = form.cleaned_data["running"]
        finished = self.api.series.delete(self.kwargs["ref"], running=running)
        text = _("The series is ended.") if finished else _("The series is being ended.")
        return self.done(text, "horizon:project:reservation_series:detail", self.kwargs["ref"])


class DropPage(pages.PageView):
    """Deletes one reservation of a series, after it has asked. The others stay."""

    template_name = "flavor_reservations/confirm.html"
    rule = "warre:reservation:delete"
    title = gettext_lazy("Drop One Reservation")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        found = self.api.reservations.get(kwargs["ref"])
        values = {"start": moments.when(found.start), "end": moments.when(found.end)}
        question = _("Delete the reservation from %(start)s to %(end)s? The others stay.")
        return super().get_context_data(
            **kwargs,
            question=question % values,
            show_zone=True,
            submit=_("Drop it"),
            back=views.detail(kwargs["series"]),
        )

    def post(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        self.api.reservations.delete(kwargs["ref"])
        text = _("The reservation is dropped from the series.")
        return self.done(text, "horizon:project:reservation_series:detail", kwargs["series"])
