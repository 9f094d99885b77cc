"""The pages that change and end a reservation."""

import datetime
import functools
from collections.abc import Sequence
from typing import Any

from django import forms, urls
from django.contrib import messages
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from warre_blazar import texts
from warre_blazar.client import Reservation, errors
from warre_blazar.client.types import Document
from warre_blazar.dashboard import connection, editing, moments, pages, servers, verdicts
from warre_blazar.dashboard import forms as fields
from warre_blazar.dashboard.templatetags.flavor_reservations import titled


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
            del self.fields["start"], self.fields["movable_hours"]

    def values(self) -> dict[str, Any]:
        given = self.cleaned_data
        times = {name: fields.at(given[name]) for name in ("start", "end") if name in given}
        return {**given, **times, "movable_hours": given.get("movable_hours") or 0}


class ChangePage(editing.EditView, pages.CheckedFormView):
    """Extends, shortens or changes a reservation, after it has said whether this can be done.

    Before servers are deleted earlier, the page names them, and asks.
    """

    template_name = "flavor_reservations/change.html"
    rule = "warre:reservation:update"
    title = gettext_lazy("Change Reservation")
    form_class = ChangeForm
    #: The name of the reservation's page.
    page = "horizon:project:flavor_reservations:detail"

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
            back=urls.reverse(self.page, args=(self.item.id,)),
            extension=furthest,
            stopped_by=stop.sentence({}, connection.READER) if stop else None,
            most_hours=int(hours),
            least_hours=-int((self.item.end - base).total_seconds() // 3600),
            end_local=moments.query(self.item.end),
        )

    def carry_out(self, form: ChangeForm) -> Any:
        changes = form.changes()
        if self._lost(changes):
            verdict = self.verdict(form)
            if error := verdict.get("error"):
                raise error  # It isn't known which servers would be deleted.
            lost = verdict.get("lost")
            if lost and self.request.POST.get("delete") != lost["key"]:
                return self.shown(form, verdict=verdict)
        if changes:
            self.api.reservations.update(self.item.id, etag=form.etag, **changes)
        return self.done(_("The reservation is changed."), self.page, self.item.id)

    def refused(self, form: ChangeForm, error: errors.ApiError) -> Any:
        if error.code == editing.CHANGED:
            return super().refused(form, error)
        verdict = self.verdict(form)
        fields.add_refusal(form, error)
        return self.shown(form, verdict=verdict)

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
        lost = self._lost(changes) if foreseen.bookable else None
        more = hours - (self.item.end - self.item.start).total_seconds() / 3600
        told = {"lost": lost, "more_hours": more and f"{round(more, 2):+g}"}
        return {**verdicts.of(foreseen), **told, "instead": found}

    def _lost(self, changes: dict[str, Any]) -> dict[str, Any] | None:
        """The servers that a running reservation's earlier end deletes. None: there are none.

        Fewer instances delete none: the API refuses fewer than there are servers. The key stands
        for what the person has been told.
        """
        end: datetime.datetime = changes.get("end", self.item.end)
        if end >= self.item.end:
            return None
        found = self._inside
        if found == []:
            return None
        told = [end.isoformat(), *(server["id"] for server in found or ())]
        return {"servers": found, "key": " ".join(told)}

    @functools.cached_property
    def _inside(self) -> Sequence[Document] | None:
        """The servers that the end of the reservation deletes. None: they aren't known."""
        return servers.deleted(self.api, self.item)


class EndPage(pages.PageView):
    """Ends or deletes a reservation, after it has named the servers that are deleted with it."""

    template_name = "flavor_reservations/end.html"
    rule = "warre:reservation:delete"
    #: The names of the reservation's page, and of the page that comes after.
    page = ChangePage.page
    after = "horizon:project:flavor_reservations:index"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        found = self.api.reservations.get(kwargs["ref"])
        back = urls.reverse(self.page, args=(found.id,))
        running = found.status == "ACTIVE"
        context = super().get_context_data(
            it=found,
            back=back,
            running=running,
            servers=servers.deleted(self.api, found),
            **kwargs,
        )
        title = _("End Reservation Now") if running else _("Delete Reservation")
        return {**context, "page_title": title}

    def post(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        finished = self.api.reservations.delete(kwargs["ref"])
        text = (
            _("The reservation is deleted.") if finished else _("The reservation is being deleted.")
        )
        return self.done(text, self.after)


class DeletePage(pages.ConfirmView):
    """Ends or deletes several reservations, after it has named them and their servers."""

    rule = "warre:reservation:delete"
    title, submit = gettext_lazy("Delete Reservations"), gettext_lazy("Delete them")
    after = "horizon:project:flavor_reservations:index"

    def question(self) -> tuple[str, str]:
        back = urls.reverse(self.after)
        if self._chosen():
            return _("Delete these reservations? Those that run end now."), back
        self.submit = ""
        return _("You have chosen no reservation."), back

    def named(self) -> list[str]:
        found = [self.api.reservations.get(ref) for ref in self._chosen()]
        return [_described(each, servers.deleted(self.api, each)) for each in found]

    def carry_out(self) -> None:
        deleted, failed = 0, []
        for ref in self._chosen():
            try:
                self.api.reservations.delete(ref)
                deleted += 1
            except errors.ApiError as error:
                failed.append(error)
        if failed and not deleted:
            raise failed[0]
        for each in failed:
            messages.error(self.request, str(each))
        text = ngettext(
            "%(count)d reservation is deleted.", "%(count)d reservations are deleted.", deleted
        )
        self.said = text % {"count": deleted}

    def _chosen(self) -> list[str]:
        return self.request.GET.getlist("id")


def _described(found: Reservation, inside: Sequence[Document] | None) -> str:
    """A reservation and its servers as a question names them."""
    text = _("%(name)s: %(count)d x %(flavor)s, %(start)s to %(end)s") % {
        "name": titled(found),
        "count": found.instance_count,
        "flavor": found.flavor.name,
        "start": moments.when(found.start),
        "end": moments.when(found.end),
    }
    if inside is None:
        return _("%(reservation)s, with all its servers") % {"reservation": text}
    if not inside:
        return text
    listed = ", ".join(each["name"] for each in inside)
    return _("%(reservation)s, with the servers %(servers)s") % {
        "reservation": text,
        "servers": listed,
    }
