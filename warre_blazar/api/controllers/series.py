"""The controller of /series: reservations that take place regularly."""

import contextlib
import dataclasses
import datetime
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import pecan
from oslo_config import cfg
from oslo_utils import timeutils, uuidutils

from warre_blazar import conf, policy, texts, times
from warre_blazar.api import parsing, schemas, views
from warre_blazar.api.controllers import base
from warre_blazar.domain.booking import labels
from warre_blazar.domain.running import handles
from warre_blazar.domain.running.snapshots import BeforeEndChoice
from warre_blazar.domain.series import rules
from warre_blazar.domain.series.recurrence import Recurrence
from warre_blazar.domain.series.series import BookedSeries, RepeatedBooking, SeriesStatus
from warre_blazar.errors import exceptions
from warre_blazar.fields.series import EXCEPTED_TIMES, LOCAL_TIME
from warre_blazar.policies import series as policies
from warre_blazar.services.booking.through_manager.change import ChangeRequest
from warre_blazar.services.series import changing, occurrences, progress
from warre_blazar.services.series.occurrences import Occurrences, SeriesOutcome
from warre_blazar.site_rules import conditions, contacts

conf.register(cfg.CONF)

LIST_QUERY = {"all_projects": parsing.boolean, "project_id": parsing.project_id, **base.PAGING}
#: The fields of a series that can be changed.
_CHANGED = schemas.SERIES_CHANGE["properties"].keys()
DELETE_QUERY = {"running": parsing.boolean}


class SeriesController(base.Controller):
    """Series of reservations."""

    @pecan.expose("json")
    def get_all(self, **_query: Any) -> Any:
        policy.authorize(base.context(), policies.LIST)
        query = parsing.query(pecan.request, LIST_QUERY)
        limit, offset = base.page_of(query)
        project_id = base.listed_project(query, policies.LIST_ALL, texts.permissions.LIST_SERIES)
        page, total = progress.listing(project_id, limit, offset)
        flavors = progress.flavors_of(page)
        documents = [views.series(item, flavors[item.booking.flavor]) for item in page]
        return base.listing(documents, total, limit, offset)

    @pecan.expose("json")
    def get_one(self, *path: str, **_query: Any) -> Any:
        parsing.query(pecan.request, {})
        return _document(_find(policies.GET, base.item_id(path)))

    @pecan.expose("json")
    def post(self, **_query: Any) -> Any:
        context = base.context()
        policy.authorize(context, policies.CREATE)
        is_dry_run = base.is_dry_run()
        values = base.body(schemas.SERIES_CREATE)
        project_id = base.booked_project(values, policies.CREATE, policies.CREATE_FOR)
        recurrence = _recurrence(values)
        spans = recurrence.occurrences(_most())
        booking = RepeatedBooking(
            values["flavor_id"],
            values.get("instance_count", 1),
            values.get("affinity"),
            contacts.checked(labels.checked(values), context.user_id),
            values.get("before_end"),
            handles.checked(values),
        )

        def asked(series_id: str) -> Occurrences:
            item = BookedSeries(
                id=series_id,
                project_id=project_id,
                user_id=context.user_id,
                booking=booking,
                recurrence=recurrence,
                all_or_none=values.get("all_or_none", False),
                status=SeriesStatus.BOOKING,
                work_id=uuidutils.generate_uuid(),
                ends_running=False,
                created_at=timeutils.utcnow(),
            )
            return Occurrences(item, spans, conditions.of(context))

        if is_dry_run:
            return views.series_foreseen(occurrences.foresee(asked(uuidutils.generate_uuid())))
        return base.made_once(
            values,
            _made_before,
            lambda series_id: _outcome(
                occurrences.create(base.caller(project_id), asked(series_id))
            ),
        )

    @pecan.expose("json")
    def patch(self, *path: str, **_query: Any) -> Any:
        item = _find(policies.UPDATE, base.item_id(path))
        is_dry_run = base.is_dry_run()
        values = base.body(schemas.SERIES_UPDATE)
        if changed := values.keys() & _CHANGED:
            return _changed(item, values, is_dry_run=is_dry_run, others=values.keys() - changed)
        if len(values.keys() - {"exdates"}) != 1:
            raise exceptions.InvalidField("until", texts.expected.EITHER(one="more", other="until"))
        if is_dry_run:
            return views.series_foreseen(occurrences.foresee(_asked(item, values)))
        return base.made_once(
            values,
            lambda work_id: _extended_before(item, values, work_id),
            lambda work_id: _outcome(
                occurrences.extend(base.caller(item.project_id), _asked(item, values), work_id)
            ),
        )

    @pecan.expose("json")
    def delete(self, *path: str, **_query: Any) -> Any:
        query = parsing.query(pecan.request, DELETE_QUERY)
        item = _find(policies.DELETE, base.item_id(path))
        running = query.get("running", False)
        is_done = occurrences.end(base.caller(item.project_id), item.id, running=running)
        return base.empty(204 if is_done else 202)


