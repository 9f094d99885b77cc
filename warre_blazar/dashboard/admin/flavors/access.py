"""Grants and revokes the right to book a private flavor, and goes back to the flavor's page."""

from typing import Any

from django import urls
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from warre_blazar.client import errors
from warre_blazar.dashboard import names, pages

_FLAVOR = "horizon:admin:reservable_flavors:detail"


class GrantAccessPage(pages.ActionView):
    """Lets a project book a private flavor."""

    rule = "warre:flavorproject:create"
    page = _FLAVOR

    def post(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        self.api.access.grant(kwargs["ref"], request.POST.get("project", ""))
        return self.carried_out(_("The project may book the flavor now."))


class RevokeAccessPage(pages.PageView):
    """Withdraws a project's right, after it has asked."""

    template_name = "flavor_reservations/confirm.html"
    rule = "warre:flavorproject:delete"
    title = gettext_lazy("Revoke the Right to Book")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        flavor = self.api.flavors.get(kwargs["ref"])
        rights = {each.id: each.project_id for each in self.api.access.list(flavor_id=flavor.id)}
        project = rights.get(kwargs["access"])
        if project is None:
            raise errors.NotFound(_("The project may not book the flavor any more."), 404)
        question = _("Let %(project)s no longer book %(flavor)s? Its reservations stay.")
        name = names.projects(self.request).get(project, project)
        return super().get_context_data(
            **kwargs,
            question=question % {"project": name, "flavor": flavor.name},
            submit=_("Revoke"),
            back=urls.reverse(_FLAVOR, args=(flavor.id,)),
        )

    def post(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        self.api.access.revoke(kwargs["access"])
        text = _("The project can't book the flavor any more. Its reservations stay.")
        return self.done(text, _FLAVOR, kwargs["ref"])
