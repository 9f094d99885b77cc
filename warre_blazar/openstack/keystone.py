"""The Keystone session that all requests of a process to Nova, Placement and Keystone share.

Stock Blazar logs in again for each client that it makes, and these logins take longer than the
requests themselves.
"""

import contextlib
import functools
import socket
import threading
from collections.abc import Iterator
from typing import Any, cast

import requests
from keystoneauth1 import access
from keystoneauth1 import exceptions as ks_exc
from keystoneauth1 import session as ks_session
from keystoneauth1.identity import v3
from oslo_config import cfg

from warre_blazar import conf as options
from warre_blazar import texts
from warre_blazar.client import errors, transport
from warre_blazar.errors import exceptions

options.register(cfg.CONF)
# Blazar registers the options of its service user in these modules.
cfg.CONF.import_opt("os_admin_username", "blazar.config")
cfg.CONF.import_opt("os_region_name", "blazar.utils.openstack.keystone")


class _Login(v3.Password):
    """A password login with a token that many threads share."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._token_lock = threading.RLock()

    def get_access(self, session: ks_session.Session, **options: Any) -> access.AccessInfo:
        """Return the token with its facts, after a login if there is no token.

        keystoneauth has a lock of its own, but reads the token once more after it has released that
        lock. If another thread dropped the token at this moment, an assertion of keystoneauth would
        fail.
        """
        with self._token_lock:
            return super().get_access(session, **options)

    def invalidate(self) -> bool:
        """Drop the token.

        :returns: always True. So keystoneauth retries the refused request even if another thread
            has already dropped the token.
        """
        with self._token_lock:
            super().invalidate()
        return True


def auth_url(conf: cfg.ConfigOpts) -> str:
    """The URL of Keystone, composed of Blazar's options."""
    host = f"[{conf.os_auth_host}]" if ":" in conf.os_auth_host else conf.os_auth_host
    parts = [f"{conf.os_auth_protocol}://{host}:{conf.os_auth_port}"]
    parts += [part.strip("/") for part in (conf.os_auth_prefix, conf.os_auth_version) if part]
    return "/".join(parts)


@functools.cache
def service_session() -> ks_session.Session:
    """The session of Blazar's service user. The first call makes it, and all threads share it."""
    conf = cfg.CONF
    return ks_session.Session(
        auth=_Login(**_credentials(), **_own_project()),
        session=_http(conf.warre.service_connections),
        verify=conf.cafile or True,
        timeout=conf.warre.request_timeout,
        app_name="warre-blazar",
    )


def _http(connections: int) -> requests.Session:
    """A session of HTTP with at most so many connections to each service. Further requests wait."""
    adapter = ks_session.TCPKeepAliveAdapter(pool_maxsize=connections, pool_block=True)
    session = requests.Session()
    for scheme in list(session.adapters):
        session.mount(scheme, adapter)
    return session


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


def service_catalog() -> list[dict[str, Any]]:
    """The service catalog that Keystone returns to Blazar's service user.

    :raises ServiceUnavailable: Keystone can't be reached.
    :raises ServiceRefused: Keystone refuses the login.
    """
    session = service_session()
    with speaking_of("Keystone"):
        token = cast(v3.Password, session.auth).get_access(session)
    return list(token.service_catalog.catalog) if token.has_service_catalog() else []


def service_token() -> str:
    """A token of Blazar's service user, for a service that keystoneauth doesn't know.

    :raises ServiceUnavailable: Keystone can't be reached.
    :raises ServiceRefused: Keystone refuses the login.
    """
    with speaking_of("Keystone"):
        return str(service_session().get_token())


def public_url() -> str:
    """The URL of the v2 API of Blazar for people outside of the cloud, as the catalog has it.

    :raises ServiceUnavailable: Keystone can't be reached, or the catalog has no such URL.
    :raises ServiceRefused: Keystone refuses the login.
    """
    region = cfg.CONF.os_region_name
    public = transport.adapter_of(service_session(), interface="public", region_name=region)
    api = transport.Transport(public)
    with speaking_of("Keystone"):
        try:
            return api.url
        except errors.NoEndpoint as error:
            raise exceptions.ServiceUnavailable(
                "Keystone", texts.services.SAID(said=str(error))
            ) from error


@contextlib.contextmanager
def speaking_of(service: str, what: str = "") -> Iterator[None]:
    """Turn keystoneauth's exceptions in the ``with`` block into errors that name the service.

    :param service: the name of the service, for the errors.
    :param what: a prefix to the service's own message. It says which request the service refuses.
    :raises ServiceTimedOut: the service may have received the request, and there is no answer of
        its own: it took too long, the connection broke, or a proxy in front of it answered.
    :raises ServiceUnavailable: the service couldn't be reached, or answered with a status of 500
        or more.
    :raises ServiceRefused: the service answered with another error status.
    """
    try:
        yield
    except ks_exc.HttpError as error:
        if (error.http_status or 500) >= 500:
            raise failure(service, error.http_status, _said(error)) from error
        raise exceptions.ServiceRefused(
            service, texts.services.REFUSAL(said=what + _said(error))
        ) from error
    except (ks_exc.ConnectionError, ks_exc.ConnectTimeout) as error:
        if _was_never_sent(error):
            raise exceptions.ServiceUnavailable(
                service, texts.services.SAID(said=type(error).__name__)
            ) from error
        raise exceptions.ServiceTimedOut(
            service, texts.services.SAID(said=type(error).__name__)
        ) from error
    except ks_exc.ClientException as error:
        raise exceptions.ServiceUnavailable(
            service, texts.services.SAID(said=type(error).__name__)
        ) from error


def failure(service: str, status: int | None, said: str) -> exceptions.ServiceUnavailable:
    """The error for an answer with a status of 500 or more.

    :param said: what the answer says.
    """
    # With these statuses a proxy answers if it has sent a request on and gets no answer.
    if status in (502, 504):
        return exceptions.ServiceTimedOut(service, texts.services.SAID(said=said))
    return exceptions.ServiceUnavailable(service, texts.services.SAID(said=said))


def _was_never_sent(error: BaseException) -> bool:
    """Whether no connection could be made for a request, so that nobody has received it."""
    cause: BaseException | None = error
    while cause and not isinstance(cause, (ConnectionRefusedError, socket.gaierror)):
        cause = cause.__cause__ or cause.__context__
    return cause is not None


def _said(error: ks_exc.HttpError) -> str:
    return f"{error.http_status} {error.message}"
