"""The pages that share a reservation with another project, and that end a share."""

from typing import Any

from django import urls
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from warre_blazar.dashboard import names, pages

_RESERVATION = "horizon:project:flavor_reservations:detail"


class SharePage(pages.ActionView):
    """Lets another project boot servers in a reservation."""

    rule = "warre:share:create"
    page = _RESERVATION

    def post(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        project = request.POST.get("project", "").strip()
        self.api.shares.create(reservation_id=kwargs["ref"], project_id=project)
        return self.carried_out(_("The project may boot servers in it within a minute."))


class EndSharePage(pages.ConfirmView):
    """Ends a share, after it has asked."""

    rule = "warre:share:delete"
    title, submit = gettext_lazy("End the Share"), gettext_lazy("End it")
    said = gettext_lazy("The project can boot no more servers in it. Those that it has stay.")
    after = _RESERVATION

    def question(self) -> tuple[str, str]:
        project = self.api.shares.get(self.kwargs["share"]).project_id
        name = names.projects(self.request).get(project, project)
        question = _("Let %(project)s boot no more servers in this reservation?")
        return question % {"project": name}, urls.reverse(_RESERVATION, args=self.arguments())

    def carry_out(self) -> None:
        self.api.shares.delete(self.kwargs["share"])

    def arguments(self) -> tuple[str, ...]:
        return (self.kwargs["ref"],)
