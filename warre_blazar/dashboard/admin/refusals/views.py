"""The page with refused requests of all projects."""

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from warre_blazar.dashboard import names, pages, tables


class RefusedRequestsPage(pages.PageView):
    """Requests to book or to change a reservation that a rule has refused, the latest first."""

    template_name = "flavor_reservations/admin_list.html"
    rule = "warre:refusal:list:all"
    title = gettext_lazy("Refused Requests")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        listed = self.api.refusals.page(self.number(), self.size(), all_projects=True)
        projects, users = names.projects(self.request), names.users(self.request)
        columns: dict[str, tables.Column] = {
            _("Time"): "at",
            _("Reason"): "code",
            _("Project"): lambda each: projects.get(each.project_id, each.project_id),
            _("User"): lambda each: users.get(each.user_id, each.user_id),
            _("Flavor"): "flavor",
            _("Instances"): "instance_count",
            _("Start"): "start",
            _("End"): "end",
        }
        empty = _("No request has been refused.")
        table = tables.of(self.title, listed.items, columns, empty)
        return super().get_context_data(table=table, pager=self.pager(listed), **kwargs)
