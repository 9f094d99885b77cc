"""The page that launches a server in a running reservation."""

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from glanceclient import exc as glance_exc
from horizon import exceptions
from keystoneauth1 import exceptions as ksa
from openstack_dashboard.api import glance, neutron, nova

from warre_blazar.client import Reservation
from warre_blazar.dashboard import addresses, moments, pages, servers
from warre_blazar.dashboard import forms as fields

#: What Horizon's functions raise if a service can't be reached, or refuses.
_FAILURES = (*exceptions.RECOVERABLE, glance_exc.BaseException, ksa.ClientException)


class LaunchForm(fields.BaseForm):
    """What Nova needs beside the flavor, which is the reservation's."""

    name = forms.CharField(label=gettext_lazy("Name"), max_length=255)
    count = forms.IntegerField(
        label=gettext_lazy("How many"),
        min_value=1,
        initial=1,
        help_text=gettext_lazy("Nova numbers the names of several servers."),
    )
    image = forms.ChoiceField(label=gettext_lazy("Image"))
    network = forms.ChoiceField(label=gettext_lazy("Network"))
    key = forms.ChoiceField(
        label=gettext_lazy("Key pair"),
        required=False,
        help_text=gettext_lazy("With its private key you log in."),
    )
    groups = forms.MultipleChoiceField(
        label=gettext_lazy("Security groups"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=gettext_lazy("If you choose none, the server gets the group default."),
    )

    def __init__(self, *args: Any, choices: dict[str, list[Any]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, offered in choices.items():
            self.fields[name].choices = offered


class LaunchPage(pages.FormView):
    """Launches a server on the Nova flavor of a running reservation."""

    template_name = "flavor_reservations/form.html"
    rule = "warre:reservation:get"
    title = gettext_lazy("Launch a Server")
    form_class = LaunchForm

    @functools.cached_property
    def reservation(self) -> Reservation:
        """The reservation, as the API shows it."""
        return self.api.reservations.get(self.kwargs["ref"])

    @functools.cached_property
    def places_left(self) -> int:
        """How many further servers it can have."""
        return servers.places_left(self.reservation, servers.of(self.api, self.reservation))

    def form_arguments(self) -> dict[str, Any]:
        with _asking("Glance"):
            images, _more, _previous = glance.image_list_detailed(self.request)
        with _asking("Neutron"):
            networks = neutron.network_list_for_tenant(self.request, self.request.user.project_id)
            groups = neutron.security_group_list(self.request)
        with _asking("Nova"):
            keys = nova.keypair_list(self.request)
        return {
            "choices": {
                "image": [(image.id, image.name) for image in images if image.status == "active"],
                "network": [(network.id, network.name) for network in networks],
                "key": [("", _("none")), *((key.name, key.name) for key in keys)],
                "groups": [(group.id, group.name) for group in groups],
            }
        }

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        intro = self._problem() or _(
            "The server runs in this reservation, %(flavor)s, and is deleted when it ends, at "
            "%(end)s. There is room for %(count)d."
        ) % {
            "flavor": self.reservation.flavor.name,
            "end": moments.when(self.reservation.end),
            "count": self.places_left,
        }
        back = addresses.of("project:flavor_reservations:detail", self.reservation.id)
        return super().get_context_data(
            **kwargs, intro=intro, show_zone=True, submit=self.title, back=back
        )

    def _problem(self) -> str:
        """Why no server can be launched in the reservation, or ""."""
        found = self.reservation
        if found.status in ("PENDING_CREATE", "ALLOCATED"):
            text = _("The reservation begins at %(start)s. It can hold no server before.")
            return text % {"start": moments.when(found.start)}
        if found.status != "ACTIVE":
            return _("The reservation isn't running, so it can hold no server.")
        if self.places_left:
            return ""
        text = _(
            "All %(count)s instances have servers. To launch another one, delete one of them first."
        )
        return text % {"count": found.instance_count}

    def submit(self, form: LaunchForm) -> Any:
        given, found = form.cleaned_data, self.reservation
        if problem := self._problem():
            form.add_error(None, problem)
            return self.shown(form)
        if given["count"] > self.places_left:
            problem = _("There is room for %(count)d only.") % {"count": self.places_left}
            form.add_error("count", problem)
            return self.shown(form)
        zone = found.availability_zone
        try:
            nova.server_create(
                self.request,
                given["name"],
                given["image"],
                found.compute_flavor,
                given["key"] or None,
                "",
                given["groups"],
                nics=[{"net-id": given["network"]}],
                instance_count=given["count"],
                # If the hosts are in several zones, Nova chooses.
                availability_zone=None if zone and "," in zone else zone,
            )
        except _FAILURES as error:
            form.add_error(None, _("Nova refuses: %(error)s") % {"error": error})
            return self.shown(form)
        text = _("Nova starts the server %(name)s.") % {"name": given["name"]}
        return self.done(text, "horizon:project:flavor_reservations:detail", found.id)


@contextlib.contextmanager
def _asking(service: str) -> Iterator[None]:
    """Name the service if it fails.

    :raises pages.ServiceFailed:
    """
    try:
        yield
    except _FAILURES as error:
        text = _("%(service)s can't be asked at the moment: %(error)s")
        raise pages.ServiceFailed(text % {"service": service, "error": error}) from error
