"""The table of the API's operations: the query, body, answers and errors of each operation.

``openapi`` generates the published document from this table.
"""

from warre_blazar import times
from warre_blazar.api import schemas
from warre_blazar.api.controllers import (
    base,
    flavors,
    hosts,
    limits,
    offers,
    reservations,
    series,
    usage,
)
from warre_blazar.api.operation import Operation, declared
from warre_blazar.domain.booking import verdict
from warre_blazar.fields.calendars import CalendarFields
from warre_blazar.fields.kinds import reference as ref
from warre_blazar.fields.others import AccessFields, WindowFields
from warre_blazar.fields.shares import ShareFields
from warre_blazar.fields.usage import RefusalFields
from warre_blazar.fields.waits import WaitFields

#: The codes of errors that the manager may raise for any request.
_MANAGER = ("conflict", "no_answer", "not_found", "refused", "service_refused", "try_again")

#: The codes of errors that say why a flavor can't be booked.
_BOOKABLE = (
    *verdict.CODES,
    *("credits_refused", "limits_not_registered", "no_before_end_choice"),
)


#: The codes of errors of requests that book a series.
_SERIES_CODES = (
    *("flavor_ambiguous", "flavor_not_accessible", "flavor_not_found", "forbidden"),
    *("limits_not_registered", "series_ended", "series_refused", *_MANAGER),
)

_FLAVOR = "/flavors/{flavor_id}"
_RESERVATION = "/reservations/{reservation_id}"
_SERIES = "/series/{series_id}"

