"""Finds offers over many flavors: when they can be booked, and for how long.

The number of SQL statements is the same for any number of flavors, hosts and reservations.
"""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy.orm import Session

from warre_blazar.db import flavors, session
from warre_blazar.db.booking import quotas as stored_quotas
from warre_blazar.domain.booking.constraints import QuotaLimit
from warre_blazar.domain.booking.quota import Rule
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.hosts import host_properties
from warre_blazar.domain.slots import offers
from warre_blazar.domain.slots.free_time import Question
from warre_blazar.domain.slots.offers import FlavorOffer, NotOffered
from warre_blazar.openstack import limits
from warre_blazar.services import searches
from warre_blazar.services.hosts import new_hosts
from warre_blazar.services.slots import supply


@dataclasses.dataclass(frozen=True)
class FlavorChoice:
    """Which flavors a search is about: those that the project may book, or some of them."""

    #: The id or the name of the only flavor.
    flavor: str | None = None
    #: Values that the flavors must have, by column name.
    columns: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    #: Comparisons that must be among the flavors' own properties.
    properties: Sequence[host_properties.Comparison] = ()


@dataclasses.dataclass(frozen=True)
class Found:
    """The offers, and the flavors of which there are none."""

    #: Sorted by start, and offers with the same start by the name of the flavor.
    offers: Sequence[FlavorOffer]
    #: How many offers there are, with those that weren't asked for.
    total: int
    #: Sorted by the name of the flavor.
    missing: Sequence[NotOffered]
    #: The longest offer of each flavor with offers, and of several such the first. Sorted by the
    #: name of the flavor.
    longest: Sequence[FlavorOffer] = ()


@searches.uncollected()
def find(question: Question, choice: FlavorChoice, rule: Rule, limit: int | None = None) -> Found:
    """Find the offers of all flavors that a project may book.

    :param question: ``least`` is the length of the booking.
    :param rule: which reservations count against the project's quota.
    :param limit: the largest number of offers to return. None: all.
    :raises FlavorNotFound, FlavorAmbiguous, LimitsNotRegistered, ServiceUnavailable:
    """
    assert question.project_id is not None
    allowed = limits.of_project(question.project_id, rule.cache_time) if rule.enforced else None
    new_hosts.read()
    with session.reader() as db:
        quota = None
        if allowed is not None:
            quota = QuotaLimit(allowed, stored_quotas.usage(db, question.project_id, rule.types))
        listed = chosen(db, question, choice)
        read = supply.of_flavors(db, listed, question, question.future)
    found: list[FlavorOffer] = []
    missing, longest = [], []
    everything = functools.cache(supply.read_everything_empty)
    for flavor in listed:
        search = offers.OfferSearch(flavor, question, read, quota)
        of_flavor = search.offers()
        found += of_flavor
        if of_flavor:
            longest.append(max(of_flavor, key=lambda offer: offer.longest))
        else:
            missing.append(search.missing(everything))
    found.sort(key=lambda offer: (offer.span.start, offer.flavor.name, offer.flavor.id))
    return Found(found[:limit], len(found), missing, longest)


def chosen(db: Session, question: Question, choice: FlavorChoice) -> list[Flavor]:
    """The flavors that a search is about, sorted by name.

    :raises FlavorNotFound, FlavorAmbiguous: the search is about one flavor.
    """
    if choice.flavor is not None:
        one = flavors.require(db, choice.flavor, project_id=question.project_id, everything=False)
        return [one]
    found, _ = flavors.listing(
        db,
        project_id=question.project_id,
        everything=False,
        filters=choice.columns,
        limit=None,
        offset=0,
    )
    wanted = choice.properties
    return [f for f in found if all(each in f.shape.comparisons for each in wanted)]
