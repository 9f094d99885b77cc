"""Every kind of difference that an audit can find, with its meaning and its remedy."""

import dataclasses
import datetime
import enum
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from warre_blazar.domain.running.wanted import Do


@dataclasses.dataclass(frozen=True)
class KeptDifference:
    """A difference that an audit has found."""

    kind: str
    subject: str
    text: str
    meaning: str
    remedy: str
    #: What is needed to mend it: options of the command, or a person.
    needs: str
    #: Why it couldn't be mended. None: nobody has tried.
    failure: str | None
    #: Whether the audit has mended it, or has asked a manager to.
    mended: bool


@dataclasses.dataclass(frozen=True)
class LastAudit:
    """The report of an audit."""

    finished_at: datetime.datetime
    #: Those that remain come first. Of very many, only the first are here.
    findings: Sequence[KeptDifference]
    #: How many differences were found.
    total: int
    #: Why a service couldn't be read, by the service's name.
    away: Mapping[str, str]


class Needs(enum.StrEnum):
    """What is needed to mend a difference: options of the command, or a person."""

    #: The remedy only writes or makes something, and can be undone.
    FIX = "--fix"
    #: The remedy deletes something or ends a lease.
    YES = "--fix --yes"
    #: The audit has no remedy. A person has to decide.
    PERSON = "a person"


@dataclasses.dataclass(frozen=True)
class DifferenceRule:
    """The meaning of a kind of difference, its remedy, and what the remedy needs."""

    meaning: str
    remedy: str
    needs: Needs
    #: The remedy, if it is a step towards what is wanted in Nova and Placement. What is said then
    #: about the reservation, with the step's ``about``.
    step: Do | None = None
    says: str = ""


_OPEN_AGAIN = "The reservation is opened to its project again."
_MAKE_AGAIN = "The missing part is made again."
_REMOVE = "The servers and the rest of the reservation's backing are removed."


