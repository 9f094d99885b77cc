"""The pages about maintenance windows."""

from typing import Any

from django import forms, urls
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from warre_blazar.client import Window, errors
from warre_blazar.dashboard import forms as fields
from warre_blazar.dashboard import names, pages, reservation_tables
from warre_blazar.dashboard.tables import Link, Table


class WindowForm(fields.BaseForm):
    """The fields of a window."""

    start = fields.MomentField(label=gettext_lazy("Start"))
    end = fields.MomentField(label=gettext_lazy("End"))
    flavor_ids = forms.MultipleChoiceField(
        label=gettext_lazy("Flavors"),
        help_text=gettext_lazy("From the start to the end of the window, they can't be booked."),
    )
    note = fields.ProseField(label=gettext_lazy("Reason, for people"), required=False)

    def __init__(self, *args: Any, flavors: list[Any], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["flavor_ids"].choices = [(each.id, each.name) for each in flavors]

    def values(self) -> dict[str, Any]:
        """The window's fields, for the client of the API."""
        given = self.cleaned_data
        return {
            "start": fields.at(given["start"]),
            "end": fields.at(given["end"]),
            "note": given["note"] or None,
            "flavor_ids": given["flavor_ids"],
        }


class WindowsPage(pages.PageView):
    """All windows."""

    template_name = "flavor_reservations/admin_windows.html"
    rule = "warre:maintenancewindow:create"
    title = gettext_lazy("Maintenance Windows")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        table = Table(
            _("Times in which flavors can't be booked"),
            (_("Start"), _("End"), _("Flavors"), _("Reason"), _("Actions")),
            [_row(window) for window in self.api.windows.list()],
            _("There is no window."),
        )
        return super().get_context_data(table=table, **kwargs)


def _row(window: Window) -> list[Any]:
    where = urls.reverse("horizon:admin:maintenance_windows:edit", args=(window.id,))
    flavors = ", ".join(flavor.name for flavor in window.flavors)
    return [window.start, window.end, flavors, window.note, Link(_("Change"), where)]


class CreateWindowPage(pages.FormView):
    """Makes a window. It first says which reservations are in the window."""

    template_name = "flavor_reservations/admin_window.html"
    rule = "warre:maintenancewindow:create"
    title = gettext_lazy("Create a Maintenance Window")
    form_class = WindowForm

    def form_arguments(self) -> dict[str, Any]:
        return {"flavors": self.api.flavors.list(all_projects=True)}

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        back = urls.reverse("horizon:admin:maintenance_windows:index")
        return super().get_context_data(
            **kwargs, back=back, submit=_("Save"), ref=kwargs.get("ref")
        )

    def submit(self, form: WindowForm) -> Any:
        window = self.save(form, dry_run=True)
        if "check" in self.request.GET:
            return self.shown(form, checked=True, met=self._met(window))
        self.save(form, dry_run=False)
        return self.done(_("The window is saved."), "horizon:admin:maintenance_windows:index")

    def save(self, form: WindowForm, dry_run: bool) -> Window:
        """Make the window, or only say what it would be."""
        return self.api.windows.create(**form.values(), dry_run=dry_run)

    def refused(self, form: WindowForm, error: errors.ApiError) -> Any:
        form.add_error(None, str(error))
        closed = [(r["flavor"]["name"], r) for r in error.detail.get("reservations", ())]
        projects = names.projects(self.request) if closed else {}
        return self.shown(
            form, met=reservation_tables.of_documents(closed, projects) if closed else None
        )

    def _met(self, window: Window) -> Table:
        """The reservations that are in the window."""
        listed = self.api.reservations.list(all_projects=True, since=window.start, until=window.end)
        closed = {flavor.id for flavor in window.flavors}
        found = [each for each in listed if each.flavor.id in closed]
        return reservation_tables.of(
            found, names.projects(self.request), {}, _("Reservations in the window")
        )


class EditWindowPage(CreateWindowPage):
    """Changes a window."""

    rule = "warre:maintenancewindow:update"
    title = gettext_lazy("Change the Maintenance Window")

    def initial(self) -> dict[str, Any]:
        window = self.api.windows.get(self.kwargs["ref"])
        flavors = [flavor.id for flavor in window.flavors]
        return {
            "start": window.start,
            "end": window.end,
            "note": window.note or "",
            "flavor_ids": flavors,
        }

    def save(self, form: WindowForm, dry_run: bool) -> Window:
        return self.api.windows.update(self.kwargs["ref"], **form.values(), dry_run=dry_run)


class DeleteWindowPage(pages.PageView):
    """Deletes a window."""

    http_method_names = ("post",)
    rule = "warre:maintenancewindow:delete"

    def post(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        self.api.windows.delete(kwargs["ref"])
        text = _("The window is deleted, so its flavors can be booked again.")
        return self.done(text, "horizon:admin:maintenance_windows:index")
