"""Asks Keystone whether the user of a wait may book, when it is made and when it is served."""

from blazar.context import BlazarContext

from warre_blazar import policy, texts, times
from warre_blazar.domain.waits import Mode, Wait
from warre_blazar.errors import exceptions
from warre_blazar.openstack import people
from warre_blazar.policies import reservations as policies
from warre_blazar.services.booking.through_manager.calls import Caller
from warre_blazar.services.waits.serving import NotPermitted


class RoleMissing(NotPermitted):
    """Keystone lists no role of the user that lets the user book."""


def permit(wait: Wait, max_age: float = 0.0) -> Caller:
    """The user of a wait, with the roles that Keystone says they have in the project now.

    A user who is only told needs no role.

    :param max_age: for how many seconds what Keystone has shown of the user is good enough.
    :raises NotPermitted: the user, the project or a domain of theirs is gone or disabled, or the
        policy doesn't let the user book.
    :raises ServiceUnavailable, ServiceRefused: Keystone doesn't say.
    """
    if reason := people.why_disabled(wait.user_id, wait.project_id, max_age):
        raise NotPermitted(reason)
    books = wait.mode is Mode.BOOK
    roles = people.roles(wait.user_id, wait.project_id) if books else []
    context = BlazarContext(user_id=wait.user_id, project_id=wait.project_id, roles=roles)
    if books and not policy.allows(context, policies.CREATE):
        raise RoleMissing(texts.permissions.ROLE_MISSING())
    return Caller(wait.user_id, context.to_dict())


def require(wait: Wait) -> None:
    """Refuse a new wait that couldn't be served, because Keystone wouldn't let its user book.

    The token of a federated user may have roles that Keystone doesn't list as role assignments.

    :raises Forbidden: the user has no such role.
    :raises Refused: the user, the project or a domain of theirs is gone or disabled.
    :raises ServiceUnavailable, ServiceRefused: Keystone doesn't say.
    """
    try:
        permit(wait, times.USER_JUST_READ)
    except RoleMissing as error:
        raise exceptions.Forbidden(
            policies.CREATE, texts.permissions.NO_ROLE_TO_BOOK(why=error.why)
        ) from None
    except NotPermitted as error:
        raise exceptions.Refused(texts.permissions.CANNOT_WAIT(why=error.why)) from None
