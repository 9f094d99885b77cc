"""The API's resources as immutable values. All times are datetimes with the time zone UTC.

Their attributes are the fields that ``warre_blazar.fields`` declares.
"""

import copy
import dataclasses
import datetime
from collections.abc import Sequence
from typing import Any, Generic, Self, TypeVar

from warre_blazar.fields import (
    audit,
    calendars,
    flavors,
    others,
    reservations,
    series,
    shares,
    usage,
    waits,
)
from warre_blazar.fields.declaration import Field, Resource, answered
from warre_blazar.fields.kinds import Text, Time

Document = dict[str, Any]
_time: Any = Time()


def _moment(document: Document, name: str) -> Any:
    """A moment in a document. None: it isn't there."""
    return _time.from_json(document[name]) if document.get(name) else None


class Value(Resource):
    """The base class of the resources. Fields that an answer doesn't have are at their defaults.

    Each resource keeps the ``document`` that it was made from. If a newer server sends additional
    fields, they can be read from the document.
    """

    document: Document
    #: Stands for the values of the fields that can be changed. Only a flavor, a reservation or a
    #: maintenance window that was read or changed by itself has an ETag.
    etag: str | None

    def __init__(
        self, document: Document | None = None, etag: str | None = None, **values: Any
    ) -> None:
        declared = {field.key: copy.copy(field.default) for field in answered(type(self))}
        if unknown := values.keys() - declared:
            raise TypeError(f"unknown fields: {', '.join(sorted(unknown))}")
        # The values aren't validated, because a newer server may have other bounds.
        vars(self).update(declared, document=document or {}, etag=etag, **values)

    @classmethod
    def of(cls, document: Document, etag: str | None = None) -> Self:
        """Make a resource from the API's document.

        Fields that this version of the client doesn't know are only in ``document``.
        """
        values = {
            field.key: field.kind.from_json(document[field.name])
            for field in answered(cls)
            if field.name in document
        }
        return cls(document, etag, **cls._converted(values))

    @classmethod
    def _converted(cls, values: Document) -> Document:
        """Convert values that are documents."""
        return values

    def _fields(self) -> Document:
        return {field.key: getattr(self, field.key) for field in answered(type(self))}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash((type(self), self._fields().get("id")))

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in self._fields().items())
        return f"{type(self).__name__}({values})"

    def __setattr__(self, name: str, value: Any) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


class Flavor(Value, flavors.FlavorShown):
    """A flavor that an operator offers. ``memory_mb`` is in MiB, and disks are in GiB."""

    @classmethod
    def _converted(cls, values: Document) -> Document:
        return {**values, "warnings": tuple(values.get("warnings", ()))}


@dataclasses.dataclass(frozen=True)
class Span:
    """A time with a start and an end. The end is the first moment after the span."""

    start: datetime.datetime
    end: datetime.datetime

    @property
    def length(self) -> datetime.timedelta:
        """The duration from start to end."""
        return self.end - self.start

    @classmethod
    def of(cls, document: Document) -> Self:
        """Make a span from the API's document."""
        start, end = (_time.from_json(document[name]) for name in ("start", "end"))
        return cls(start, end)


@dataclasses.dataclass(frozen=True)
class Reason:
    """The reason why a flavor has no free slots.

    :ivar code: a stable word for programs.
    :ivar message: a text for people.
    :ivar detail: the reason's data, whose fields depend on the code.
    """

    code: str
    message: str
    detail: Document

    @classmethod
    def of(cls, document: Document) -> Self:
        """Make a reason from the API's document."""
        return cls(document["code"], document["message"], document["detail"])


Item = TypeVar("Item")


