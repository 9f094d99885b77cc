"""The page with the usage of all projects."""

from typing import Any

from django import forms
from django.utils import timezone
from django.utils.translation import gettext_lazy

from warre_blazar.dashboard import forms as fields
from warre_blazar.dashboard import moments, names, pages, usages


class UsageForm(fields.BaseForm):
    """The time and the lines of the report."""

    by = forms.ChoiceField(
        label=gettext_lazy("One line for each"),
        choices=[
            ("project", gettext_lazy("project")),
            ("flavor", gettext_lazy("flavor")),
            ("user", gettext_lazy("user")),
            ("week", gettext_lazy("week")),
            ("month", gettext_lazy("month")),
        ],
    )
    since = fields.DayField(label=gettext_lazy("From"))
    until = fields.DayField(label=gettext_lazy("To"))


class AllUsagePage(pages.PageView):
    """What became of the instances that all projects have booked."""

    template_name = "flavor_reservations/admin_usage.html"
    rule = "warre:usage:get:other"
    title = gettext_lazy("Usage")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        given, today = self.request.GET, moments.today()
        defaults = {
            "by": "project",
            "since": today.replace(day=1).isoformat(),
            "until": today.isoformat(),
        }
        form = UsageForm({name: given.get(name, value) for name, value in defaults.items()})
        context = super().get_context_data(form=form, **kwargs)
        if not form.is_valid():
            return context
        wanted = form.cleaned_data
        since, until = (moments.midnight(wanted[name]) for name in ("since", "until"))
        # The last day is included.
        until = min(until + usages.DAY, pages.now())
        if until <= since:
            form.add_error(
                "until", gettext_lazy("This day is before the first one, or comes later.")
            )
            return context
        span: dict[str, Any] = {"since": since, "until": until, "all_projects": True}
        span["timezone"] = timezone.get_current_timezone_name()
        report = self.api.usage.get(by=wanted["by"], **span)
        known = {"project": names.projects, "user": names.users}.get(wanted["by"])
        labels = known(self.request) if known else {}
        return {
            **context,
            "table": usages.table(report, str(self.title), labels),
            "chart": usages.by_day(self.api.usage.get(by="day", **span)),
        }
