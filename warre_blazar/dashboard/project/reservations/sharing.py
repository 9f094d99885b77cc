"""The pages that share a reservation with another project, and that end a share."""

from typing import Any

from django import forms, urls
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from warre_blazar.dashboard import forms as fields
from warre_blazar.dashboard import names, pages

_RESERVATION = "horizon:project:flavor_reservations:detail"


class ShareForm(fields.BaseForm):
    """The project that may boot servers."""

    project_id = forms.CharField(label=gettext_lazy("Id of a project"))


class SharePage(pages.FormView):
    """Lets another project boot servers in a reservation.

    The form is on the page of the reservation. This one shows it again if the API refuses it.
    """

    template_name = "flavor_reservations/form.html"
    rule = "warre:share:create"
    title = gettext_lazy("Share the Reservation")
    form_class = ShareForm
    only_once = False

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        back = urls.reverse(_RESERVATION, args=(self.kwargs["ref"],))
        return super().get_context_data(**kwargs, submit=_("Let it boot servers"), back=back)

    def submit(self, form: ShareForm) -> Any:
        self.api.shares.create(reservation_id=self.kwargs["ref"], **form.cleaned_data)
        text = _("The project may boot servers in it within a minute.")
        return self.done(text, _RESERVATION, self.kwargs["ref"])


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