def _changed(
    item: BookedSeries, values: dict[str, Any], *, is_dry_run: bool, others: Collection[str]
) -> Any:
    """Change the reservations of a series that haven't begun.

    :param others: the fields that ask to book something.
    """
    new = {name: values[name] for name in labels.NAMES if name in values}
    contacts.checked(labels.checked(new), base.context().user_id, item.booking.labels)
    of_each = ChangeRequest(
        count=values.get("instance_count"),
        labels=new or None,
        before_end=BeforeEndChoice(values["before_end"]) if "before_end" in values else None,
    )
    wanted = changing.SeriesChange(of_each, _length(values) if "hours" in values else None)
    for field in others:
        raise exceptions.InvalidField(field, texts.expected.NO_VALUE())
    allowed = conditions.of(base.context())
    if is_dry_run:
        flavor = progress.flavors_of([item])[item.booking.flavor]
        return views.series_foreseen(changing.foresee(item, flavor, wanted, allowed))
    return _outcome(changing.change_rest(base.caller(item.project_id), item, wanted, allowed))


def _asked(item: BookedSeries, values: dict[str, Any]) -> Occurrences:
    """What a PATCH asks to book."""
    allowed = conditions.of(base.context())
    if "missing" in values:
        return Occurrences(item, occurrences.missing_spans(item), allowed, again=True)
    until = _local("until", values["until"]) if "until" in values else None
    exdates = _exdates(values, item.recurrence.exdates)
    recurrence = dataclasses.replace(item.recurrence, exdates=exdates)
    item = dataclasses.replace(item, recurrence=recurrence)
    return Occurrences(
        item, occurrences.next_spans(item, _most(), values.get("more"), until), allowed
    )


def _exdates(values: dict[str, Any], present: Sequence[str]) -> tuple[str, ...]:
    """The excepted days and times of a series, with those of a body."""
    with _named("exdates"):
        return tuple(sorted({*present, *EXCEPTED_TIMES.read(values.get("exdates", []))}))


def _most() -> int:
    return int(cfg.CONF.warre.max_series_occurrences)


def _length(values: dict[str, Any]) -> datetime.timedelta:
    minutes = values["hours"] * times.HOUR / times.MINUTE
    # Some numbers of minutes, such as 20, can only be written as a rounded number of hours.
    if round(minutes, 3) != round(minutes) or round(minutes) < 1:
        raise exceptions.InvalidField("hours", texts.expected.HOURS())
    return round(minutes) * times.MINUTE


def _recurrence(values: dict[str, Any]) -> Recurrence:
    length = _length(values)
    start, timezone = _local("start", values["start"]), values["timezone"]
    rules.zone(timezone)
    given = rules.read(values["rrule"], start, timezone)
    return Recurrence(start, timezone, given.rule, length, _exdates(values, given.exdates))


def _local(field: str, text: str) -> datetime.datetime:
    with _named(field):
        return LOCAL_TIME.read(text)


@contextlib.contextmanager
def _named(field: str) -> Iterator[None]:
    """Say which field isn't valid."""
    try:
        yield
    except texts.NotValid as error:
        raise exceptions.InvalidField(field, error.expected) from None


def _made_before(series_id: str, work_id: str | None = None) -> dict[str, Any] | None:
    """The answer to a request that has booked a series, without the next starts.

    :param work_id: the request that has asked for the occurrences. None: any.
    """
    item = progress.find(series_id)
    if item is None:
        return None
    refused = [
        {**views.span(each.span), **each.refusal, "next_start": None}
        for each in progress.plan(item)
        if each.is_missing and each.refusal and work_id in (None, each.work_id)
    ]
    return {**_document(item), "refused": refused}


def _extended_before(
    item: BookedSeries, values: dict[str, Any], work_id: str
) -> dict[str, Any] | None:
    if not progress.was_asked(item, work_id):
        return None
    # Whoever asks for what is missing asks for it again.
    return _made_before(item.id, None if "missing" in values else work_id)


def _outcome(made: SeriesOutcome) -> dict[str, Any]:
    refused = [occurrences.document(each) for each in made.refused]
    return {**_document(made.series), "refused": refused}


def _document(item: BookedSeries) -> dict[str, Any]:
    flavor = progress.flavors_of([item])[item.booking.flavor]
    planned = progress.plan(item)
    unbooked = sum(each.is_missing for each in planned)
    item = dataclasses.replace(item, planned=len(planned), unbooked=unbooked)
    return views.series(item, flavor, progress.occurrences(item), planned)


def _find(rule: str, series_id: str) -> BookedSeries:
    """A series.

    :raises SeriesNotFound: the series doesn't exist, or the caller may not see it.
    :raises Forbidden: the caller may see the series, but the rule doesn't allow the action.
    """
    item = progress.get(series_id)
    target = {"project_id": item.project_id, "user_id": item.user_id}
    if not policy.allows(base.context(), rule, target):
        if policy.allows(base.context(), policies.GET, target):
            base.forbid_change(rule)
        raise exceptions.SeriesNotFound(series_id)
    return item
