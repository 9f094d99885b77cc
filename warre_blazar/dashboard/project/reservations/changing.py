"""The pages that change and end a reservation."""

from typing import Any

from django import forms
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from warre_blazar import texts
from warre_blazar.client import errors
from warre_blazar.dashboard import connection, editing, moments, pages, servers, verdicts
from warre_blazar.dashboard import forms as fields


class ChangeForm(editing.EditForm):
    """What can be changed of a reservation."""

    start = fields.MomentField(label=gettext_lazy("Start"))
    end = fields.MomentField(label=gettext_lazy("End"))
    count = fields.count()
    name = forms.CharField(label=gettext_lazy("Name"), required=False, max_length=255)
    note = fields.ProseField(label=gettext_lazy("Note"), required=False, max_length=4096)
    contact = forms.CharField(label=gettext_lazy("Email address for messages"), required=False)
    movable_hours = fields.movable_hours()

    def __init__(self, *args: Any, is_running: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if is_running:
            del self.fields["start"]

    def values(self) -> dict[str, Any]:
        given = self.cleaned_data
        times = {name: fields.at(given[name]) for name in ("start", "end") if name in given}
        return {**given, **times, "movable_hours": given["movable_hours"] or 0}


class ChangePage(editing.EditView, pages.CheckedFormView):
    """Extends, shortens or changes a reservation, after it has said whether this can be done."""

    template_name = "flavor_reservations/change.html"
    rule = "warre:reservation:update"
    title = gettext_lazy("Change Reservation")
    form_class = ChangeForm

    def read(self) -> Any:
        return self.api.reservations.get(self.kwargs["ref"])

    def present(self) -> dict[str, Any]:
        it = self.item
        texts = {name: getattr(it, name) or "" for name in ("name", "note", "contact")}
        times = {"start": it.start, "end": it.end, "movable_hours": it.movable_hours}
        return {**times, "count": it.instance_count, **texts}

    def form_arguments(self) -> dict[str, Any]:
        return {**super().form_arguments(), "is_running": self.item.status == "ACTIVE"}

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        furthest = self.api.reservations.extension(self.item.id)
        stop = texts.BRIEF.get(furthest.stopped_by or "")
        base = max(pages.now(), self.item.start)
        hours = (furthest.latest_end - self.item.end).total_seconds() / 3600
        return super().get_context_data(
            **kwargs,
            it=self.item,
            extension=furthest,
            stopped_by=stop.sentence({}, connection.READER) if stop else None,
            most_hours=int(hours),
            least_hours=-int((self.item.end - base).total_seconds() // 3600),
            end_local=moments.query(self.item.end),
        )

    def carry_out(self, form: ChangeForm) -> Any:
        changes = form.changes()
        if changes:
            self.api.reservations.update(self.item.id, etag=form.etag, **changes)
        where = "horizon:project:flavor_reservations:detail"
        return self.done(_("The reservation is changed."), where, self.item.id)

    def refused(self, form: ChangeForm, error: errors.ApiError) -> Any:
        if error.code == editing.CHANGED:
            return super().refused(form, error)
        form.add_error(None, str(error))
        return self.shown(form, verdict=self.verdict(form))

    def verdict(self, form: ChangeForm) -> dict[str, Any]:
        changes = form.changes()
        if not changes:
            return {"unchanged": True}
        try:
            foreseen = self.api.reservations.try_update(self.item.id, etag=form.etag, **changes)
        except errors.ApiError as error:
            return {"error": error}
        given = {name: form[name].value() for name in changes}
        hours = (foreseen.end - foreseen.start).total_seconds() / 3600
        wanted = {"hours": hours, "count": foreseen.instance_count}
        found = []
        for text, change in verdicts.instead(foreseen, foreseen.start, wanted):
            if longest := change.pop("hours", None):
                change["end"] = moments.query(foreseen.start + fields.length(float(longest)))
            values = {name: value for name, value in {**given, **change}.items() if value}
            found.append((text, f"?{urlencode(values)}"))
        return {**verdicts.of(foreseen), "instead": found}


class EndPage(pages.PageView):
    """Ends or deletes a reservation, after it has named the servers that are deleted with it."""

    template_name = "flavor_reservations/end.html"
    rule = "warre:reservation:delete"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        found = self.api.reservations.get(kwargs["ref"])
        running = found.status == "ACTIVE"
        context = super().get_context_data(
            it=found, running=running, servers=servers.deleted(self.api, found), **kwargs
        )
        title = _("End Reservation Now") if running else _("Delete Reservation")
        return {**context, "page_title": title}

    def post(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        finished = self.api.reservations.delete(kwargs["ref"])
        text = (
            _("The reservation is deleted.") if finished else _("The reservation is being deleted.")
        )
        return self.done(text, "horizon:project:flavor_reservations:index")
