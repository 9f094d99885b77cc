"""The pages that create, change and delete flavors."""

import functools
from typing import Any, ClassVar

from django import forms, urls
from django.contrib import messages
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from warre_blazar.client import Flavor, Host, Page, Reservation
from warre_blazar.dashboard import editing, moments, names, pages
from warre_blazar.dashboard import forms as fields
from warre_blazar.dashboard.reservation_tables import LIVE
from warre_blazar.dashboard.templatetags.flavor_reservations import titled


def _number(label: Any, least: int = 1, **kwargs: Any) -> forms.IntegerField:
    return forms.IntegerField(label=label, min_value=least, **kwargs)


#: Numbers that the API takes only as numbers.
_ZERO_IF_EMPTY = ("ephemeral_gb", "notice_hours")


class FlavorForm(fields.BaseForm):
    """The fields of a flavor. The API checks the rest."""

    headings: ClassVar[dict[str, Any]] = {
        "vcpu": gettext_lazy("What an instance takes"),
        "slots": gettext_lazy("How much can be booked"),
        "availability_zone": gettext_lazy("On which hosts"),
        "start": gettext_lazy("When it can be booked"),
        "max_instances_per_project": gettext_lazy("How projects share it"),
        "before_end": gettext_lazy("What becomes of servers"),
        "is_public": gettext_lazy("Who may book it"),
    }
    name = forms.CharField(label=gettext_lazy("Name"), max_length=64)
    vcpu = _number(gettext_lazy("vCPU"))
    memory_mb = _number(gettext_lazy("Memory in MiB"))
    disk_gb = _number(gettext_lazy("Disk in GiB"), 0)
    ephemeral_gb = _number(gettext_lazy("Ephemeral disk in GiB"), 0, initial=0, required=False)
    slots = _number(
        gettext_lazy("Slots"),
        help_text=gettext_lazy("So many instances can be booked at the same time."),
    )
    max_length_hours = _number(gettext_lazy("Longest reservation in hours"), initial=168)
    category = forms.CharField(
        label=gettext_lazy("Kind"),
        required=False,
        help_text=gettext_lazy("A word by which flavors are grouped, such as gpu."),
    )
    availability_zone = forms.ChoiceField(label=gettext_lazy("Availability zone"), required=False)
    properties = forms.CharField(
        label=gettext_lazy("Host properties"),
        required=False,
        help_text=gettext_lazy(
            'Only hosts with these properties, such as ["==", "$gpu_model", "A100"].'
        ),
    )
    extra_specs = fields.ProseField(
        label=gettext_lazy("Extra specs"),
        required=False,
        help_text=gettext_lazy("One in each line, such as resources:VGPU=1."),
    )
    start = fields.MomentField(label=gettext_lazy("Bookable from"), required=False)
    end = fields.MomentField(label=gettext_lazy("Bookable until"), required=False)
    max_days_ahead = _number(
        gettext_lazy("Reservations end within days from now"),
        required=False,
        help_text=gettext_lazy("Nobody books further ahead. Empty: as far as they like."),
    )
    notice_hours = _number(
        gettext_lazy("Begin at least so many hours after they are booked"),
        0,
        initial=0,
        required=False,
    )
    weekly_hours = forms.CharField(
        label=gettext_lazy("Times of the week"),
        required=False,
        help_text=gettext_lazy(
            "Longer reservations lie within these times, such as 8h mon-fri 19:00-08:00, sat-sun "
            "Europe/Berlin."
        ),
    )
    extend_within_hours = _number(
        gettext_lazy("Can be extended in the last hours"),
        required=False,
        help_text=gettext_lazy(
            "Not earlier than so many hours before the end. Empty: at any time."
        ),
    )
    max_instances_per_project = _number(
        gettext_lazy("Most instances of a project"),
        required=False,
        help_text=gettext_lazy("At the same time, in all of its reservations of the flavor."),
    )
    gap_hours = _number(
        gettext_lazy("Hours between two reservations of a project"), 0, required=False
    )
    idle_warn_hours = _number(gettext_lazy("Say so after hours without a server"), required=False)
    idle_end_hours = _number(gettext_lazy("End after hours without a server"), required=False)
    before_end = forms.ChoiceField(
        label=gettext_lazy("Before the end"),
        required=False,
        choices=[
            ("", gettext_lazy("what the site's configuration says")),
            ("nothing", gettext_lazy("do nothing")),
            ("snapshot", gettext_lazy("make an image of each server")),
        ],
    )
    before_end_choice = forms.BooleanField(
        label=gettext_lazy("Users may choose it"), required=False
    )
    show_in_nova = forms.BooleanField(
        label=gettext_lazy("Nova lists it, for other programs"), required=False
    )
    is_public = forms.BooleanField(
        label=gettext_lazy("All projects may book it"), required=False, initial=True
    )
    active = forms.BooleanField(
        label=gettext_lazy("It can be booked"), required=False, initial=True
    )
    description = fields.ProseField(label=gettext_lazy("Description"), required=False)

    def __init__(self, *args: Any, zones: set[str], taken: set[str], **kwargs: Any) -> None:
        """
        :param zones: the availability zones of hosts.
        :param taken: the names of other flavors.
        """
        super().__init__(*args, **kwargs)
        self._taken = taken
        self.fields["availability_zone"].choices = [
            ("", _("any zone")),
            *((each, each) for each in sorted(zones)),
        ]

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if name in self._taken:
            raise forms.ValidationError(_("Another flavor has this name."))
        return name

    def clean_extra_specs(self) -> dict[str, str]:
        lines = [line.strip() for line in self.cleaned_data["extra_specs"].splitlines()]
        pairs = [line.partition("=") for line in lines if line]
        if wrong := next((key for key, sign, _value in pairs if not sign or not key), None):
            raise forms.ValidationError(_("%(line)s has no value after a =.") % {"line": wrong})
        return {key.strip(): value.strip() for key, _sign, value in pairs}

    def values(self) -> dict[str, Any]:
        """The fields of the flavor, for the client of the API. An empty field is null."""
        given = {k: None if v == "" else v for k, v in self.cleaned_data.items()}
        moments_ = {name: fields.at(given[name]) for name in ("start", "end") if name in given}
        numbers = {name: given[name] or 0 for name in _ZERO_IF_EMPTY if name in given}
        return {**given, **moments_, **numbers}


