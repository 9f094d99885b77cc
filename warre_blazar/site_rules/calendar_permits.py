"""Asks Keystone whether the owner of a calendar's address may still see what it shows."""

from blazar.context import BlazarContext

from warre_blazar import policy, texts
from warre_blazar.db.booking.calendars import SubscribedCalendar
from warre_blazar.errors import exceptions
from warre_blazar.fields.calendars import CalendarFields
from warre_blazar.openstack import people


def is_permitted(calendar: SubscribedCalendar) -> bool:
    """Whether the policy lets the owner have the address, with the roles that Keystone lists now.

    :raises ServiceUnavailable, ServiceRefused: Keystone doesn't say.
    """
    user_id, project_id = calendar.user_id, calendar.project_id
    if people.why_disabled(user_id, project_id):
        return False
    roles = people.roles(user_id, project_id)
    context = BlazarContext(user_id=user_id, project_id=project_id, roles=roles)
    return policy.allows(context, CalendarFields.rule("create"))


def require(calendar: SubscribedCalendar) -> None:
    """Refuse a new address that would show nothing.

    The token of a federated user may have roles that Keystone doesn't list as role assignments.

    :raises Forbidden: the owner has no such role.
    :raises ServiceUnavailable, ServiceRefused: Keystone doesn't say.
    """
    if not is_permitted(calendar):
        rule = CalendarFields.rule("create")
        raise exceptions.Forbidden(rule, texts.permissions.NO_ROLE_TO_SUBSCRIBE())
