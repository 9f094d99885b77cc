"""The panels of Horizon: their names, places in addresses, and the rules of their first pages.

The modules ``urls`` say which pages a panel has. The files in ``enabled`` put the panels into
Horizon's dashboards.
"""

import horizon
from django.utils.translation import gettext_lazy as _


class ReservationPanel(horizon.Panel):
    """The base class of the panels. ``urls`` is a module in this package."""

    permissions = ("openstack.services.reservation",)


class FindPanel(ReservationPanel):
    name = _("Find and Book")
    slug = "find_reservations"
    policy_rules = (("reservation", "warre:offer:availability"),)
    urls = "project.find.urls"


class MyReservationsPanel(ReservationPanel):
    name = _("My Reservations")
    slug = "flavor_reservations"
    policy_rules = (("reservation", "warre:reservation:list"),)
    urls = "project.reservations.urls"


class WaitsPanel(ReservationPanel):
    name = _("Waiting for Room")
    slug = "reservation_waits"
    policy_rules = (("reservation", "warre:wait:list"),)
    urls = "project.waits.urls"


class SeriesPanel(ReservationPanel):
    name = _("Series")
    slug = "reservation_series"
    policy_rules = (("reservation", "warre:series:list"),)
    urls = "project.series.urls"


class LimitsAndUsagePanel(ReservationPanel):
    name = _("Limits and Usage")
    slug = "reservation_usage"
    policy_rules = (("reservation", "warre:limits:get"),)
    urls = "project.usage.urls"


class ReservableFlavorsPanel(ReservationPanel):
    name = _("Reservable Flavors")
    slug = "reservable_flavors"
    policy_rules = (("reservation", "warre:flavor:create"),)
    urls = "admin.flavors.urls"


class MaintenanceWindowsPanel(ReservationPanel):
    name = _("Maintenance Windows")
    slug = "maintenance_windows"
    policy_rules = (("reservation", "warre:maintenancewindow:create"),)
    urls = "admin.windows.urls"


class AllReservationsPanel(ReservationPanel):
    name = _("All Reservations")
    slug = "all_flavor_reservations"
    policy_rules = (("reservation", "warre:reservation:list:all"),)
    urls = "admin.reservations.urls"


class PlanPanel(ReservationPanel):
    name = _("Plan and Hosts")
    slug = "reservation_plan"
    policy_rules = (("reservation", "warre:host:list"),)
    urls = "admin.plan.urls"


class AllUsagePanel(ReservationPanel):
    name = _("Usage")
    slug = "all_reservation_usage"
    policy_rules = (("reservation", "warre:usage:get:other"),)
    urls = "admin.usage.urls"


class QuotasPanel(ReservationPanel):
    name = _("Quotas")
    slug = "reservation_quotas"
    policy_rules = (("reservation", "warre:limits:get:other"),)
    urls = "admin.quotas.urls"


class RefusedRequestsPanel(ReservationPanel):
    name = _("Refused Requests")
    slug = "refused_requests"
    policy_rules = (("reservation", "warre:refusal:list:all"),)
    urls = "admin.refusals.urls"


class AuditPanel(ReservationPanel):
    name = _("Audit")
    slug = "reservation_audit"
    policy_rules = (("reservation", "warre:audit:get"),)
    urls = "admin.audit.urls"
