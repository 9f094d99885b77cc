"""The page with refused requests of all projects."""

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from warre_blazar.client import Refusal
from warre_blazar.dashboard import names, pages
from warre_blazar.dashboard.tables import Table


class RefusedRequestsPage(pages.PageView):
    """Requests to book or to change a reservation that a rule has refused, the latest first."""

    template_name = "flavor_reservations/admin_list.html"
    rule = "warre:refusal:list:all"
    title = gettext_lazy("Refused Requests")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        listed = self.api.refusals.page(self.number(), self.size(), all_projects=True)
        projects, users = names.projects(self.request), names.users(self.request)
        headers = (
            *(_("Time"), _("Reason"), _("Project"), _("User"), _("Flavor"), _("Instances")),
            *(_("Start"), _("End")),
        )
        rows = [_row(each, projects, users) for each in listed.items]
        table = Table(self.title, headers, rows, _("No request has been refused."))
        return super().get_context_data(table=table, pager=self.pager(listed), **kwargs)


def _row(each: Refusal, projects: dict[str, str], users: dict[str, str]) -> list[Any]:
    project, user = each.project_id or "", each.user_id or ""
    return [
        each.at,
        each.code,
        projects.get(project, project),
        users.get(user, user),
        each.flavor,
        each.instance_count,
        each.start,
        each.end,
    ]
