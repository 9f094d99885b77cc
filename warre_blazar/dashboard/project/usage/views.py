"""The page with a project's limits and usage."""

import math
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from warre_blazar.client import Limits
from warre_blazar.dashboard import names, pages, usages


class LimitsAndUsagePage(pages.PageView):
    """How much of its limits the project uses, and what it has used this month."""

    template_name = "flavor_reservations/limits.html"
    rule = "warre:limits:get"
    title = gettext_lazy("Limits and Usage")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        zone = timezone.get_current_timezone_name()
        by_day, by_flavor, by_user = (
            self.api.usage.get(by=by, timezone=zone) for by in ("day", "flavor", "user")
        )
        users = {self.request.user.id: self.request.user.username}
        return super().get_context_data(
            bars=_bars(self.api.limits.get()),
            report=by_day,
            chart=usages.by_day(by_day),
            tables=[
                usages.table(by_flavor, _("By flavor")),
                usages.table(by_user, _("By user"), names.known_users(self.request, users)),
            ],
            **kwargs,
        )


def _bars(limits: Limits) -> list[dict[str, Any]]:
    """What is used of each limit. A limit of -1 means unlimited."""
    pairs = (
        (_("Reservations"), limits.total_reservations_used, limits.max_reservations),
        (_("Hours"), limits.total_hours_used, limits.max_hours),
    )
    return [
        {
            "name": name,
            "used": used,
            "limit": None if limit < 0 else limit,
            "left": limit - used,
            # Anything that is used can be seen.
            "percent": 0 if limit <= 0 else min(100, math.ceil(100 * used / limit)),
        }
        for name, used, limit in pairs
    ]
