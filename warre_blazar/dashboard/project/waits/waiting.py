"""The pages that begin and cancel a wait."""

from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from warre_blazar.client import Flavor, lookup
from warre_blazar.dashboard import addresses, pages
from warre_blazar.dashboard import forms as fields
from warre_blazar.dashboard.project.waits import views

#: What the values of the field ``what`` begin with.
_FLAVOR, _KIND = "flavor:", "kind:"


class WaitForm(fields.BookingForm):
    """What somebody waits for."""

    what = forms.ChoiceField(label=gettext_lazy("Wait for"))
    hours = fields.hours(initial=24)
    count = fields.count(initial=1)
    earliest = fields.MomentField(
        label=gettext_lazy("Not before"),
        required=False,
        help_text=gettext_lazy("If you leave it empty, the reservation can start at once."),
    )
    latest = fields.MomentField(
        label=gettext_lazy("Done by"),
        required=False,
        help_text=gettext_lazy(
            "The reservation ends by then. If you leave it empty, that is in 90 days."
        ),
    )
    mode = forms.ChoiceField(
        label=gettext_lazy("When there is room"),
        choices=[
            ("book", gettext_lazy("book it for me")),
            ("tell", gettext_lazy("only send me a message")),
        ],
    )
    expires_at = fields.MomentField(
        label=gettext_lazy("Give up at"),
        required=False,
        help_text=gettext_lazy(
            "If you leave it empty, you wait for as long as the reservation can still be done."
        ),
    )
    field_order = ("what", "hours", "count", "earliest", "latest", "mode", "expires_at")

    def __init__(self, *args: Any, flavors: list[Flavor], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        titles = lookup.titles(flavors)
        kinds = sorted({each.category for each in flavors if each.category})
        self.fields["what"].choices = [
            (_("One flavor"), [(f"{_FLAVOR}{key}", title) for key, title in titles.items()]),
            (_("Any flavor of a kind"), [(f"{_KIND}{kind}", kind) for kind in kinds]),
        ]

    def values(self, zone: str) -> dict[str, Any]:
        """The arguments of the client of the API.

        :param zone: the user's time zone, in which messages then also show times.
        """
        given = self.cleaned_data
        what = given["what"]
        target = (
            {"flavor": what.removeprefix(_FLAVOR)}
            if what.startswith(_FLAVOR)
            else {"category": what.removeprefix(_KIND)}
        )
        return {
            **target,
            "length": fields.length(given["hours"]),
            "count": given["count"],
            **{name: fields.at(given[name]) for name in ("earliest", "latest", "expires_at")},
            "mode": given["mode"],
            "timezone": zone,
            **self.labels(),
        }


class CreateWaitPage(pages.FormView):
    """Waits until a flavor, or any flavor of a kind, can be booked."""

    template_name = "flavor_reservations/form.html"
    rule = "warre:wait:create"
    title = gettext_lazy("Wait for Room")
    form_class = WaitForm

    def form_arguments(self) -> dict[str, Any]:
        return {"flavors": self.api.flavors.list()}

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        intro = _(
            "Waits are served in line. Somebody who books directly at the right moment can be "
            "faster. Your project's quota is checked when there is room."
        )
        back = addresses.of("project:reservation_waits:index")
        more = {"intro": intro, "submit": _("Wait"), "back": back, "show_zone": True}
        return super().get_context_data(**kwargs, **more)

    def submit(self, form: WaitForm) -> Any:
        made = self.api.waits.create(**form.values(self.zone))
        text = _("You wait for %(what)s.") % {"what": views.goal(made)}
        return self.done(text, "horizon:project:reservation_waits:detail", made.id)


def address(flavor: str | None = None, category: str | None = None, **values: Any) -> str:
    """Return the address of the form that waits for a flavor or a category.

    :param values: the values of the form's other fields.
    """
    what = f"{_FLAVOR}{flavor}" if flavor else f"{_KIND}{category}" if category else None
    return addresses.of("project:reservation_waits:create", what=what, **values)


class CancelWaitPage(pages.ConfirmView):
    """Cancels a wait, after it has asked."""

    rule = "warre:wait:delete"
    title, submit = gettext_lazy("Cancel the Wait"), gettext_lazy("Cancel the wait")
    keep = gettext_lazy("Go on waiting")
    said = gettext_lazy("The wait is canceled.")
    after = "horizon:project:reservation_waits:index"

    def question(self) -> tuple[str, str]:
        wait = self.api.waits.get(self.kwargs["ref"])
        return _("Stop waiting for %(what)s?") % {"what": views.goal(wait)}, views.detail(wait.id)

    def carry_out(self) -> None:
        self.api.waits.delete(self.kwargs["ref"])
