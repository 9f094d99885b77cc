"""Refuses waits that no booking could ever fulfill by the terms that flavors have now."""

import datetime
from collections.abc import Sequence

from warre_blazar import texts, times
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.waits import Wait
from warre_blazar.errors import exceptions


def check_times(wait: Wait) -> None:
    """Refuse a wait whose own times leave no moment at which it could be served.

    :raises InvalidField: the window is shorter than the reservation, or is over already.
    """
    # An expiry can't be later than the last start.
    last_start = wait.window.end - wait.length
    if last_start < wait.window.start:
        raise exceptions.InvalidField("to", texts.expected.HOURS_AFTER(other="from"))
    if wait.is_over(wait.created_at):
        if wait.expires_at < last_start:
            raise exceptions.InvalidField("expires_at", texts.expected.FUTURE())
        raise exceptions.InvalidField("to", texts.expected.HOURS_AFTER(other="now"))


def check_flavors(wait: Wait, offered: Sequence[Flavor], *, any_length: bool = False) -> None:
    """Refuse a wait if none of its flavors can be booked like that, however much room there is.

    What other bookings, hosts and quotas leave may change while the wait is in line. So nothing of
    that is looked at.

    :param offered: the flavors that would do, and that the project may see. One at least.
    :param any_length: whether the project may book for longer than ``max_length_hours``.
    :raises InvalidField: the first field for which none of the flavors has an answer.
    """
    offered = [flavor for flavor in offered if flavor.active]
    if not offered:
        raise exceptions.InvalidField("flavor_id", texts.expected.ACTIVE_FLAVOR())
    most = max(flavor.most_instances for flavor in offered)
    if wait.instance_count > most:
        raise exceptions.InvalidField("instance_count", texts.expected.AT_MOST(at_most=most))
    offered = [flavor for flavor in offered if wait.instance_count <= flavor.most_instances]
    longest = max(_longest(flavor, any_length) for flavor in offered)
    if wait.length > longest:
        hours = longest // times.HOUR
        raise exceptions.InvalidField("hours", texts.expected.AT_MOST(at_most=hours))
    offered = [flavor for flavor in offered if wait.length <= _longest(flavor, any_length)]
    refused = [_wrong_time(wait, flavor) for flavor in offered]
    if all(refused):
        assert refused[0] is not None
        raise refused[0]


def _longest(flavor: Flavor, any_length: bool) -> datetime.timedelta:
    """The longest reservation of a flavor. One that begins now must end within max_days_ahead."""
    longest = datetime.timedelta.max if any_length else flavor.max_length
    if flavor.max_days_ahead is not None:
        longest = min(longest, flavor.max_days_ahead * times.DAY)
    return longest


def _wrong_time(wait: Wait, flavor: Flavor) -> exceptions.InvalidField | None:
    """The field of a wait because of which its times and those of a flavor don't meet, if any."""
    start = max(wait.window.start, wait.created_at.replace(second=0, microsecond=0))
    hours = wait.length / times.HOUR
    if flavor.start is not None and flavor.start > start:
        start = flavor.start
        if wait.window.end - wait.length < start:
            return exceptions.InvalidField(
                "to", texts.expected.AFTER_FLAVOR_START(hours=hours, start=start)
            )
    if flavor.end is not None and flavor.end - wait.length < start:
        return exceptions.InvalidField(
            "from", texts.expected.BEFORE_FLAVOR_END(hours=hours, end=flavor.end)
        )
    if flavor.max_days_ahead is not None:
        # The later the wait is served, the later its reservation may end.
        earliest = start + wait.length - flavor.max_days_ahead * times.DAY
        if wait.expires_at < earliest:
            return exceptions.InvalidField(
                "expires_at",
                texts.expected.LATER_EXPIRY(
                    earliest=earliest, max_days_ahead=flavor.max_days_ahead
                ),
            )
    return None
