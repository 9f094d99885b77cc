"""The page with the plan of all hosts or flavors, and with the state of the hosts."""

import datetime
import re
from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from warre_blazar.client import Host, Reservation, Span, Window
from warre_blazar.dashboard import addresses, charts, moments, names, pages, reservation_tables
from warre_blazar.dashboard import forms as fields
from warre_blazar.dashboard.tables import Table

_DAY = datetime.timedelta(days=1)


class PlanForm(fields.BaseForm):
    """What the plan shows."""

    by = forms.ChoiceField(
        label=gettext_lazy("One line for each"),
        choices=[("host", gettext_lazy("host")), ("flavor", gettext_lazy("flavor"))],
    )
    start = fields.DayField(label=gettext_lazy("From"))
    days = forms.TypedChoiceField(
        label=gettext_lazy("Show"),
        coerce=int,
        choices=[
            (7, gettext_lazy("a week")),
            (14, gettext_lazy("2 weeks")),
            (30, gettext_lazy("30 days")),
        ],
    )


class PlanPage(pages.PageView):
    """A Gantt chart of reservations by host or by flavor, and a table of the hosts."""

    template_name = "flavor_reservations/admin_plan.html"
    rule = "warre:host:list"
    title = gettext_lazy("Plan and Hosts")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        given = self.request.GET
        defaults = {"by": "host", "start": moments.today().isoformat(), "days": "7"}
        form = PlanForm({name: given.get(name, value) for name, value in defaults.items()})
        context = super().get_context_data(form=form, **kwargs)
        if not form.is_valid():
            return context
        wanted = form.cleaned_data
        start = moments.midnight(wanted["start"])
        window = Span(start, start + wanted["days"] * _DAY)
        hosts = self.api.hosts.list(start=window.start, end=window.end)
        projects = names.projects(self.request)
        closed = [
            each
            for each in self.api.windows.list()
            if each.start < window.end and each.end > window.start
        ]
        lanes = (
            _by_host(hosts, closed, projects)
            if wanted["by"] == "host"
            else self._by_flavor(window, closed, projects)
        )
        plan = charts.plan(lanes, window)
        return {**context, **_beside(wanted), "plan": plan, "table": _hosts(hosts)}

    def _by_flavor(
        self, window: Span, windows: Sequence[Window], projects: Mapping[str, str]
    ) -> list[Any]:
        """A line for each flavor, with its reservations and its maintenance windows."""
        flavors = self.api.flavors.list(all_projects=True)
        lanes: dict[str, list[charts.PlannedSpan]] = {each.name: [] for each in flavors}
        listed = self.api.reservations.list(all_projects=True, since=window.start, until=window.end)
        for each in listed:
            lanes.setdefault(each.flavor.name, []).append(_of_flavor(each, projects))
        for closed in windows:
            for flavor in closed.flavors:
                lanes.setdefault(flavor.name, []).append(_closed(closed))
        return sorted(lanes.items())


def _beside(wanted: dict[str, Any]) -> dict[str, str]:
    """The addresses of the plans before and after the one that is wanted."""
    days = wanted["days"] * _DAY
    return {
        name: addresses.of("admin:reservation_plan:index", **{**wanted, "start": start})
        for name, start in (("before", wanted["start"] - days), ("after", wanted["start"] + days))
    }


def _kind(status: str) -> str:
    kinds = {"ACTIVE": "running", "ERROR": "failed", "COMPLETE": "over"}
    return kinds.get(status, "booked")


def _title(project: str, count: int, what: str, span: Span) -> str:
    start, end = moments.when(span.start), moments.when(span.end)
    return f"{project}: {count} x {what}, {start} - {end}"


def _of_flavor(each: Reservation, projects: Mapping[str, str]) -> charts.PlannedSpan:
    project = projects.get(each.project_id, each.project_id)
    span = Span(each.start, each.end)
    title = _title(project, each.instance_count, each.flavor.name, span)
    text = f"{each.name or project} x {each.instance_count}"
    where = reservation_tables.detail(each.id)
    return charts.PlannedSpan(span, title, _kind(each.status), text, where)


def _closed(window: Window) -> charts.PlannedSpan:
    text = _("closed")
    title = text = f"{text}: {window.note}" if window.note else text
    return charts.PlannedSpan(Span(window.start, window.end), title, "window", text)


def _by_host(
    hosts: list[Host], windows: Sequence[Window], projects: Mapping[str, str]
) -> list[Any]:
    """A line for each host, with its reservations and its maintenance windows.

    Other plugins' reservations are gray.
    """
    lanes = []
    for host in hosts:
        bookings = [_closed(each) for each in windows if (host.id, host.name) in each.hosts]
        for each in host.document["reservations"]:
            ours, span = each["resource_type"] == "flavor:slot", Span.of(each)
            project = projects.get(each["project_id"], each["project_id"])
            count = each["instance_count"] or 1
            what = each["flavor"]["name"] if each["flavor"] else each["resource_type"]
            bookings.append(
                charts.PlannedSpan(
                    span,
                    _title(project, count, what, span),
                    _kind(each["status"]) if ours else "other",
                    f"{project}: {count} x {what}",
                    reservation_tables.detail(each["id"]) if ours else "",
                )
            )
        lanes.append((host.name, bookings))
    return lanes


#: What people read in place of the API's states of hosts.
_STATES = {
    "bookable": gettext_lazy("can be booked"),
    "draining": gettext_lazy("drains, nothing new is placed on it"),
    "failed": gettext_lazy("failed"),
    "gone": gettext_lazy("no longer in Nova"),
    "abandoned": gettext_lazy("servers may be left on it"),
}


#: What people read in place of Placement's names of what a host has.
_RESOURCES = {
    "VCPU": gettext_lazy("vCPU"),
    "PCPU": gettext_lazy("dedicated CPU"),
    "MEMORY_MB": gettext_lazy("MiB of memory"),
    "DISK_GB": gettext_lazy("GiB of disk"),
    "VGPU": gettext_lazy("vGPU"),
}
#: Placement's names of PCI devices that are known by their vendor and product.
_PCI = re.compile(r"CUSTOM_PCI_([0-9A-F]{4})_([0-9A-F]{4})")


def _named(resource_class: str) -> str:
    """What a host has, for people."""
    if resource_class in _RESOURCES:
        return str(_RESOURCES[resource_class])
    if pci := _PCI.fullmatch(resource_class):
        return _("PCI device %(vendor)s:%(product)s") % dict(
            zip(("vendor", "product"), map(str.lower, pci.groups()), strict=True)
        )
    return resource_class.removeprefix("CUSTOM_").replace("_", " ")


def _free(host: Host, used: str) -> str:
    """How much of each resource of a host is free.

    :param used: the name of the number that is used: now, or at the peak of the time of the plan.
    """
    return ", ".join(
        f"{each['capacity'] - each[used]}/{each['capacity']} {_named(each['resource_class'])}"
        for each in host.document["resources"]
    )


def _hosts(hosts: list[Host]) -> Table:
    headers = (
        *(_("Host"), _("Zone"), _("State"), _("Why it drains")),
        *(_("Free now"), _("Free at the peak")),
    )
    rows = [
        [
            host.name,
            host.document["availability_zone"],
            _STATES.get(host.state, host.state),
            (host.document["draining"] or {}).get("reason"),
            *(_free(host, used) for used in ("used_now", "used_peak")),
        ]
        for host in hosts
    ]
    return Table(_("Hosts"), headers, rows, _("No host is registered in Blazar yet."))
