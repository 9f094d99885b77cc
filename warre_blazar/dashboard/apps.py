"""The package as Django knows it."""

from django.apps import AppConfig


class FlavorReservations(AppConfig):
    """The application with the templates, static files and translations of the pages."""

    name = "warre_blazar.dashboard"
    # Horizon has an application whose label would be the same as this one's by default.
    label = "flavor_reservations"