OPERATIONS = (
    Operation(
        "GET",
        "/flavors",
        "List the flavors that the project may book, sorted by name and memory.",
        {200: schemas.page(ref("FlavorOffered"))},
        ("forbidden",),
        query=flavors.LIST_QUERY,
    ),
    Operation(
        "POST",
        "/flavors",
        "Create a flavor. With `dry_run=true` nothing is created: the answer has status 200 and "
        "the flavor as it would be, with the same warnings.",
        {202: ref("FlavorOffered"), 200: ref("FlavorOffered")},
        ("device_not_countable", "forbidden", "misconfigured", "service_refused"),
        query=base.DRY_RUN,
        body="FlavorCreate",
    ),
    Operation(
        "GET",
        _FLAVOR,
        "Show a flavor, by id or name. With `detail=capacity` also show how many instances its "
        "hosts hold, and how many instances are booked from `start` (default: now) to `end` "
        f"(default: {times.CAPACITY_LENGTH.days} days after the start).",
        {200: ref("FlavorShown")},
        ("flavor_ambiguous", "flavor_not_found", "forbidden"),
        query=flavors.SHOW_QUERY,
    ),
    Operation(
        "PATCH",
        _FLAVOR,
        "Change a flavor. Reservations that are already booked don't change. With `dry_run=true` "
        "nothing is changed: the answer has the flavor as it would be, with the same warnings.",
        {200: ref("FlavorOffered")},
        (
            "device_not_countable",
            "flavor_ambiguous",
            "forbidden",
            "flavor_not_found",
            "misconfigured",
            "service_refused",
            "try_again",
        ),
        query=base.DRY_RUN,
        body="FlavorUpdate",
    ),
    Operation(
        "DELETE",
        _FLAVOR,
        "Delete a flavor whose reservations are all complete.",
        {204: None},
        ("flavor_ambiguous", "flavor_in_use", "forbidden", "flavor_not_found", "try_again"),
    ),
    Operation(
        "GET",
        f"{_FLAVOR}/freeslots",
        "List the free slots of a flavor: the spans of time, each as long as possible, during "
        "which `count` instances can be booked. Spans may overlap. With `reason=true` the answer "
        "is an object that contains the spans. If there are no spans, the object says why.",
        {200: {"anyOf": [{"type": "array", "items": ref("Span")}, ref("Free")]}},
        ("flavor_ambiguous", "flavor_not_found", "forbidden"),
        query=flavors.FREE_QUERY,
    ),
    *declared(AccessFields),
    Operation(
        "GET",
        "/reservations",
        "List the project's reservations, sorted by start unless `sort` says otherwise. With "
        "`deleted=true`, list only reservations that were deleted. With `idle=true`, list only "
        "running reservations that had no server when Nova was last asked. With `changes=true`, "
        "also say how often each reservation has changed, and when last.",
        {200: schemas.page(ref("Reservation"))},
        ("forbidden",),
        query=reservations.LIST_QUERY,
    ),
    Operation(
        "POST",
        "/reservations",
        "Book a flavor. If the booking takes long, the answer is 503 `no_answer`, and the "
        "reservation may still be made. With `dry_run=true` nothing is booked: the answer says "
        "what would be booked, or why it would be refused, and what could be booked instead.",
        {200: {"anyOf": [ref("Reservation"), ref("DryRun")]}},
        ("flavor_ambiguous", "flavor_not_found", "forbidden", *_BOOKABLE, *_MANAGER),
        query=base.DRY_RUN,
        body="ReservationCreate",
    ),
    Operation(
        "GET",
        _RESERVATION,
        "Show a reservation. With `detail=log` also show what has happened to it; in this case the "
        "reservation may have been deleted. With `detail=servers` also show the servers in it. "
        "With `changes=true` also say how often it has changed, and when last.",
        {200: ref("Reservation")},
        ("reservation_not_found",),
        query=reservations.SHOW_QUERY,
    ),
    Operation(
        "PATCH",
        _RESERVATION,
        "Change a reservation: its start, end, number of instances, name, note, or what is done "
        "with its servers before the end. Status 202 means that the change is still going on. "
        "Under /v2/warre/v1 only the end can be changed. With "
        "`dry_run=true` nothing is changed: the answer says what would change, or why it would be "
        "refused, and how the reservation could be changed instead.",
        {200: {"anyOf": [ref("Reservation"), ref("DryRun")]}, 202: ref("Reservation")},
        (
            "invalid_state",
            "lease_shared",
            "forbidden",
            "reservation_not_found",
            *_BOOKABLE,
            *_MANAGER,
        ),
        query=base.DRY_RUN,
        body="ReservationUpdate",
    ),
    Operation(
        "GET",
        f"{_RESERVATION}/extensions",
        "Show how far a reservation can be extended at this moment, and what stops it.",
        {200: ref("Extension")},
        ("invalid_state", "limits_not_registered", "reservation_not_found"),
    ),
    Operation(
        "DELETE",
        _RESERVATION,
        "Delete a reservation and its servers. Status 202 means that the deletion is still going "
        "on.",
        {204: None, 202: None},
        ("invalid_state", "lease_shared", "forbidden", "reservation_not_found", *_MANAGER),
    ),
    *declared(WindowFields),
    Operation(
        "GET",
        "/limits",
        "Show a project's limits, and how much of them the project uses. With `all_projects=true` "
        "list the limits of all projects.",
        {200: {"anyOf": [ref("Limits"), schemas.page(ref("ProjectLimits"))]}},
        ("forbidden", "limits_not_registered"),
        query=limits.QUERY,
    ),
    Operation(
        "GET",
        "/messages",
        "Show whether the caller gets messages about the reservations that the caller has booked.",
        {200: ref("Messages")},
        ("forbidden",),
    ),
    Operation(
        "PATCH",
        "/messages",
        "Turn messages on or off for the caller.",
        {200: ref("Messages")},
        ("forbidden", "try_again"),
        body="MessagesUpdate",
    ),
    Operation(
        "GET",
        "/hosts",
        "List the hosts, sorted by name: whether they can be booked, how full they are now and "
        "from `start` (default: now) to `end` (default: a week after the start), and which "
        "reservations are on them then. With `host` (an id or a name), list only this host, and "
        "who has taken room of it without a reservation.",
        {200: schemas.page(ref("Host"))},
        ("forbidden",),
        query=hosts.LIST_QUERY,
    ),
    Operation(
        "GET",
        "/usage",
        "Show what became of the instances that were booked from `from` (default: the start of the "
        "month of `to`) to `to` (default: now): hours booked, held, used, given back, cancelled "
        "and lost, and the number of refused requests. With `by`, a row for each project, user, "
        "flavor, day, week or month. Months, weeks (from Mondays) and days begin at midnight in "
        "`timezone` (default: UTC). The usage of the caller's own project is shown, unless the "
        "query asks for other projects.",
        {200: ref("UsageReport")},
        ("forbidden",),
        query=usage.QUERY,
    ),
    *declared(RefusalFields),
    Operation(
        "GET",
        "/audit",
        "Show what the last audit has found: differences between the tables, Nova, Placement and "
        "Keystone. `warre-blazar-manage audit` makes audits.",
        {200: ref("AuditReport")},
        ("forbidden",),
        query=base.PAGING,
    ),
    *declared(WaitFields, {"create": verdict.LASTING}),
    Operation(
        "GET",
        "/offers",
        "List when the flavors that the project may book can be booked: the starts between `from` "
        f"(default: now) and `to` (default: {times.OFFERS_LENGTH.days} days later) at which "
        f"`count` instances can be had for at least `hours` (default: "
        f"{times.SHORTEST_OFFER // times.HOUR}), sorted by start, and at most `limit` (default: "
        "100) of them. For each flavor of which there are none, the answer says why, and what "
        "could be booked with fewer instances or fewer hours.",
        {200: ref("Offers")},
        (
            *("flavor_ambiguous", "flavor_not_found", "forbidden", "limits_not_registered"),
            "service_unavailable",
        ),
        query=offers.OFFERS_QUERY,
    ),
    Operation(
        "GET",
        "/availability",
        "List by day or hour how many instances are free of the flavors that the project may book, "
        f"from `from` (default: now) to `to` (default: {times.AVAILABILITY_LENGTH.days} days "
        "later). Days and hours are counted "
        "from `from`. Flavors of which `count` (default: 1) instances are never free are left out. "
        "With `hours`, the answer says in which days or hours a booking of this length can begin.",
        {200: ref("Availability")},
        ("flavor_ambiguous", "flavor_not_found", "forbidden"),
        query=offers.AVAILABILITY_QUERY,
    ),
    Operation(
        "GET",
        "/series",
        "List the project's series, the latest first.",
        {200: schemas.page(ref("Series"))},
        ("forbidden",),
        query=series.LIST_QUERY,
    ),
    Operation(
        "POST",
        "/series",
        "Book a series of reservations. The answer lists what was booked and what was refused. "
        "With `dry_run=true` nothing is booked: the answer says what would be.",
        {200: {"anyOf": [ref("Series"), ref("SeriesForeseen")]}},
        _SERIES_CODES,
        query=base.DRY_RUN,
        body="SeriesCreate",
    ),
    Operation(
        "GET",
        _SERIES,
        "Show a series with its reservations.",
        {200: ref("Series")},
        ("series_not_found",),
    ),
    Operation(
        "PATCH",
        _SERIES,
        "Book further reservations of a series: `more` of them, or all that start `until` a time, "
        "or those that are `missing`. Or change those that haven't begun. With `dry_run=true` "
        "nothing is done: the answer says what would be.",
        {200: {"anyOf": [ref("Series"), ref("SeriesForeseen")]}},
        ("invalid_state", "series_not_found", *_SERIES_CODES),
        query=base.DRY_RUN,
        body="SeriesUpdate",
    ),
    Operation(
        "DELETE",
        _SERIES,
        "End a series: delete its reservations that haven't begun, and with `running=true` also "
        "those that are running. Status 202 means that the deletion is still going on.",
        {204: None, 202: None},
        ("forbidden", "no_answer", "series_not_found"),
        query=series.DELETE_QUERY,
    ),
    *declared(ShareFields),
    *declared(CalendarFields),
)