class CreateFlavorPage(pages.FormView):
    """Makes a flavor."""

    template_name = "flavor_reservations/form.html"
    rule = "warre:flavor:create"
    title = gettext_lazy("Create a Flavor")
    form_class = FlavorForm
    #: What is said when it is done.
    said: Any = gettext_lazy("The flavor is made.")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        back = urls.reverse("horizon:admin:reservable_flavors:index")
        more = {"back": back, "show_zone": True, "check": _("Show how many hosts match")}
        return super().get_context_data(**kwargs, submit=_("Create"), **more)

    def form_arguments(self) -> dict[str, Any]:
        return {
            "zones": {each.document.get("availability_zone") for each in self.hosts} - {None},
            "taken": {each.name for each in self.api.flavors.list(all_projects=True)},
        }

    @functools.cached_property
    def hosts(self) -> list[Host]:
        """All hosts, if the user may see them."""
        return self.api.hosts.list() if self.may("warre:host:list") else []

    def submit(self, form: FlavorForm) -> Any:
        if "check" not in self.request.POST:
            return self.finished(self.save(form), self.said)
        foreseen = self.save(form, dry_run=True)
        text = ngettext(
            "%(count)d of %(all)d hosts matches.",
            "%(count)d of %(all)d hosts match.",
            foreseen.bookable_hosts,
        ) % {"count": foreseen.bookable_hosts, "all": len(self.hosts)}
        doubts = [warning["message"] for warning in foreseen.warnings]
        return self.shown(form, notes=[text, *doubts])

    def save(self, form: FlavorForm, *, dry_run: bool = False) -> Flavor:
        """Make the flavor.

        :param dry_run: make nothing, but say what it would be.
        """
        values = form.values()
        return self.api.flavors.create(values.pop("name"), dry_run=dry_run, **values)

    def finished(self, flavor: Flavor, text: str) -> Any:
        """Go to the flavor's page, which then shows what is in doubt about it."""
        for warning in flavor.warnings:
            messages.warning(self.request, warning["message"])
        return self.done(text, "horizon:admin:reservable_flavors:detail", flavor.id)


