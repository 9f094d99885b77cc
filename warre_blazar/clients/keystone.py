"""The one Keystone session of this process, kept: its token serves Nova and Placement alike.

Stock Blazar logs in anew for every client it makes, which costs more than the calls themselves.
"""

import contextlib
import functools
from collections.abc import Iterator
from typing import Any, cast

from keystoneauth1 import exceptions as ks_exc
from keystoneauth1 import session as ks_session
from keystoneauth1.identity import v3
from oslo_config import cfg

from warre_blazar import conf as options
from warre_blazar import exceptions

options.register(cfg.CONF)
# Blazar registers the options of its own service user there.
cfg.CONF.import_opt("os_admin_username", "blazar.config")
cfg.CONF.import_opt("os_region_name", "blazar.utils.openstack.keystone")


class _Login(v3.Password):
    """A login that many threads share."""

    def invalidate(self) -> bool:
        """Drop the token. Whoever was refused with it tries again, also if another dropped it."""
        super().invalidate()
        return True


def auth_url(conf: cfg.ConfigOpts) -> str:
    """Keystone's address, as Blazar's options spell it."""
    host = f"[{conf.os_auth_host}]" if ":" in conf.os_auth_host else conf.os_auth_host
    parts = [f"{conf.os_auth_protocol}://{host}:{conf.os_auth_port}"]
    parts += [part.strip("/") for part in (conf.os_auth_prefix, conf.os_auth_version) if part]
    return "/".join(parts)


@functools.cache
def service_session() -> ks_session.Session:
    """The session of Blazar's service user."""
    conf = cfg.CONF
    return ks_session.Session(
        auth=_Login(**_credentials(), **_own_project()),
        verify=conf.cafile or True,
        timeout=conf.warre.request_timeout,
        app_name="warre-blazar",
    )


def _credentials() -> dict[str, Any]:
    conf = cfg.CONF
    return {
        "auth_url": auth_url(conf),
        "username": conf.os_admin_username,
        "password": conf.os_admin_password,
        "user_domain_name": conf.os_admin_user_domain_name,
    }


def _own_project() -> dict[str, Any]:
    conf = cfg.CONF
    return {
        "project_name": conf.os_admin_project_name,
        "project_domain_name": conf.os_admin_project_domain_name,
    }


def log_in(**scope: Any) -> None:
    """Log Blazar's service user in, without a token that is kept.

    :param scope: keystoneauth's names of what to log in for, such as ``trust_id``.
    :raises keystoneauth1.exceptions.ClientException:
    """
    v3.Password(**_credentials(), **scope).get_access(service_session())


def check_service_login() -> None:
    """Whether Blazar's service user can log in at all, for its own project.

    :raises ServiceUnavailable, ServiceRefused:
    """
    with speaking_of("Keystone", "the login of Blazar's own service user: "):
        log_in(**_own_project())


def service_catalog() -> list[dict[str, Any]]:
    """The catalog that Keystone gives Blazar's service user.

    :raises ServiceUnavailable, ServiceRefused:
    """
    session = service_session()
    with speaking_of("Keystone"):
        access = cast(v3.Password, session.auth).get_access(session)
    return list(access.service_catalog.catalog) if access.has_service_catalog() else []


@contextlib.contextmanager
def speaking_of(service: str, what: str = "") -> Iterator[None]:
    """Turn what keystoneauth raises into our errors, which name the service.

    :param what: what a refusal is of, in front of the service's own words.
    :raises ServiceUnavailable: it doesn't answer, or says that it can't now (5xx).
    :raises ServiceRefused: it answered no.
    """
    try:
        yield
    except ks_exc.HttpError as error:
        if (error.http_status or 500) >= 500:
            raise exceptions.ServiceUnavailable(service, _said(error)) from error
        raise exceptions.ServiceRefused(service, what + _said(error)) from error
    except ks_exc.ClientException as error:
        raise exceptions.ServiceUnavailable(service, type(error).__name__) from error


def _said(error: ks_exc.HttpError) -> str:
    return f"{error.http_status} {error.message}"
