"""The pages that show flavors to operators."""

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from warre_blazar.client import Flavor
from warre_blazar.dashboard import addresses, moments, names, pages, tables, usages
from warre_blazar.dashboard.admin.flavors.editing import FlavorForm
from warre_blazar.dashboard.tables import Link

#: The panel of these pages.
PANEL = "admin:reservable_flavors"


class FlavorsPage(pages.PageView):
    """All flavors, with whether they can be booked."""

    template_name = "flavor_reservations/admin_flavors.html"
    rule = "warre:flavor:create"
    title = gettext_lazy("Reservable Flavors")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        flavors = self.api.flavors.list(all_projects=True)
        return super().get_context_data(table=_table(flavors), **kwargs)


def _table(flavors: list[Flavor]) -> tables.Table:
    columns: dict[str, tables.Column] = {
        _("Name"): lambda each: Link(each.name, addresses.of(f"{PANEL}:detail", each.id)),
        _("Kind"): "category",
        _("vCPU"): "vcpu",
        _("Memory in MiB"): "memory_mb",
        _("Slots"): "slots",
        _("Longest in hours"): "max_length_hours",
        _("Who may book"): lambda each: _("all projects") if each.is_public else _("some projects"),
        _("Can be booked"): _bookable,
        _("Hosts that match"): "bookable_hosts",
    }
    caption, empty = _("Flavors that projects can book"), _("There is no flavor yet.")
    return tables.of(caption, flavors, columns, empty)


def _bookable(flavor: Flavor) -> str:
    if flavor.bookable:
        return _("yes")
    return _("no, closed by an operator") if not flavor.active else _("no, no host matches")


class FlavorPage(pages.PageView):
    """One flavor: its fields, how many could be booked, who may book it, and its usage."""

    template_name = "flavor_reservations/admin_flavor.html"
    rule = "warre:flavor:create"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        flavor = self.api.flavors.get(kwargs["ref"], capacity=True)
        projects = names.projects(self.request)
        rights = [] if flavor.is_public else self.api.access.list(flavor_id=flavor.id)
        report = self.api.usage.get(by="project", all_projects=True, flavor_id=flavor.id)
        context = super().get_context_data(
            flavor=flavor,
            state=_bookable(flavor),
            terms=_terms(flavor),
            specs=sorted((flavor.extra_specs or {}).items()),
            rights=[(each.id, projects.get(each.project_id, each.project_id)) for each in rights],
            projects=sorted(projects.items(), key=lambda pair: pair[1]),
            table=usages.table(report, _("What it was used for this month"), projects),
            hosts=_hosts(flavor),
            **kwargs,
        )
        return {**context, "page_title": _("Flavor")}


#: The terms of a flavor that most flavors don't have, as its form calls them.
_TERMS = (
    *("start", "end", "max_days_ahead", "notice_hours", "weekly_hours", "extend_within_hours"),
    *("max_instances_per_project", "gap_hours", "idle_warn_hours", "idle_end_hours"),
)


def _terms(flavor: Flavor) -> list[tuple[str, str]]:
    """When and how a flavor can be booked, each with the label of its field in the form."""
    values = {name: getattr(flavor, name) for name in _TERMS}
    return [
        (str(FlavorForm.base_fields[name].label), moments.when(v) if name in _TERMS[:2] else str(v))
        for name, v in values.items()
        if v not in (None, "") and (name, v) != ("notice_hours", 0)
    ]


def _hosts(flavor: Flavor) -> tables.Table:
    """How many instances each host holds when empty, and what limits it."""
    columns: dict[str, tables.Column] = {
        _("Host"): lambda each: each["name"],
        _("Instances when empty"): lambda each: each["instances"],
        _("What limits it"): lambda each: ", ".join(map(_limit, each["limits"])),
    }
    empty = _("No host matches the flavor's properties and zone, or none has what it needs.")
    hosts = (flavor.limits or {}).get("hosts", ())
    return tables.of(_("Hosts that match"), hosts, columns, empty)


#: What is said about what keeps a host from holding more instances, by kind.
_LIMITS = {
    "zone": gettext_lazy("not in zone %(name)s"),
    "aggregate": gettext_lazy("in no aggregate with %(name)s"),
    "isolation": gettext_lazy("only for servers that require %(name)s"),
    "property": gettext_lazy("not %(name)s, but %(have)s"),
    "missing_property": gettext_lazy("no property %(name)s"),
    "required_trait": gettext_lazy("no trait %(name)s"),
    "forbidden_trait": gettext_lazy("has trait %(name)s"),
    "resource_class": gettext_lazy("%(name)s: each instance takes %(asked)s of %(capacity)s"),
    "groups": gettext_lazy("no provider with enough of %(name)s together"),
}


def _limit(limit: dict[str, Any]) -> str:
    text = _LIMITS.get(limit["kind"], "%(name)s")
    return str(text) % limit
