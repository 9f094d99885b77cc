"""The page that shows when flavors are free."""

import contextlib
import datetime
import urllib.parse
import zoneinfo
from typing import Any

from django import forms, http, urls
from django.contrib import messages
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme, urlencode
from django.utils.translation import gettext_lazy as _
from horizon.utils import functions as horizon_functions

from warre_blazar.client import (
    Availability,
    Flavor,
    FlavorName,
    Missing,
    Offer,
    Offers,
    Span,
    Window,
)
from warre_blazar.dashboard import addresses, moments, pages, verdicts
from warre_blazar.dashboard import forms as fields
from warre_blazar.dashboard.project.find import calendar
from warre_blazar.dashboard.project.waits import waiting

_DAY = datetime.timedelta(days=1)
#: So many offers are read. Of each flavor the first one is shown.
_OFFERS_READ = 1000


class FindForm(fields.BaseForm):
    """What the user looks for."""

    count = fields.count(initial=1)
    hours = fields.hours(initial=24)
    start = fields.DayField(label=_("From"))
    days = forms.TypedChoiceField(
        label=_("Show"), coerce=int, choices=[(14, _("2 weeks")), (30, _("30 days"))], initial=14
    )
    category = forms.ChoiceField(label=_("Kind"), required=False)
    words = forms.CharField(label=_("Name or device"), required=False, max_length=255)
    vcpu = forms.IntegerField(label=_("vCPU at least"), required=False, min_value=1)
    memory = forms.IntegerField(label=_("GiB of memory at least"), required=False, min_value=1)

    def __init__(self, *args: Any, categories: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["category"].choices = [("", _("all kinds")), *((c, c) for c in categories)]

    def chosen(self, flavors: list[Flavor]) -> set[str]:
        """The ids of flavors that have what the user looks for."""
        given = self.cleaned_data
        words = given["words"].casefold().split()
        return {
            flavor.id
            for flavor in flavors
            if flavor.vcpu >= (given["vcpu"] or 0)
            and flavor.memory_mb >= 1024 * (given["memory"] or 0)
            and all(word in _described(flavor) for word in words)
        }


def _described(flavor: Flavor) -> str:
    """All texts of a flavor, in which people look for a name or a device."""
    texts = (flavor.name, flavor.description, flavor.category, flavor.properties)
    return f"{texts} {flavor.extra_specs}".casefold()


class FindPage(pages.PageView):
    """A calendar of free instances, flavors by days, beside the earliest offers.

    With ``day`` in its address, the page shows the hours of one day.
    """

    template_name = "flavor_reservations/find.html"
    rule = "warre:offer:availability"
    title = _("Find and Book")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        flavors, given = self.api.flavors.list(), self.request.GET
        categories = sorted({f.category for f in flavors if f.category})
        defaults = {"count": 1, "hours": 24, "start": moments.today().isoformat(), "days": 14}
        values = {**defaults, **{k: given[k] for k in FindForm.base_fields if given.get(k)}}
        form = FindForm(values, categories=categories)
        context = super().get_context_data(form=form, **kwargs)
        if not form.is_valid():
            return context
        day = forms.DateField(required=False).clean(given.get("day") if _is_day(given) else None)
        query = urlencode(values)
        back = f"{query}&day={day}" if day else query
        found = self._found({**form.cleaned_data, "back": back}, form.chosen(flavors), day)
        return {**context, **found, "query": query}

    def _found(
        self, wanted: dict[str, Any], chosen: set[str], day: datetime.date | None
    ) -> dict[str, Any]:
        """The calendar and the offers.

        :param wanted: what the form says, and the query of the address to come ``back`` to.
        :param chosen: the ids of the flavors that the user looks for.
        """
        first = day or wanted["start"]
        last = first + (_DAY if day else wanted["days"] * _DAY)
        now = pages.now()
        start, end = max(moments.midnight(first), now), moments.midnight(last)
        if end <= now:
            return {"past": True}
        choice: dict[str, Any] = {"category": wanted["category"] or None}
        asked = {"length": fields.length(wanted["hours"]), "count": wanted["count"], **choice}
        by = "hour" if day else "day"
        found = _of(
            chosen,
            self.api.offers.availability(start=_since(first, now, by), end=end, by=by, **asked),
        )
        offers = self.api.offers.list(start=start, limit=_OFFERS_READ, **asked)
        earliest = _earliest(offers, chosen)
        missing = [each for each in offers.missing if each.flavor.id in chosen]
        why = {each.flavor.id: each.reason for each in missing}
        address = _booking(wanted, now) if day else _hours(wanted)
        can_wait = earliest or any(each.wait_start for each in missing)
        return {
            "day": day,
            "calendar": calendar.of(found, why, self._windows(found), by, address),
            "offers": [(each, offer_address(each, wanted, now)) for each in earliest],
            "missing": [_less(each, wanted, start, now) for each in missing],
            "wait": can_wait and waiting.address(**_wish(wanted, start), **choice),
            "may_wait": self.may("warre:wait:create"),
        }

    def _windows(self, found: Availability) -> list[Window]:
        """The maintenance windows, if any closes what was found."""
        reasons = {part.reason for each in found.flavors for part in each.free}
        is_told = "maintenance" in reasons and self.may("warre:maintenancewindow:list")
        return self.api.windows.list() if is_told else []


class ZoneSwitch(pages.ActionView):
    """Shows times in another zone from now on, as Horizon's settings do, and goes back."""

    rule = FindPage.rule
    page = "horizon:project:find_reservations:index"

    def post(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        zone, back = request.POST.get("zone", ""), request.POST.get("next", "")
        if not url_has_allowed_host_and_scheme(back, None):
            back = urls.reverse(self.page)
        answer = http.HttpResponseRedirect(back)
        if zone not in zoneinfo.available_timezones():
            messages.error(request, _("There is no time zone %(zone)s.") % {"zone": zone})
            return answer
        answer["Location"] = _in_zone(back, zone)
        return horizon_functions.save_config_value(request, answer, "django_timezone", zone)


def _in_zone(address: str, zone: str) -> str:
    """An address whose query names the same moments, but in another zone than the present one.

    If the query names a zone of its own, its times are in that one.
    """
    parts = urllib.parse.urlsplit(address)
    query = http.QueryDict(parts.query, mutable=True)
    for name, given in query.items():
        if name in ("start", "end", "earliest", "latest") and "timezone" not in query:
            with contextlib.suppress(ValueError, OverflowError):
                moment = datetime.datetime.strptime(given, "%Y-%m-%dT%H:%M")
                there = timezone.make_aware(moment).astimezone(zoneinfo.ZoneInfo(zone))
                query[name] = f"{there:%Y-%m-%dT%H:%M}"
    return parts._replace(query=query.urlencode()).geturl()


def _of(chosen: set[str], found: Availability) -> Availability:
    """What is free of some flavors."""
    return Availability(
        tuple(each for each in found.flavors if each.flavor.id in chosen),
        tuple(each for each in found.missing if each.flavor.id in chosen),
    )


def _earliest(found: Offers, chosen: set[str]) -> list[Offer]:
    """The first offer of each flavor, sorted by start."""
    first: dict[str, Offer] = {}
    # Of a flavor whose offers are all beyond the limit, the longest one is known.
    for each in (*found.offers, *found.longest):
        if each.flavor.id in chosen:
            first.setdefault(each.flavor.id, each)
    return sorted(first.values(), key=lambda each: (each.start, each.flavor.name))


def _is_day(given: Any) -> bool:
    try:
        datetime.date.fromisoformat(given.get("day", ""))
    except ValueError:
        return False
    return True


def _since(day: datetime.date, now: datetime.datetime, by: str) -> datetime.datetime:
    """The start of the first part. The API leaves out what has passed of the parts."""
    start = moments.midnight(day)
    if by == "day":
        while start + _DAY <= now:
            start += _DAY
    return start


def _wish(wanted: dict[str, Any], start: datetime.datetime) -> dict[str, Any]:
    """The fields of the form that waits for what the user looks for."""
    earliest = start if start > pages.now() else None
    return {"hours": wanted["hours"], "count": wanted["count"], "earliest": earliest}


def _hours(wanted: dict[str, Any]) -> calendar.Address:
    """Addresses of the hours of a day."""
    made = {}

    def address(_flavor: FlavorName, span: Span) -> str:
        if span not in made:
            middle = span.start + (span.end - span.start) / 2
            day = moments.query(middle)[:10]
            given = {name: value for name, value in wanted.items() if name != "back"}
            made[span] = addresses.of("project:find_reservations:index", **given, day=day)
        return made[span]

    return address


def _booking(wanted: dict[str, Any], now: datetime.datetime) -> calendar.Address:
    """Addresses of the form that books a flavor from an hour on."""

    def address(flavor: FlavorName, span: Span) -> str:
        start = calendar.hour_after(now, span)
        return _book(flavor.id, start, wanted["hours"], wanted["count"], wanted)

    return address


def _book(
    flavor: str,
    start: datetime.datetime | None,
    hours: float,
    count: int,
    wanted: dict[str, Any],
) -> str:
    """The address of the form that books a flavor, with these values in it, and the way back."""
    values = {"start": start, "hours": float(hours), "count": count, "back": wanted["back"]}
    return addresses.of("project:find_reservations:book", flavor, **values)


def offer_address(offer: Offer, wanted: dict[str, Any], now: datetime.datetime) -> str:
    """Return the address of the form that books an offer."""
    start = calendar.hour_after(now, Span(offer.start, offer.latest_end))
    hours = min(wanted["hours"], offer.longest_hours)
    return _book(offer.flavor.id, start, hours, offer.instance_count, wanted)


def _less(
    missing: Missing, wanted: dict[str, Any], start: datetime.datetime, now: datetime.datetime
) -> dict[str, Any]:
    """A flavor without an offer: why, and what could be booked with less, or waited for."""
    less = [offer for offer in (missing.fewer_instances, missing.fewer_hours) if offer]
    return {
        "flavor": missing.flavor,
        "reason": verdicts.brief(missing.reason),
        "less": [(offer, offer_address(offer, wanted, now)) for offer in less],
        "wait": waiting.address(missing.flavor.id, **_wish(wanted, start))
        if missing.wait_start
        else None,
    }
