"""The API's resources as immutable values. All times are datetimes with the time zone UTC.

Each resource keeps the ``document`` that it was made from. If a newer server sends additional
fields, they can be read from the document.
"""

import dataclasses
import datetime
from typing import Any, Self

Document = dict[str, Any]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Resource:
    """The base class of the resources."""

    document: Document = dataclasses.field(repr=False, compare=False, default_factory=dict)

    @classmethod
    def of(cls, document: Document) -> Self:
        """Make a resource from the API's document.

        Fields that this version of the client doesn't know are only in ``document``.
        """
        return cls(**_known(cls, document), document=document)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Flavor(Resource):
    """A flavor that an operator offers. ``memory_mb`` is in MiB, and disks are in GiB."""

    id: str
    name: str
    vcpu: int
    memory_mb: int
    disk_gb: int
    slots: int
    max_length_hours: int
    description: str | None = None
    ephemeral_gb: int = 0
    active: bool = True
    properties: str | None = None
    is_public: bool = True
    extra_specs: dict[str, str] = dataclasses.field(default_factory=dict)
    start: datetime.datetime | None = None
    end: datetime.datetime | None = None
    category: str | None = None
    availability_zone: str | None = None
    #: Whether any host could hold an instance. None if the server is too old to tell.
    bookable: bool | None = None
    #: The number of hosts that could hold an instance. None if the user isn't an operator.
    bookable_hosts: int | None = None
    #: The API's warnings about the flavor. Each is a document with a ``code`` and a ``message``.
    warnings: tuple[Document, ...] = ()
    #: A document that says what limits the number of instances on each host. None if the user isn't
    #: an operator.
    limits: Document | None = None
    #: A document that says how many instances the hosts can hold, and how many are booked. None
    #: unless an operator has asked for the capacity.
    capacity: Document | None = None


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
        return cls(_time(document["start"]), _time(document["end"]))


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


@dataclasses.dataclass(frozen=True, kw_only=True)
class Access(Resource):
    """A project's right to book a private flavor. ``flavor`` is the id of the flavor."""

    id: str
    flavor: str
    project_id: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Reservation(Resource):
    """Instances of a flavor that a project has booked for a time with a start and an end.

    ``status`` is PENDING_CREATE, ALLOCATED, ACTIVE, COMPLETE or ERROR. ``compute_flavor`` is the id
    of the Nova flavor with which servers are booted on the reservation.
    """

    id: str
    flavor: Flavor
    instance_count: int
    start: datetime.datetime
    end: datetime.datetime
    status: str
    status_reason: str | None = None
    project_id: str | None = None
    user_id: str | None = None
    lease_id: str | None = None
    #: True: all instances are on one host. False: each is on a host of its own. None: on any hosts.
    affinity: bool | None = None
    compute_flavor: str | None = None
    #: A name chosen by a person. Several reservations may have the same name.
    name: str | None = None
    note: str | None = None
    created_at: datetime.datetime | None = None
    #: Whether some instances are still on hosts that have failed, because no other host has room.
    missing_resources: bool = False
    #: Whether instances were moved while the reservation was running, because their hosts had
    #: failed.
    resources_changed: bool = False
    #: The time of the reservation's deletion, and the id of the user who deleted the reservation.
    #: Both are None if the reservation exists. ``deleted_by`` is also None if no user deleted the
    #: reservation.
    deleted_at: datetime.datetime | None = None
    deleted_by: str | None = None


@dataclasses.dataclass(frozen=True)
class FlavorName:
    """The id and the name of a flavor, in answers that don't contain the flavor's other fields."""

    id: str
    name: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Window(Resource):
    """A maintenance window. Its flavors can't be booked from its start to its end."""

    id: str
    start: datetime.datetime
    end: datetime.datetime
    note: str | None = None
    flavors: tuple[FlavorName, ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Limits(Resource):
    """A project's limits, and how much of them the project uses. -1 means unlimited."""

    max_reservations: int
    total_reservations_used: int
    max_hours: int
    total_hours_used: int
    project_id: str | None = None

    @classmethod
    def of(cls, document: Document) -> Self:
        """Make limits from the API's document, which has the form of the limits in Nova's API."""
        absolute = document.get("absolute", document)
        return cls(
            max_reservations=absolute["maxReservations"],
            total_reservations_used=absolute["totalReservationsUsed"],
            max_hours=absolute["maxHours"],
            total_hours_used=absolute["totalHoursUsed"],
            project_id=document.get("project_id"),
            document=document,
        )


def _time(text: str) -> datetime.datetime:
    parsed = datetime.datetime.fromisoformat(text)
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=datetime.UTC)


_TIMES = frozenset({"start", "end", "created_at", "deleted_at"})


def _known(cls: type[Resource], document: Document) -> dict[str, Any]:
    names = {field.name for field in dataclasses.fields(cls)} - {"document"}
    values = {name: document[name] for name in names if name in document}
    for name in _TIMES & values.keys():
        values[name] = _time(values[name]) if values[name] else None
    if cls is Reservation and "flavor" in values:
        values["flavor"] = Flavor.of(values["flavor"])
    if cls is Flavor and "warnings" in values:
        values["warnings"] = tuple(values["warnings"])
    if cls is Window and "flavors" in values:
        values["flavors"] = tuple(FlavorName(f["id"], f["name"]) for f in values["flavors"])
    return values
