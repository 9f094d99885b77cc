"""How long a lease's flavors let it be."""

from collections.abc import Iterable

from warre_blazar.db import flavors, reservations, session
from warre_blazar.domain import rules
from warre_blazar.domain.timeline import Span


def check_flavors(refs: Iterable[str], span: Span) -> None:
    """:raises FlavorNotBookable: for the first flavor (id or name) that allows less."""
    with session.reader() as db:
        for ref in refs:
            flavor = flavors.find(db, ref)
            if flavor is not None:
                rules.check_length(flavor, span)


def check_reservations(ids: Iterable[str], span: Span) -> None:
    """The same for the flavors of reservations.

    A span that is less than what is held already passes, though the flavor's limit fell since.

    :raises FlavorNotBookable:
    """
    with session.reader() as db:
        for reservation_id in ids:
            found = reservations.find(db, reservation_id)
            if found is None or found.span.contains(span):
                continue
            rules.check_length(flavors.get_many(db, {found.flavor_id})[found.flavor_id], span)
