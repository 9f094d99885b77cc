"""The user as which this package reads limits in Keystone, and the user's role on the system."""

from typing import Any

from keystoneauth1 import exceptions as ks_exc
from keystoneauth1 import loading
from keystoneauth1.access import AccessInfo
from oslo_config import cfg

from warre_blazar import texts
from warre_blazar.conf import authtoken
from warre_blazar.errors import exceptions
from warre_blazar.openstack import keystone

_SERVICE = "Keystone"
#: The role that may read limits.
ROLE = "reader"


def grant_role() -> tuple[str, bool]:
    """Let the user read the limits of all projects.

    Keystone gives a token for the system only to users with a role on the system. If the user has
    none, Blazar's service user gives it the role ``reader``.

    :returns: the user's name, and whether the user got the role now.
    :raises ServiceUnavailable: Keystone can't be reached.
    :raises ServiceRefused: Keystone refuses the login, or Blazar's service user may not give the
        role.
    """
    try:
        return _name(_log_in()), False
    except ks_exc.Unauthorized:
        pass  # The user has no role on the system, or the password is wrong.
    except ks_exc.ClientException as error:
        raise exceptions.ServiceUnavailable(_SERVICE, why_not(error)) from error
    try:
        user = _log_in(system_scope=None)
    except ks_exc.Unauthorized as error:
        raise exceptions.ServiceRefused(_SERVICE, texts.services.LOGIN()) from error
    except ks_exc.ClientException as error:
        raise exceptions.ServiceUnavailable(_SERVICE, why_not(error)) from error
    _grant(user)
    return _name(user), True


def _log_in(**scope: Any) -> AccessInfo:
    """Log in with the options in ``[oslo_limit]``.

    :param scope: options that replace those of the configuration.
    :raises keystoneauth1.exceptions.ClientException:
    """
    authtoken.complete_limits(cfg.CONF)
    auth = loading.load_auth_from_conf_options(cfg.CONF, "oslo_limit", **scope)
    if auth is None:
        raise ks_exc.MissingAuthPlugin("no auth_type is set")
    session = loading.load_session_from_conf_options(cfg.CONF, "oslo_limit")
    access: AccessInfo = auth.get_access(session)  # type: ignore[attr-defined]
    return access


def _grant(user: AccessInfo) -> None:
    url, session = keystone.auth_url(cfg.CONF), keystone.service_session()
    with keystone.speaking_of(_SERVICE):
        try:
            roles = session.get(f"{url}/roles", params={"name": ROLE}).json()["roles"]
            if not roles:
                raise exceptions.ServiceRefused(_SERVICE, texts.services.NO_ROLE(role=ROLE))
            session.put(f"{url}/system/users/{user.user_id}/roles/{roles[0]['id']}")
        except ks_exc.Forbidden as error:
            raise exceptions.ServiceRefused(
                _SERVICE,
                texts.services.GRANT(
                    said=error.message,
                    granter=cfg.CONF.os_admin_username,
                    role=ROLE,
                    user=_name(user),
                    user_id=user.user_id,
                ),
            ) from error


def _name(user: AccessInfo) -> str:
    return str(user.username or user.user_id)


def why_not(error: Exception) -> texts.Said:
    """Why the options in ``[oslo_limit]`` don't allow to log in, and which one to set.

    :param error: what keystoneauth or oslo.limit raises.
    """
    causes = _causes(error)
    # oslo.limit says only that there is no session. What it met is the first cause.
    text = ": ".join(dict.fromkeys(str(each).rstrip(". ") for each in (error, causes[-1])))
    if any(isinstance(c, ks_exc.SSLError) or "SSL exception" in str(c) for c in causes):
        cafile = cfg.CONF.oslo_limit.cafile or "not set"
        return texts.services.LIMITS_CAFILE(cafile=cafile)
    if any(isinstance(cause, ks_exc.Unauthorized) for cause in causes):
        return texts.services.LIMITS_REFUSED(said=text)
    if any(isinstance(cause, ks_exc.AuthPluginException) for cause in causes):
        return texts.services.LIMITS_LOGIN(said=text)
    return texts.services.LIMITS_SAID(said=text)


def _causes(error: BaseException) -> list[BaseException]:
    causes = [error]
    while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None:
        causes.append(cause)
    return causes
