"""Grants and revokes the right to book a private flavor, and goes back to the flavor's page."""

from typing import Any

from django.utils.translation import gettext as _

from warre_blazar.dashboard import pages


class GrantAccessPage(pages.PageView):
    """Lets a project book a private flavor."""

    http_method_names = ("post",)
    rule = "warre:flavorproject:create"

    def post(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        self.api.access.grant(kwargs["ref"], request.POST.get("project", ""))
        text = _("The project may book the flavor now.")
        return self.done(text, "horizon:admin:reservable_flavors:detail", kwargs["ref"])


class RevokeAccessPage(pages.PageView):
    """Withdraws a project's right."""

    http_method_names = ("post",)
    rule = "warre:flavorproject:delete"

    def post(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        self.api.access.revoke(kwargs["access"])
        text = _("The project can't book the flavor any more. Its reservations stay.")
        return self.done(text, "horizon:admin:reservable_flavors:detail", kwargs["ref"])
