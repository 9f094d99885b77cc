"""What the API answers, as values: times are aware, in UTC.

Each has the ``document`` it was made from, with whatever a newer server says beyond these fields.
"""

import dataclasses
import datetime
from typing import Any, Self

Document = dict[str, Any]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Resource:
    """Anything the API knows."""

    document: Document = dataclasses.field(repr=False, compare=False, default_factory=dict)

    @classmethod
    def of(cls, document: Document) -> Self:
        """From the API's document; what it doesn't know is left to ``document``."""
        return cls(**_known(cls, document), document=document)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Flavor(Resource):
    """What can be booked. ``memory_mb`` in MiB, disks in GiB, ``max_length_hours`` in hours."""

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
    #: What its hosts hold and what is booked of that, for an operator who asked for it.
    capacity: Document | None = None


@dataclasses.dataclass(frozen=True)
class Span:
    """From a start until before an end."""

    start: datetime.datetime
    end: datetime.datetime

    @property
    def length(self) -> datetime.timedelta:
        """How long it is."""
        return self.end - self.start

    @classmethod
    def of(cls, document: Document) -> Self:
        """From the API's document."""
        return cls(_time(document["start"]), _time(document["end"]))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Access(Resource):
    """A project's right to book a private flavor; ``flavor`` is its id."""

    id: str
    flavor: str
    project_id: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Reservation(Resource):
    """A project's booking of instances of a flavor from a start until before an end.

    ``status`` is PENDING_CREATE, ALLOCATED, ACTIVE, COMPLETE or ERROR; ``compute_flavor`` the id
    of the Nova flavor to boot on.
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
    #: True: all instances on one host; False: each on a host of its own.
    affinity: bool | None = None
    compute_flavor: str | None = None
    created_at: datetime.datetime | None = None


@dataclasses.dataclass(frozen=True)
class FlavorName:
    """A flavor where only that much is said of it."""

    id: str
    name: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Window(Resource):
    """A maintenance window: its flavors can't be booked from its start until before its end."""

    id: str
    start: datetime.datetime
    end: datetime.datetime
    note: str | None = None
    flavors: tuple[FlavorName, ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Limits(Resource):
    """A project's limits, -1 for unlimited, and what it uses of them."""

    max_reservations: int
    total_reservations_used: int
    max_hours: int
    total_hours_used: int
    project_id: str | None = None

    @classmethod
    def of(cls, document: Document) -> Self:
        """From the API's document, which has Nova's spelling."""
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


_TIMES = frozenset({"start", "end", "created_at"})


def _known(cls: type[Resource], document: Document) -> dict[str, Any]:
    names = {field.name for field in dataclasses.fields(cls)} - {"document"}
    values = {name: document[name] for name in names if name in document}
    for name in _TIMES & values.keys():
        values[name] = _time(values[name]) if values[name] else None
    if cls is Reservation and "flavor" in values:
        values["flavor"] = Flavor.of(values["flavor"])
    if cls is Window and "flavors" in values:
        values["flavors"] = tuple(FlavorName(f["id"], f["name"]) for f in values["flavors"])
    return values
