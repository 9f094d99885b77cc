"""Finds out whether those who wait may still book, without a trust."""

from blazar.context import BlazarContext

from warre_blazar import policy
from warre_blazar.domain.waits import Wait
from warre_blazar.openstack import people
from warre_blazar.policies import reservations as policies
from warre_blazar.services.caller import Caller
from warre_blazar.services.waits.serving import NotPermitted


def permit(wait: Wait) -> Caller:
    """The user of a wait, with the roles that Keystone says they have in the project now.

    :raises NotPermitted: the user, the project or a domain of theirs is gone or disabled, or the
        policy doesn't let the user book.
    :raises ServiceUnavailable, ServiceRefused: Keystone doesn't say.
    """
    if reason := people.why_disabled(wait.user_id, wait.project_id):
        raise NotPermitted(reason)
    roles = people.roles(wait.user_id, wait.project_id)
    context = BlazarContext(user_id=wait.user_id, project_id=wait.project_id, roles=roles)
    if not policy.allows(context, policies.CREATE):
        raise NotPermitted("Your roles in the project don't let you book any more")
    return Caller(wait.user_id, context.to_dict())