#: What can't be changed of a flavor.
_FIXED = ("vcpu", "memory_mb", "disk_gb", "ephemeral_gb")


class EditFlavorForm(FlavorForm, editing.EditForm):
    """The fields of a flavor that can be changed."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in _FIXED:
            del self.fields[name]


class EditFlavorPage(editing.EditView, CreateFlavorPage):
    """Changes a flavor."""

    rule = "warre:flavor:update"
    title = gettext_lazy("Change the Flavor")
    form_class = EditFlavorForm
    said = gettext_lazy("The flavor is changed.")

    def read(self) -> Flavor:
        return self.api.flavors.get(self.kwargs["ref"])

    def present(self) -> dict[str, Any]:
        values = {name: getattr(self.item, name) for name in FlavorForm.base_fields}
        specs = sorted((self.item.extra_specs or {}).items())
        return {**values, "extra_specs": "\n".join(f"{key}={value}" for key, value in specs)}

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return {**super().get_context_data(**kwargs), "submit": _("Change")}

    def form_arguments(self) -> dict[str, Any]:
        arguments, its = super().form_arguments(), self.item
        zones = arguments["zones"] | {its.availability_zone} - {None}
        return {**arguments, "zones": zones, "taken": arguments["taken"] - {its.name}}

    def save(self, form: EditFlavorForm, *, dry_run: bool = False) -> Flavor:
        changes = form.changes()
        if not changes:
            return self.item
        return self.api.flavors.update(self.item.id, dry_run=dry_run, etag=form.etag, **changes)


#: At most so many reservations that keep a flavor from being deleted are named.
_NAMED = 5


class DeleteFlavorPage(pages.ConfirmView):
    """Deletes a flavor, after it has asked."""

    rule = "warre:flavor:delete"
    title, submit = gettext_lazy("Delete the Flavor"), gettext_lazy("Delete")
    said, after = gettext_lazy("The flavor is deleted."), "horizon:admin:reservable_flavors:index"

    def question(self) -> tuple[str, str]:
        flavor = self.api.flavors.get(self.kwargs["ref"])
        back = urls.reverse("horizon:admin:reservable_flavors:detail", args=(flavor.id,))
        if count := self._live.total:
            self.submit = ""
            text = ngettext(
                "%(name)s can't be deleted, because %(count)d reservation of it isn't over:",
                "%(name)s can't be deleted, because %(count)d reservations of it aren't over:",
                count,
            )
            return text % {"name": flavor.name, "count": count}, back
        text = _("Delete the flavor %(name)s? Lists and usage still show what was booked of it.")
        return text % {"name": flavor.name}, back

    @functools.cached_property
    def _live(self) -> Page[Reservation]:
        """The first reservations that keep the flavor from being deleted."""
        return self.api.reservations.page(
            1, _NAMED, all_projects=True, flavor_id=self.kwargs["ref"], status=LIVE
        )

    def named(self) -> list[str]:
        projects = names.projects(self.request) if self._live.items else {}
        values = [
            {
                "reservation": titled(each),
                "project": projects.get(each.project_id, each.project_id),
                "end": moments.when(each.end),
            }
            for each in self._live.items
        ]
        more = self._live.total - len(values)
        return [
            *(_("%(reservation)s of %(project)s, until %(end)s") % each for each in values),
            *([_("%(count)d more") % {"count": more}] if more else []),
        ]

    def carry_out(self) -> None:
        self.api.flavors.delete(self.kwargs["ref"])
