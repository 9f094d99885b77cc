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


class RevokeAccessPage(pages.ConfirmView):
    """Withdraws a project's right, after it has asked."""

    rule = "warre:flavorproject:delete"
    title, submit = gettext_lazy("Revoke the Right to Book"), gettext_lazy("Revoke")
    said = gettext_lazy("The project can't book the flavor any more. Its reservations stay.")
    after = _FLAVOR

    def question(self) -> tuple[str, str]:
        flavor = self.api.flavors.get(self.kwargs["ref"])
        rights = {each.id: each.project_id for each in self.api.access.list(flavor_id=flavor.id)}
        project = rights.get(self.kwargs["access"])
        if project is None:
            raise errors.NotFound(_("The project may not book the flavor any more."), 404)
        question = _("Let %(project)s no longer book %(flavor)s? Its reservations stay.")
        name = names.projects(self.request).get(project, project)
        back = urls.reverse(_FLAVOR, args=(flavor.id,))
        return question % {"project": name, "flavor": flavor.name}, back

    def carry_out(self) -> None:
        self.api.access.revoke(self.kwargs["access"])

    def arguments(self) -> tuple[str, ...]:
        return (self.kwargs["ref"],)