@enum.unique
class DifferenceKind(enum.Enum):
    """The kinds of differences, with their rules."""

    LEASE_STATE = DifferenceRule(
        "The statuses of a lease, its events and its reservations contradict each other.",
        "The statuses are written as the table of states says.",
        Needs.FIX,
    )
    LEASE_STATE_LOST = DifferenceRule(
        "The creation, the end or the deletion of a lease stopped halfway.",
        "A manager is requested to end or delete the lease, as the table of states says.",
        Needs.YES,
    )
    LEASE_OVERDUE = DifferenceRule(
        "A lease should have started or ended, but no manager has begun to start or end it.",
        "Start a blazar-manager, or look for errors in its log.",
        Needs.PERSON,
    )
    LEASE_UNFINISHED = DifferenceRule(
        "The creation or the deletion of a lease of a stock resource type has stopped halfway, and "
        "nobody works on the lease. It may hold hosts, and can't be deleted. The exact plugins are "
        "on.",
        "A lease whose creation has stopped is removed, with what was made for it. A manager is "
        "asked to delete a lease whose deletion has stopped.",
        Needs.YES,
    )
    LEASE_HALTED = DifferenceRule(
        "The change, the start or the end of a lease of a stock resource type has stopped halfway, "
        "and nobody works on the lease. The exact plugins are on.",
        "After a change, the lease gets the status that its events show. After a start or an end, "
        "it gets the status ERROR. Either way, users can do away with it again.",
        Needs.FIX,
    )
    LEASE_STUCK = DifferenceRule(
        "Nobody seems to work on a lease of a stock resource type, but its status says that "
        "somebody does. Without the exact plugins, this package can't know that.",
        "Look into the logs of all managers whether one works on the lease. If none does, write "
        "ERROR to its status in Blazar's table leases, and to the status of those of its rows in "
        "the table events that are IN_PROGRESS. Then delete the lease.",
        Needs.PERSON,
    )
    ORPHAN_EVENTS = DifferenceRule(
        "There are events that belong to no lease. If one of them is due, Blazar's own executor "
        "stops.",
        "The events are deleted.",
        Needs.YES,
    )
    NOTICES_LOST = DifferenceRule(
        "A channel has given up notices in the last seven days, because it couldn't send them for "
        "a day, because they have no receiver, or because a project had too many.",
        "Correct the cause. What was given up isn't sent any more.",
        Needs.PERSON,
    )
    STALE_PROMISE = DifferenceRule(
        "A reservation still claims the time that was promised to an update, but the update has "
        "ended.",
        "The promise is dropped.",
        Needs.FIX,
    )
    BOOKING_MISSING = DifferenceRule(
        "Blazar has a flavor:slot reservation that has no row in this package's table, so its "
        "slots aren't counted.",
        "Delete the lease, or restore the row from a backup.",
        Needs.PERSON,
    )
    ALLOCATIONS_DIFFER = DifferenceRule(
        "The number of a reservation's instances on hosts isn't the number that was booked.",
        "Move the reservation, or delete it and book again.",
        Needs.PERSON,
    )
    BOOKED_IN_WINDOW = DifferenceRule(
        "A reservation that is older than a maintenance window overlaps it. It was left there, or "
        "the moving and ending of reservations was interrupted.",
        "Run 'openstack reservation maintenance window set WINDOW --bookings move' (or 'end'), or "
        "ask the reservation's project to change it.",
        Needs.PERSON,
    )
    INSTANCE_ROW = DifferenceRule(
        "The reservation's row in Blazar's table instance_reservations is missing, or its amounts "
        "aren't those that were booked.",
        "The row is written again with the booked amounts.",
        Needs.FIX,
    )
    NOTE_WRONG = DifferenceRule(
        "The note of the backing, or Blazar's row, doesn't have the id of the aggregate that Nova "
        "has for the reservation.",
        "The aggregate's id is written.",
        Needs.FIX,
    )
    FLAVOR_OVERSOLD = DifferenceRule(
        "At some time, more instances of a flavor are booked than the flavor has slots.",
        "Increase the flavor's slots, or move or delete reservations.",
        Needs.PERSON,
    )
    HOST_OVERSOLD = DifferenceRule(
        "At some time, reservations of all resource types together have booked more of a host "
        "than the host has.",
        "Move or delete reservations, or restore what the host had.",
        Needs.PERSON,
    )
    HOST_SHRANK = DifferenceRule(
        "A host has less of a resource class in Placement than when it was last read.",
        "Restore what the host had, or run warre-blazar-manage host refresh, which takes over what "
        "it has now and names the reservations that no longer fit.",
        Needs.PERSON,
    )
    HOST_GONE = DifferenceRule(
        "Placement has no resource provider for a host in Blazar, so the host has left Nova. Its "
        "reservations get other hosts.",
        "Start nova-compute on the host, or delete the host in Blazar.",
        Needs.PERSON,
    )
    HOST_OUTSIDE_FREEPOOL = DifferenceRule(
        "A host in Blazar is neither in the freepool nor reserved as a whole, so everybody's "
        "servers can land on it. This happens if its compute service was deleted in Nova and has "
        "come back.",
        "The host is put into the freepool. If it was gone, it can be booked again.",
        Needs.FIX,
    )
    HOST_OUT_OF_SERVICE = DifferenceRule(
        "A host can be booked, but its compute service is disabled, forced down or down in Nova, "
        "so no server boots there.",
        "Enable or start the compute service, or run warre-blazar-manage host fail HOST.",
        Needs.PERSON,
    )
    HOST_NOT_RESERVABLE = DifferenceRule(
        "A reservation is on a host that has failed or was taken out of use.",
        "Make the host reservable again, or move the reservation.",
        Needs.PERSON,
    )
    HOST_UNLIKE = DifferenceRule(
        "A reservation is on a host whose aggregates or traits have changed since, so that Nova "
        "boots none of its servers there.",
        "Undo the change, and run warre-blazar-manage host refresh. Or drain the host.",
        Needs.PERSON,
    )
    ROOM_TAKEN = DifferenceRule(
        "Somebody holds room on a host that works without a reservation that is there now. Servers "
        "of reservations may get 'No valid host' there.",
        "Move or delete the server, or delete what Placement holds for a server that is gone. With "
        "--fix, a finished resize or cold migration is confirmed, which frees what the server had "
        "before. With --fix --yes, a server of a preemptible Nova flavor is deleted.",
        Needs.PERSON,
    )
    CLASS_MISSING = DifferenceRule(
        "A reservation's resource class is missing.",
        _MAKE_AGAIN,
        Needs.FIX,
        Do.MAKE_CLASS,
        "has no resource class {about}",
    )
    AGGREGATE_MISSING = DifferenceRule(
        "A reservation's aggregate is missing.",
        _MAKE_AGAIN,
        Needs.FIX,
        Do.MAKE_AGGREGATE,
        "has no aggregate",
    )
    AGGREGATE_METADATA = DifferenceRule(
        "The metadata of a reservation's aggregate don't name its reservation and project, or lack "
        "what Nova's AggregateInstanceExtraSpecsFilter looks for.",
        "The metadata are written.",
        Needs.FIX,
        Do.SET_METADATA,
        "has an aggregate whose metadata aren't as they should be: {about}",
    )
    FLAVOR_MISSING = DifferenceRule(
        "A reservation's Nova flavor is missing.",
        _MAKE_AGAIN,
        Needs.FIX,
        Do.MAKE_FLAVOR,
        "has no Nova flavor",
    )
    FLAVOR_SPECS = DifferenceRule(
        "Extra specs of a reservation's Nova flavor are missing, or aren't as they were booked.",
        "The extra specs are written.",
        Needs.FIX,
        Do.SET_SPECS,
        "has a Nova flavor whose extra specs aren't as booked: {about}",
    )
    FLAVOR_WRONG = DifferenceRule(
        "A reservation's Nova flavor has a wrong name or wrong sizes, or is public.",
        "The Nova flavor is deleted and made again. Servers stay.",
        Needs.YES,
        Do.REPLACE_FLAVOR,
        "has a Nova flavor with {about}",
    )
    NOT_OPENED = DifferenceRule(
        "A reservation runs, but it hasn't been completely opened to its project.",
        _OPEN_AGAIN,
        Needs.FIX,
    )
    HOSTS_MISSING = DifferenceRule(
        "Hosts of a running reservation are missing from its aggregate.",
        _OPEN_AGAIN,
        Needs.FIX,
        Do.ADD_HOSTS,
        "runs, but its aggregate lacks {about}",
    )
    INVENTORY_MISSING = DifferenceRule(
        "Hosts of a running reservation don't offer its resource class for the instances that it "
        "has on them.",
        _OPEN_AGAIN,
        Needs.FIX,
        Do.OFFER,
        "runs, but provider {about} doesn't offer its {amount}",
    )
    ACCESS_MISSING = DifferenceRule(
        "The project of a running reservation can't use its Nova flavor.",
        _OPEN_AGAIN,
        Needs.FIX,
        Do.GRANT,
        "runs, but its project can't use its Nova flavor",
    )
    HOST_TOO_MANY = DifferenceRule(
        "A reservation's aggregate has a host, but the reservation isn't on the host or hasn't "
        "started.",
        "The host is taken out of the aggregate.",
        Needs.FIX,
        Do.KEEP_HOSTS,
        "has {about} in its aggregate, but isn't on that host or hasn't started there",
    )
    INVENTORY_TOO_MANY = DifferenceRule(
        "A host offers a reservation's resource class, but the reservation isn't on the host or "
        "hasn't started.",
        "The inventory is removed, unless servers use it.",
        Needs.YES,
        Do.LOWER,
        "has a resource class that provider {about} offers, although the reservation has "
        "no instances on that host, or hasn't started there yet",
    )
    TRAIT_MISSING = DifferenceRule(
        "Devices that are assigned to a running reservation lack its trait, so its servers don't "
        "boot on them.",
        "The devices get the trait.",
        Needs.FIX,
        Do.GIVE_TRAIT,
        "runs, but its trait is missing on providers {about}",
    )
    TRAIT_TOO_MANY = DifferenceRule(
        "Devices have the trait of a reservation, but aren't assigned to it, or it hasn't started.",
        "The trait is taken from the devices.",
        Needs.FIX,
        Do.TAKE_TRAIT,
        "has its trait on providers {about}, which aren't assigned to it, or it hasn't started yet",
    )
    ACCESS_TOO_MANY = DifferenceRule(
        "A project can use a Nova flavor whose reservation isn't running, or belongs to another "
        "project.",
        "The project loses its access to the Nova flavor.",
        Needs.FIX,
        Do.REVOKE,
        "is {status}, but project {about} can use its Nova flavor",
    )
    FLAVOR_EARLY = DifferenceRule(
        "There is a Nova flavor of a reservation with a handle that gets it only at its start.",
        "The Nova flavor is deleted.",
        Needs.YES,
        Do.GIVE_UP_FLAVOR,
        "is {status}, but has the Nova flavor of its handle already",
    )
    SERVER_OUTSIDE = DifferenceRule(
        "A server uses a reservation that hasn't started, or that couldn't be started.",
        "The server is deleted.",
        Needs.YES,
    )
    LEFTOVER = DifferenceRule(
        "A backing, or the note of a backing, is left of a reservation that has ended or that is "
        "in no table.",
        _REMOVE,
        Needs.YES,
    )
    TRUSTS_UNUSED = DifferenceRule(
        "Blazar's service user has trusts that no lease and no host uses. Leases of flavor:slot "
        "reservations use none, except that Warre would need those of imported leases after an "
        "undo of the import.",
        "The trusts are deleted after a wait, so that a lease that is being made can still use its "
        "trust.",
        Needs.YES,
    )
    TRUST_GONE = DifferenceRule(
        "Keystone no longer has the trust of a live lease of a stock resource type. Blazar can't "
        "start, end, change or delete this lease, and sets it to ERROR at its start or end.",
        "As a user with a role in the lease's project, make a trust for Blazar's service user "
        "(openstack trust create), and write its id to trust_id in Blazar's table leases.",
        Needs.PERSON,
    )

    @property
    def label(self) -> str:
        """The name that the command prints."""
        return self.name.lower().replace("_", "-")


@dataclasses.dataclass(frozen=True)
class Difference:
    """A difference that an audit has found."""

    kind: DifferenceKind
    #: The thing that the difference is about: its id, or its id and the name of a part of it.
    subject: str
    #: A description of the difference, for people.
    text: str
    #: The data that the remedy needs.
    details: Any = dataclasses.field(default=None, compare=False, repr=False)
    #: What applies to this difference, if not all differences of its kind have the same remedy.
    own_rule: DifferenceRule | None = None

    @property
    def rule(self) -> DifferenceRule:
        """The meaning and the remedy of this difference."""
        return self.own_rule or self.kind.value

    @property
    def key(self) -> tuple[DifferenceKind, str]:
        """The key by which an audit recognizes a difference that it finds a second time."""
        return self.kind, self.subject


def in_both(before: Iterable[Difference], after: Iterable[Difference]) -> list[Difference]:
    """The differences that an audit has found twice, as they were found the second time.

    While a manager works on a lease, there may be differences for a short time. An audit finds such
    a difference only once.

    :param before: the differences that were found the first time.
    :param after: the differences that were found the second time.
    """
    known = {difference.key for difference in before}
    return [difference for difference in after if difference.key in known]
