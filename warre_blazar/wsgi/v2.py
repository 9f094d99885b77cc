"""Serves /v2 behind Keystone's middleware: this package's resources, and Blazar's own v2."""

from collections.abc import Callable, Iterable
from typing import Any

from keystonemiddleware import auth_token
from oslo_config import cfg
from oslo_middleware import debug

from warre_blazar import texts
from warre_blazar.api.application import V2Application
from warre_blazar.errors import exceptions
from warre_blazar.wsgi import after_authentication, blazars_v2

Application = Callable[..., Iterable[bytes]]


def application(ours: V2Application) -> Application:
    """The application for all paths that Blazar's application for v1 doesn't serve.

    :param ours: the application for this package's resources.
    """
    made: Application = auth_token.AuthProtocol(_V2(ours), {})
    return debug.Debug(made) if cfg.CONF.log_exchange else made


class _V2:
    """The application behind Keystone's middleware.

    It passes a request to this package's controllers, or to Blazar's own v2 if Blazar has one.
    """

    def __init__(self, ours: V2Application) -> None:
        self._ours = ours
        self._blazars = blazars_v2.application(ours)

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Serve a request.

        :raises Refused: the token is for no project, or there is nothing at the path.
        """
        after_authentication.check_project(environ)
        if self._ours.serves(environ["PATH_INFO"]):
            return self._ours(environ, start_response)
        if self._blazars is None:
            raise exceptions.Refused(texts.refusals.NOT_FOUND())
        blazars_v2.check(environ)
        return self._blazars(environ, start_response)
