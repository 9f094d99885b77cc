"""The page with a project's limits and usage."""

import math
from typing import Any

from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from warre_blazar.client import Limits
from warre_blazar.dashboard import names, pages, tables, usages


class LimitsAndUsagePage(pages.PageView):
    """How much of its limits the project uses, and what it has used in some time."""

    template_name = "flavor_reservations/limits.html"
    rule = "warre:limits:get"
    title = gettext_lazy("Limits and Usage")

    def get(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        form = usages.PeriodForm(request.GET)
        by = request.GET.get("csv")
        if by in _CAPTIONS and form.is_valid():
            return usages.as_csv(self._table(by, form.span()))
        return self.render_to_response(self.get_context_data(form=form))

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        form: usages.PeriodForm = kwargs["form"]
        context = super().get_context_data(bars=_bars(self.api.limits.get()), **kwargs)
        if not form.is_valid():
            return context
        span = form.span()
        by_day = self.api.usage.get(by="day", **span)
        days = {name: f"{form.cleaned_data[name]}" for name in ("since", "until")}
        tables_ = [
            (self._table(by, span), f"?{urlencode({**days, 'csv': by})}") for by in _CAPTIONS
        ]
        return {**context, "report": by_day, "chart": usages.by_day(by_day), "tables": tables_}

    def _table(self, by: str, span: dict[str, Any]) -> tables.Table:
        users = {self.request.user.id: self.request.user.username}
        known = names.known_users(self.request, users) if by == "user" else {}
        return usages.table(self.api.usage.get(by=by, **span), _CAPTIONS[by], known)


_CAPTIONS = {"flavor": gettext_lazy("By flavor"), "user": gettext_lazy("By user")}


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
