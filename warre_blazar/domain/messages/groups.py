"""Which notices one message tells together."""

from collections.abc import Sequence
from typing import Any

from warre_blazar.domain.messages.messages import has_begun
from warre_blazar.domain.messages.notices import Kind, Notice

#: What often happens to several reservations at once. The messages about all other kinds say things
#: that differ from reservation to reservation, such as how to extend it.
_TOGETHER = frozenset({Kind.CREATED, Kind.DELETED, Kind.MAINTENANCE, Kind.HOST_LOST})
#: What one command changes of the reservations of a series. A reservation may have several such
#: notices in one message.
CHANGED = frozenset({Kind.RESCHEDULED, Kind.RESIZED})

#: Who gets a message, and in which time zone it shows times.
_RECEIVER = ("project_id", "user_id", "contact", "timezone")
#: What a message says once. It is the same for all reservations that the message is about. Messages
#: about deletions and changes say it of each reservation.
_SAID_ONCE = (*_RECEIVER, "name", "instance_count", "before_end")


def grouped(notices: Sequence[Notice]) -> list[list[Notice]]:
    """Notices in groups, each of which is one message, in the order in which they are told.

    The reservations of a group are of one series or one lease, or one person has deleted them, and
    the same has happened to them. A notice overtakes others, but none about the same reservation.
    Several changes of a single reservation are told one by one.
    """
    groups: list[list[Notice]] = []
    #: The place of the last group of each kind of group, and of the last one about each subject.
    of_key: dict[tuple[Any, ...], int] = {}
    of_subject: dict[str, int] = {}
    for notice in notices:
        key = _key(notice)
        place = of_key.get(key, -1)
        #: The first place at which the notice overtakes none about the same reservation.
        first = of_subject.get(notice.subject, -1) + (notice.news.kind not in CHANGED)
        if place < max(first, 0):
            place = len(groups)
            groups.append([])
        groups[place].append(notice)
        of_key[key] = of_subject[notice.subject] = place
    return [part for group in groups for part in _messages(group)]


def _messages(group: list[Notice]) -> list[list[Notice]]:
    """The notices of each message about a group: one message, if it is of several reservations."""
    is_of_one = len({notice.subject for notice in group}) == 1
    return [[notice] for notice in group] if is_of_one else [group]


def _key(notice: Notice) -> tuple[Any, ...]:
    """What the notices of a group have in common."""
    news, content = notice.news, notice.content
    if news.kind in CHANGED and content["series_id"]:
        return ("changed", news.user_id, content["series_id"], *(content[n] for n in _RECEIVER))
    if news.kind not in _TOGETHER:
        return (notice.id,)
    if news.kind is Kind.DELETED:
        return (news.kind, news.user_id, *(content[name] for name in _RECEIVER))
    thing = content["series_id"] or content["lease_id"]
    said = (content["flavor"]["id"], *(content[name] for name in _SAID_ONCE))
    return (news.kind, news.user_id, thing, has_begun(notice), *said)
