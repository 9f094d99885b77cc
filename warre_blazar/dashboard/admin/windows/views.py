"""The pages about maintenance windows."""

from collections.abc import Sequence
from typing import Any

from django import forms, urls
from django.contrib import messages
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from warre_blazar.client import Flavor, Host, Window, errors, lookup
from warre_blazar.dashboard import editing, moments, names, pages, reservation_tables, tables
from warre_blazar.dashboard import forms as fields
from warre_blazar.dashboard.tables import Link, Table
from warre_blazar.dashboard.templatetags.flavor_reservations import titled


class WindowForm(fields.BaseForm):
    """The fields of a window."""

    start = fields.MomentField(label=gettext_lazy("Start"))
    end = fields.MomentField(label=gettext_lazy("End"))
    flavor_ids = forms.MultipleChoiceField(
        label=gettext_lazy("Flavors"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=gettext_lazy("From the start to the end of the window, they can't be booked."),
    )
    host_ids = forms.MultipleChoiceField(
        label=gettext_lazy("Hosts"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=gettext_lazy("No flavor can be booked on them from the start to the end."),
    )
    note = fields.ProseField(label=gettext_lazy("Reason, for people"), required=False)
    bookings = forms.ChoiceField(
        label=gettext_lazy("Reservations in the window"),
        choices=[
            ("refuse", gettext_lazy("if there are any, don't make the window")),
            ("move", gettext_lazy("move those that can be moved, leave the others")),
            ("end", gettext_lazy("move those that can be moved, end others that begin before it")),
        ],
        help_text=gettext_lazy(
            "Moved are those that haven't begun: to other hosts, or to a later time if their users "
            "allow it."
        ),
    )

    def __init__(self, *args: Any, flavors: list[Flavor], hosts: list[Host], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["flavor_ids"].choices = [*lookup.titles(flavors).items()]
        self.fields["host_ids"].choices = [(each.id, each.name) for each in hosts]
        if not hosts:
            del self.fields["host_ids"]
        #: Whether there is nothing that a window could close.
        self.is_over_nothing = not (flavors or hosts)

    def values(self) -> dict[str, Any]:
        """The window's fields, for the client of the API, but what is done with bookings."""
        given = self.cleaned_data
        closed = {name: given[name] for name in ("flavor_ids", "host_ids") if name in given}
        return {
            "start": fields.at(given["start"]),
            "end": fields.at(given["end"]),
            "note": given["note"] or None,
            **closed,
        }


class WindowsPage(pages.PageView):
    """All windows."""

    template_name = "flavor_reservations/admin_windows.html"
    rule = "warre:maintenancewindow:create"
    title = gettext_lazy("Maintenance Windows")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        columns: dict[str, tables.Column] = {
            _("Start"): "start",
            _("End"): "end",
            _("Flavors"): lambda each: ", ".join(flavor.name for flavor in each.flavors),
            _("Hosts"): lambda each: ", ".join(name for _id, name in each.hosts),
            _("Reason"): "note",
            _("Actions"): lambda each: Link(_("Change"), _edit(each)),
        }
        caption = _("Times in which flavors or hosts can't be booked")
        windows, empty = self.api.windows.list(), _("There is no window.")
        table = tables.of(caption, windows, columns, empty)
        return super().get_context_data(table=table, **kwargs)


def _edit(window: Window) -> str:
    return urls.reverse("horizon:admin:maintenance_windows:edit", args=(window.id,))


class CreateWindowPage(pages.FormView):
    """Makes a window. It first says whom the window meets, and what becomes of them."""

    template_name = "flavor_reservations/admin_window.html"
    rule = "warre:maintenancewindow:create"
    title = gettext_lazy("Create a Maintenance Window")
    form_class = WindowForm

    def form_arguments(self) -> dict[str, Any]:
        hosts = self.api.hosts.list() if self.may("warre:host:list") else []
        return {"flavors": self.api.flavors.list(all_projects=True), "hosts": hosts}

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        back = urls.reverse("horizon:admin:maintenance_windows:index")
        return super().get_context_data(
            **kwargs, back=back, submit=_("Save"), nothing_to_close=kwargs["form"].is_over_nothing
        )

    def submit(self, form: WindowForm) -> Any:
        if "check" in self.request.POST:
            return self.shown(form, met=self._met(self.save(form, dry_run=True).reservations))
        window = self.save(form)
        left = sum(each["outcome"] == "left" for each in window.reservations)
        if left:
            text = ngettext(
                "%(count)d reservation is in the window still.",
                "%(count)d reservations are in the window still.",
                left,
            )
            messages.warning(self.request, text % {"count": left})
        return self.done(_("The window is saved."), "horizon:admin:maintenance_windows:index")

    def save(self, form: WindowForm, *, dry_run: bool = False) -> Window:
        """Make the window.

        :param dry_run: make nothing, but say what would become of the reservations that it meets.
        """
        bookings = form.cleaned_data["bookings"]
        return self.api.windows.create(**form.values(), bookings=bookings, dry_run=dry_run)

    def refused(self, form: WindowForm, error: errors.ApiError) -> Any:
        fields.add_refusal(form, error)
        met = error.detail.get("reservations")
        return self.shown(form, met=self._met(met) if met else None)

    def _met(self, met: Sequence[dict[str, Any]]) -> Table:
        titles = {}
        if met:
            since, until = min(each["start"] for each in met), max(each["end"] for each in met)
            listed = self.api.reservations.list(all_projects=True, since=since, until=until)
            titles = {each.id: titled(each) for each in listed}
        return reservation_tables.met(met, names.projects(self.request), titles)


class EditWindowForm(WindowForm, editing.EditForm):
    """The fields of a window that can be changed."""


class EditWindowPage(editing.EditView, CreateWindowPage):
    """Changes a window."""

    rule = "warre:maintenancewindow:update"
    title = gettext_lazy("Change the Maintenance Window")
    form_class = EditWindowForm

    def read(self) -> Window:
        return self.api.windows.get(self.kwargs["ref"])

    def present(self) -> dict[str, Any]:
        window = self.item
        return {
            "start": window.start,
            "end": window.end,
            "note": window.note or "",
            "flavor_ids": [flavor.id for flavor in window.flavors],
            "host_ids": [host_id for host_id, _name in window.hosts],
        }

    def save(self, form: EditWindowForm, *, dry_run: bool = False) -> Window:
        changes = {**form.changes(), "bookings": form.cleaned_data["bookings"]}
        return self.api.windows.update(self.item.id, dry_run=dry_run, etag=form.etag, **changes)


class DeleteWindowPage(pages.ConfirmView):
    """Deletes a window, after it has asked."""

    rule = "warre:maintenancewindow:delete"
    title, submit = gettext_lazy("Delete the Maintenance Window"), gettext_lazy("Delete")
    said = gettext_lazy("The window is deleted, so what it closed can be booked again.")
    after = "horizon:admin:maintenance_windows:index"

    def question(self) -> tuple[str, str]:
        window = self.api.windows.get(self.kwargs["ref"])
        closed = [flavor.name for flavor in window.flavors] + [name for _id, name in window.hosts]
        question = _(
            "Delete the window from %(start)s to %(end)s? Then %(closed)s can be booked in this "
            "time again."
        )
        values = {"start": moments.when(window.start), "end": moments.when(window.end)}
        return question % {**values, "closed": ", ".join(closed)}, _edit(window)

    def carry_out(self) -> None:
        self.api.windows.delete(self.kwargs["ref"])
