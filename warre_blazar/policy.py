"""Checks what callers may do, according to Blazar's policy file."""

import functools
from collections.abc import Mapping
from typing import Any

from blazar.context import BlazarContext
from blazar.policies import base
from oslo_config import cfg
from oslo_policy import policy

from warre_blazar import policies
from warre_blazar.errors import exceptions


@functools.cache
def _enforcer() -> policy.Enforcer:
    enforcer = policy.Enforcer(cfg.CONF)
    enforcer.register_defaults(base.list_rules())
    enforcer.register_defaults(policies.list_rules())
    return enforcer


def allows(context: BlazarContext, rule: str, target: Mapping[str, Any] | None = None) -> bool:
    """Whether a policy rule allows the caller to act on a target.

    :param context: Blazar's context of the request.
    :param target: the project and the user that own the resource. Default: the project and the user
        of the caller.
    """
    if target is None:
        target = {"project_id": context.project_id, "user_id": context.user_id}
    return bool(_enforcer().authorize(rule, dict(target), context.to_policy_values()))


def authorize(context: BlazarContext, rule: str, target: Mapping[str, Any] | None = None) -> None:
    """Require that a policy rule allows the caller to act on a target, as in ``allows``.

    :raises Forbidden: the rule doesn't allow it.
    """
    if not allows(context, rule, target):
        raise exceptions.Forbidden(rule)
