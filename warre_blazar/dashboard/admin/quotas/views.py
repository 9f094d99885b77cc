"""The page with the limits of all projects."""

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from warre_blazar.dashboard import names, pages, tables


class QuotasPage(pages.PageView):
    """How much each project may book, and how much of it the project uses."""

    template_name = "flavor_reservations/admin_list.html"
    rule = "warre:limits:get:other"
    title = gettext_lazy("Quotas")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        projects = names.projects(self.request)
        columns: dict[str, tables.Column] = {
            _("Project"): lambda each: projects.get(each.project_id, each.project_id),
            _("Reservations"): "total_reservations_used",
            _("Most reservations"): lambda each: _limit(each.max_reservations),
            _("Hours"): "total_hours_used",
            _("Most hours"): lambda each: _limit(each.max_hours),
        }
        listed, empty = self.api.limits.list(), _("No project is known yet.")
        intro = _(
            "The limits are kept in Keystone. To set those of a project, run openstack reservation "
            "quota set."
        )
        table = tables.of(self.title, listed, columns, empty)
        return super().get_context_data(intro=intro, table=table, timeless=True, **kwargs)


def _limit(limit: int) -> Any:
    return _("unlimited") if limit < 0 else limit
