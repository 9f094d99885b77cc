"""The page with refused requests of all projects."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from warre_blazar import texts
from warre_blazar.client import lookup
from warre_blazar.dashboard import forms as fields
from warre_blazar.dashboard import names, pages, tables, verdicts


class RefusalsFilterForm(fields.FilterForm):
    """Which refused requests are listed."""

    code = forms.ChoiceField(label=gettext_lazy("Reason"), required=False)
    project_id = forms.ChoiceField(label=gettext_lazy("Project"), required=False)
    user_id = forms.ChoiceField(label=gettext_lazy("User"), required=False)
    flavor_id = forms.ChoiceField(label=gettext_lazy("Flavor"), required=False)

    def __init__(self, *args: Any, choices: Mapping[str, Mapping[str, str]], **kwargs: Any) -> None:
        codes = {code: verdicts.brief(code) for code in texts.BRIEF}
        super().__init__(*args, choices={"code": codes, **choices}, **kwargs)


class RefusedRequestsPage(pages.PageView):
    """Requests to book or to change a reservation that a rule has refused, the latest first."""

    template_name = "flavor_reservations/admin_list.html"
    rule = "warre:refusal:list:all"
    title = gettext_lazy("Refused Requests")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        projects, users = names.projects(self.request), names.users(self.request)
        flavors = lookup.titles(self.api.flavors.list(all_projects=True))
        choices = {"project_id": projects, "user_id": users, "flavor_id": flavors}
        form = RefusalsFilterForm(self.request.GET, choices=choices)
        if not form.is_valid():
            return super().get_context_data(form=form, **kwargs)
        filters = {name: value for name, value in form.cleaned_data.items() if value}
        listed = self.api.refusals.page(self.number(), self.size(), all_projects=True, **filters)
        columns: dict[str, tables.Column] = {
            _("Time"): "at",
            _("Reason"): lambda each: verdicts.brief(each.code),
            _("Project"): lambda each: projects.get(each.project_id, each.project_id),
            _("User"): lambda each: users.get(each.user_id, each.user_id),
            _("Flavor"): "flavor",
            _("Instances"): "instance_count",
            _("Start"): "start",
            _("End"): "end",
        }
        empty = _("No request has been refused.")
        table = tables.of(self.title, listed.items, columns, empty)
        return super().get_context_data(form=form, table=table, pager=self.pager(listed), **kwargs)
