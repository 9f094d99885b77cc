"""ETags: which fields of an item were changed since a client was shown the item.

An ETag has a short digest of each field that a PATCH can change. So a PATCH that sends the ETag
back is refused only if a field that it changes was changed meanwhile.
"""

import dataclasses
import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from warre_blazar.domain.booking.reservation import Reservation
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.maintenance import MaintenanceWindow
from warre_blazar.errors import exceptions
from warre_blazar.fields import flavors, others, reservations
from warre_blazar.fields.declaration import Resource, changeable

#: Values of fields in JSON, by the fields' names.
Values = Mapping[str, Any]
#: The digests of an ETag, by the names of the fields.
Digests = Mapping[str, str]

_PAIR = r"(\w+)=([0-9a-f]{10})"
# Web servers that compress answers append words such as "-gzip" to ETags.
_TAG = re.compile(rf"{_PAIR}(?:\.{_PAIR})*(?:-\w+)?", re.ASCII)


def of_flavor(item: Flavor) -> Values:
    """The fields of a flavor that a PATCH can change."""
    return in_json(flavors.FlavorFields, item.values)


def of_reservation(item: Reservation) -> Values:
    """The fields of a reservation that a PATCH can change."""
    values = {**vars(item), **vars(item.span), **vars(item.labels)}
    return in_json(reservations.ReservationFields, values)


def of_window(item: MaintenanceWindow) -> Values:
    """The fields of a maintenance window that a PATCH can change."""
    closed = {"flavor_ids": item.flavors, "host_ids": item.hosts}
    ids = {name: sorted(each_id for each_id, _ in pairs) for name, pairs in closed.items()}
    return in_json(others.WindowFields, {**vars(item), **vars(item.span), **ids})


def in_json(resource: type[Resource], values: Mapping[str, Any]) -> Values:
    """Those of some values that are fields of a resource that a PATCH can change."""
    return {
        field.name: field.kind.to_json(values[field.name])
        for field in changeable(resource)
        if field.name in values
    }


def tag(item_id: str, values: Values) -> str:
    """The ETag of an item, without its quotes."""
    return ".".join(f"{name}={_digest(item_id, values[name])}" for name in sorted(values))


def _digest(item_id: str, value: Any) -> str:
    text = json.dumps([item_id, value], sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=5).hexdigest()


def digests(text: str) -> Digests | None:
    """The digests in an ETag without its quotes. None if the ETag isn't one of this package's."""
    return dict(re.findall(_PAIR, text, re.ASCII)) if _TAG.fullmatch(text) else None


@dataclasses.dataclass(frozen=True)
class Shown:
    """What a client was shown of an item that it changes, and what it sends.

    A request without ETags may change the item in any case.
    """

    #: The digests of each ETag that the client has sent. None: it is no ETag of this package.
    tags: tuple[Digests | None, ...] = ()
    #: The values that the client sends.
    sent: Values = dataclasses.field(default_factory=dict)

    def check(self, item_id: str, present: Values) -> None:
        """Check that none of the sent fields was changed since the client was shown the item.

        A field that has the sent value already is no conflict. So a request whose answer was lost
        can be sent again. Nor is a field that the ETag doesn't have: the client wasn't shown it.

        :param present: the present values of fields. Only these fields are compared.
        :raises ChangedSinceShown:
        """
        changed = [self._changed(each, item_id, present) for each in self.tags]
        if changed and all(changed):
            fields = {n: {"now": present[n], "sent": self.sent[n]} for n in changed[0]}
            raise exceptions.ChangedSinceShown(fields)

    def _changed(self, tag: Digests | None, item_id: str, present: Values) -> list[str]:
        return [
            name
            for name, value in self.sent.items()
            if name in present
            and present[name] != value
            and (tag is None or (name in tag and tag[name] != _digest(item_id, present[name])))
        ]


#: Of a request that doesn't say what its client was shown.
NOT_SAID = Shown()