@dataclasses.dataclass(frozen=True)
class Page(Generic[Item]):
    """One page of a listing."""

    items: tuple[Item, ...]
    #: The number of the page. The first one is 1.
    number: int
    #: The number of items on each page but the last one.
    size: int
    #: How many items there are on all pages.
    total: int

    @property
    def count(self) -> int:
        """How many pages there are. An empty listing has one."""
        return max(1, -(-self.total // self.size))


class Access(Value, others.AccessFields):
    """A project's right to book a private flavor. ``flavor`` is the id of the flavor."""


class Reservation(Value, reservations.ReservationFields):
    """Instances of a flavor that a project has booked for a time with a start and an end.

    ``status`` is PENDING_CREATE, ALLOCATED, ACTIVE, COMPLETE, ERROR or DELETED. ``flavor`` is a
    ``Flavor``.
    """

    @classmethod
    def _converted(cls, values: Document) -> Document:
        values = {**values, "warnings": tuple(values.get("warnings", ()))}
        return {**values, "flavor": Flavor.of(values["flavor"])} if "flavor" in values else values


@dataclasses.dataclass(frozen=True, kw_only=True)
class DryRun:
    """What a booking or a change of a reservation would do. Nothing was booked or changed.

    ``document`` is the API's answer.
    """

    #: Whether the request would be accepted.
    bookable: bool
    #: Every rule that refuses the request. The request itself is refused with the first of them.
    refusals: tuple[Reason, ...] = ()
    #: What is in doubt although nothing is refused.
    warnings: tuple[Reason, ...] = ()
    instance_count: int
    start: datetime.datetime
    end: datetime.datetime
    #: What would be done with the servers before they are deleted at the end: ``nothing`` or
    #: ``snapshot``.
    before_end: str = "nothing"
    #: By resource (``reservations`` and ``hours``), a document with the ``cost`` of the request and
    #: with what would be ``left`` of the quota. None if no quota is enforced.
    quota: Document | None = None
    #: The first start, from the wanted one on, at which the wanted length and count can be booked.
    next_start: datetime.datetime | None = None
    #: The first start, from the wanted one on, that a wait could get. None: a wait is never served,
    #: or gets ``next_start`` at best.
    wait_start: datetime.datetime | None = None
    #: For how many hours the wanted count can be booked from the wanted start on.
    longest_hours: float = 0
    #: The largest number of instances that can be booked for the wanted time.
    most_instances: int = 0
    #: The first few reservations of the flavor that the project itself has at the wanted time.
    own: Sequence[Document] = ()
    document: Document = dataclasses.field(default_factory=dict, repr=False, compare=False)

    @property
    def category(self) -> str | None:
        """The category of the flavor."""
        category: str | None = self.document.get("flavor", {}).get("category")
        return category

    @classmethod
    def of(cls, document: Document) -> Self:
        """Make a dry run from the API's document."""
        names = {field.name for field in dataclasses.fields(cls)} & document.keys()
        values = {name: document[name] for name in names}
        for name in ("start", "end", "next_start", "wait_start"):
            values[name] = _moment(document, name)
        for name in ("refusals", "warnings"):
            values[name] = tuple(Reason.of(each) for each in document.get(name, ()))
        return cls(**{**values, "document": document})


@dataclasses.dataclass(frozen=True)
class Alternatives:
    """What could be booked in place of a booking or change that was refused."""

    #: The first start, from the wanted one on, at which the wanted length and count can be booked.
    next_start: datetime.datetime | None
    #: For how many hours the wanted count can be booked from the wanted start on.
    longest_hours: float
    #: The largest number of instances that can be booked for the wanted time.
    most_instances: int
    #: The category of the flavor that was asked for.
    category: str | None = None
    #: The first start, from the wanted one on, that a wait could get. None: a wait is never served,
    #: or gets ``next_start`` at best.
    wait_start: datetime.datetime | None = None
    #: The first few reservations of the flavor that the project itself has at the wanted time.
    own: Sequence[Document] = ()

    @classmethod
    def of(cls, detail: Document) -> Self:
        """Make it from the ``detail`` of the API's error."""
        return cls(
            _moment(detail, "next_start"),
            detail["longest_hours"],
            detail["most_instances"],
            detail.get("category"),
            _moment(detail, "wait_start"),
            detail.get("own", ()),
        )


@dataclasses.dataclass(frozen=True)
class FlavorName:
    """The id and the name of a flavor, in answers that don't contain the flavor's other fields."""

    id: str
    name: str


@dataclasses.dataclass(frozen=True)
class FlavorSize(FlavorName):
    """A flavor in an offer: what tells it from other flavors."""

    category: str | None
    vcpu: int
    memory_mb: int
    disk_gb: int
    availability_zone: str | None
    slots: int

    @classmethod
    def of(cls, document: Document) -> Self:
        """Make the flavor from the API's document."""
        return cls(**{field.name: document[field.name] for field in dataclasses.fields(cls)})


@dataclasses.dataclass(frozen=True)
class Offer:
    """A start at which a flavor can be booked, and how long such a booking can be."""

    flavor: FlavorSize
    instance_count: int
    start: datetime.datetime
    latest_end: datetime.datetime
    longest_hours: float

    @classmethod
    def of(cls, document: Document) -> Self:
        """Make an offer from the API's document."""
        return cls(
            FlavorSize.of(document["flavor"]),
            document["instance_count"],
            _time.from_json(document["start"]),
            _time.from_json(document["latest_end"]),
            document["longest_hours"],
        )


@dataclasses.dataclass(frozen=True)
class Extension:
    """How far a reservation can be extended, and what stops it."""

    latest_end: datetime.datetime
    #: The code of the error that a later end would get. None: nothing stops it within a year.
    stopped_by: str | None
    #: From when on the flavor's terms allow an extension. None: they allow it now.
    extend_from: datetime.datetime | None

    @classmethod
    def of(cls, document: Document) -> Self:
        """Make it from the API's document."""
        later = document["extend_from"]
        return cls(
            _time.from_json(document["latest_end"]),
            document["stopped_by"],
            _time.from_json(later) if later else None,
        )


@dataclasses.dataclass(frozen=True)
class Missing:
    """A flavor that can't be booked as asked, and what could be booked with less."""

    flavor: FlavorSize
    #: The code of the error that a booking would get.
    reason: str
    fewer_instances: Offer | None
    fewer_hours: Offer | None
    #: The first start that a wait could get. None: none is ever served.
    wait_start: datetime.datetime | None = None

    @classmethod
    def of(cls, document: Document) -> Self:
        """Make it from the API's document."""
        less = (document["fewer_instances"], document["fewer_hours"])
        fewer, shorter = (each and Offer.of(each) for each in less)
        flavor, wait_start = FlavorSize.of(document["flavor"]), _moment(document, "wait_start")
        return cls(flavor, document["reason"], fewer, shorter, wait_start)


@dataclasses.dataclass(frozen=True)
class Offers:
    """The offers of many flavors, the earliest start first."""

    offers: tuple[Offer, ...]
    #: How many offers there are, with those beyond the limit.
    total: int
    missing: tuple[Missing, ...]
    #: For each flavor with offers, the offer with the most hours.
    longest: tuple[Offer, ...] = ()

    @classmethod
    def of(cls, document: Document) -> Self:
        """Make the offers from the API's document."""
        return cls(
            tuple(Offer.of(each) for each in document["results"]),
            document["total"],
            tuple(Missing.of(each) for each in document["missing"]),
            tuple(Offer.of(each) for each in document.get("longest", ())),
        )


@dataclasses.dataclass(frozen=True)
class FreePart:
    """How many instances of a flavor are free in a day or hour."""

    span: Span
    instances: int
    #: Whether a booking of the wanted number and length can begin in it. None: it isn't known.
    can_start: bool | None = None
    #: The code of the refusal, if fewer than the wanted number are free.
    reason: str | None = None

    @classmethod
    def of(cls, document: Document) -> Self:
        """Make it from the API's document."""
        more = (document.get(name) for name in ("can_start", "reason"))
        return cls(Span.of(document), document["instances"], *more)


@dataclasses.dataclass(frozen=True)
class FreeParts:
    """How many instances of a flavor are free in each day or hour."""

    flavor: FlavorSize
    free: tuple[FreePart, ...]

    @classmethod
    def of(cls, document: Document) -> Self:
        """Make it from the API's document."""
        free = tuple(FreePart.of(part) for part in document["free"])
        return cls(FlavorSize.of(document["flavor"]), free)


@dataclasses.dataclass(frozen=True)
class Availability:
    """How many instances of many flavors are free, and why of others none are."""

    flavors: tuple[FreeParts, ...]
    missing: tuple[Missing, ...]

    @classmethod
    def of(cls, document: Document) -> Self:
        """Make it from the API's document."""
        return cls(
            tuple(FreeParts.of(each) for each in document["results"]),
            tuple(Missing.of(each) for each in document.get("missing", ())),
        )


class Window(Value, others.WindowFields):
    """A maintenance window. Its flavors and hosts can't be booked from its start to its end.

    Only operators get ``hosts``: pairs of an id and a hypervisor hostname.
    """

    @classmethod
    def _converted(cls, values: Document) -> Document:
        closed = tuple(FlavorName(f["id"], f["name"]) for f in values.get("flavors", ()))
        hosts = tuple((h["id"], h["name"]) for h in values.get("hosts", ()))
        return {**values, "flavors": closed, "hosts": hosts}


class Series(Value, series.SeriesFields):
    """Reservations that take place regularly.

    ``start`` is a local time without a time zone. ``refused`` has a document for each occurrence
    that the request couldn't book.
    """


@dataclasses.dataclass(frozen=True)
class SeriesForeseen:
    """What a request to book a series would do."""

    bookable: bool
    #: The times that were asked for.
    occurrences: tuple[Span, ...]
    #: A document for each occurrence that couldn't be booked.
    refused: tuple[Document, ...]

    @classmethod
    def of(cls, document: Document) -> Self:
        """Make it from the API's document."""
        spans = tuple(Span.of(each) for each in document["occurrences"])
        return cls(document["bookable"], spans, tuple(document["refused"]))


class Usage(Value, usage.UsageFields):
    """What became of the instances of a project, user, flavor or part of a time, or of all.

    ``hours`` has the hours of instances by quantity, and ``resource_hours`` has the same by
    resource class.
    """


@dataclasses.dataclass(frozen=True)
class UsageReport:
    """The usage of a time. ``rows`` has a row for each of what it is added up by."""

    start: datetime.datetime
    end: datetime.datetime
    #: What the usage is added up by: one of ``fields.usage.KEYS``. None: one row.
    by: str | None
    rows: tuple[Usage, ...]

    @classmethod
    def of(cls, document: Document) -> Self:
        """Make a report from the API's document."""
        span = Span.of(document)
        rows = tuple(Usage.of(row) for row in document["results"])
        return cls(span.start, span.end, document["by"], rows)


class Refusal(Value, usage.RefusalFields):
    """A request to book or to change a reservation that a rule has refused."""


@dataclasses.dataclass(frozen=True)
class Host:
    """A host, for operators. ``document`` is the API's answer, with all fields."""

    id: str
    name: str
    #: ``bookable``, ``draining``, ``failed``, ``gone`` or ``abandoned``.
    state: str
    document: Document = dataclasses.field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, document: Document) -> Self:
        """Make a host from the API's document."""
        return cls(document["id"], document["name"], document["state"], document)


class Messages(Value, others.MessagesFields):
    """Whether the user gets messages about the reservations that the user has booked."""

    def why_none(self, contact: str | None) -> str:
        """Return why no message will come, or "" if one will come, as far as that is known.

        :param contact: the address of the reservation or wait. None: the user's own.
        :returns: ``not_sent`` (by the site), ``off`` (by the user), ``no_address`` or "".
        """
        if self.sends is False:
            return "not_sent"
        if not self.enabled:
            return "off"
        is_unknown = self.document.get("address", "") is None and not contact
        return "no_address" if is_unknown else ""


class Limits(Value, others.LimitsFields):
    """A project's limits, and how much of them the project uses. -1 means unlimited."""

    project_id: Field[str | None] = Field(Text(255), "The project's id.")

    @classmethod
    def of(cls, document: Document, etag: str | None = None) -> Self:
        """Make limits from the API's document, which has the form of the limits in Nova's API."""
        values = {**document, **document.get("absolute", {})}
        return super().of(values, etag)


class AuditFinding(Value, audit.AuditFindingFields):
    """A difference that an audit has found."""


@dataclasses.dataclass(frozen=True)
class AuditReport:
    """A page of what the last audit has found."""

    #: When it has finished. None: there was no audit yet.
    finished_at: datetime.datetime | None
    #: How many differences it has found. Of very many, only the first are kept.
    found: int
    #: Why a service couldn't be compared, by the service's name.
    away: dict[str, str]
    #: The differences that remain come first.
    findings: Page[AuditFinding]


class CalendarAddress(Value, calendars.CalendarFields):
    """An address at which calendar programs read the reservations of a project."""


class Share(Value, shares.ShareFields):
    """The right of another project to boot servers on the places of a reservation."""


class Wait(Value, waits.WaitFields):
    """A wish to book instances once there is room, or to be told of it.

    ``status`` is WAITING, BOOKING, BOOKED, TOLD, EXPIRED, CANCELED or REFUSED.
    """
