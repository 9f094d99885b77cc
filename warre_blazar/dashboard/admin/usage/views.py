"""The page with the usage of all projects."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy

from warre_blazar.dashboard import names, pages, usages


class UsageForm(usages.PeriodForm):
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
    field_order = ("by",)


class AllUsagePage(pages.PageView):
    """What became of the instances that all projects have booked."""

    template_name = "flavor_reservations/admin_usage.html"
    rule = "warre:usage:get:other"
    title = gettext_lazy("Usage")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        form = UsageForm(self.request.GET, by="project")
        context = super().get_context_data(form=form, **kwargs)
        if not form.is_valid():
            return context
        by, span = form.cleaned_data["by"], {**form.span(), "all_projects": True}
        report = self.api.usage.get(by=by, **span)
        known = {"project": names.projects, "user": names.users}.get(by)
        labels = known(self.request) if known else {}
        return {
            **context,
            "table": usages.table(report, str(self.title), labels),
            "chart": usages.by_day(self.api.usage.get(by="day", **span)),
        }
