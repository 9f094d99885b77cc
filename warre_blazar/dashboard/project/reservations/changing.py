"""The pages that change and end a reservation."""

import functools
from typing import Any

from django import forms
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from warre_blazar.client import errors
from warre_blazar.dashboard import forms as fields
from warre_blazar.dashboard import moments, pages, servers, verdicts


class ChangeForm(fields.BaseForm):
    """What can be changed of a reservation."""

    start = fields.MomentField(label=gettext_lazy("Start"))
    end = fields.MomentField(label=gettext_lazy("End"))
    count = fields.count()
    name = forms.CharField(label=gettext_lazy("Name"), required=False, max_length=255)
    note = fields.ProseField(label=gettext_lazy("Note"), required=False, max_length=4096)
    contact = forms.CharField(label=gettext_lazy("Email address for messages"), required=False)

    def __init__(self, *args: Any, reservation: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._reservation = reservation
        if reservation.status == "ACTIVE":
            del self.fields["start"]

    def changes(self) -> dict[str, Any]:
        """The fields whose values differ from the reservation's, for the client of the API."""
        given = {
            **self.cleaned_data,
            **{n: fields.at(self.cleaned_data[n]) for n in ("start", "end") if n in self.fields},
        }
        return {name: v for name, v in given.items() if v != _present(self._reservation)[name]}


def _present(reservation: Any) -> dict[str, Any]:
    """The values of the form's fields that the reservation has now."""
    texts = {name: getattr(reservation, name) or "" for name in ("name", "note", "contact")}
    # The form has no seconds.
    start, end = (t.replace(second=0) for t in (reservation.start, reservation.end))
    return {"start": start, "end": end, "count": reservation.instance_count, **texts}


class ChangePage(pages.CheckedFormView):
    """Extends, shortens or changes a reservation, after it has said whether this can be done."""

    template_name = "flavor_reservations/change.html"
    rule = "warre:reservation:update"
    title = gettext_lazy("Change Reservation")
    form_class = ChangeForm
    only_once = False

    @functools.cached_property
    def reservation(self) -> Any:
        """The reservation, as the API shows it."""
        return self.api.reservations.get(self.kwargs["ref"])

    def form_arguments(self) -> dict[str, Any]:
        return {"reservation": self.reservation}

    def initial(self) -> dict[str, Any]:
        return _present(self.reservation)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        furthest = self.api.reservations.extension(self.reservation.id)
        base = max(pages.now(), self.reservation.start)
        hours = (furthest.latest_end - self.reservation.end).total_seconds() / 3600
        return super().get_context_data(
            **kwargs,
            it=self.reservation,
            extension=furthest,
            stopped_by=_STOPPED.get(furthest.stopped_by or ""),
            most_hours=int(hours),
            least_hours=-int((self.reservation.end - base).total_seconds() // 3600),
            end_local=moments.query(self.reservation.end),
        )

    def carry_out(self, form: ChangeForm) -> Any:
        changes = form.changes()
        if changes:
            self.api.reservations.update(self.reservation.id, **changes)
        where = "horizon:project:flavor_reservations:detail"
        return self.done(_("The reservation is changed."), where, self.reservation.id)

    def refused(self, form: ChangeForm, error: errors.ApiError) -> Any:
        form.add_error(None, str(error))
        return self.shown(form, verdict=self.verdict(form))

    def verdict(self, form: ChangeForm) -> dict[str, Any]:
        changes = form.changes()
        if not changes:
            return {"unchanged": True}
        try:
            foreseen = self.api.reservations.try_update(self.reservation.id, **changes)
        except errors.ApiError as error:
            return {"error": error}
        given = {name: form[name].value() for name in form.fields}
        hours = (foreseen.end - foreseen.start).total_seconds() / 3600
        wanted = {"hours": hours, "count": foreseen.instance_count}
        found = []
        for text, change in verdicts.instead(foreseen, foreseen.start, wanted):
            if longest := change.pop("hours", None):
                change["end"] = moments.query(foreseen.start + fields.length(float(longest)))
            values = {name: value for name, value in {**given, **change}.items() if value}
            found.append((text, f"?{urlencode(values)}"))
        return {**verdicts.of(foreseen), "instead": found}


#: What people read in place of the API's words for what stops an extension.
_STOPPED = {
    "slots": gettext_lazy("Then other reservations need the flavor's slots."),
    "next_reservation": gettext_lazy("Then another reservation begins."),
    "hosts": gettext_lazy("Then the hosts have no room."),
    "window": gettext_lazy("Then the flavor is closed for maintenance."),
    "terms": gettext_lazy("The flavor's terms don't allow a longer reservation."),
    "quota": gettext_lazy("Your project's quota allows no more hours."),
}


class EndPage(pages.PageView):
    """Ends or deletes a reservation, after it has named the servers that are deleted with it."""

    template_name = "flavor_reservations/end.html"
    rule = "warre:reservation:delete"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        found = self.api.reservations.get(kwargs["ref"])
        running = found.status == "ACTIVE"
        context = super().get_context_data(
            it=found, running=running, servers=servers.of(self.request, found), **kwargs
        )
        title = _("End Reservation Now") if running else _("Delete Reservation")
        return {**context, "page_title": title}

    def post(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        finished = self.api.reservations.delete(kwargs["ref"])
        text = (
            _("The reservation is deleted.") if finished else _("The reservation is being deleted.")
        )
        return self.done(text, "horizon:project:flavor_reservations:index")
