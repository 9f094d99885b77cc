"""Makes Blazar's application one that serves this package's API too, and checks each request.

Blazar has one hook for this: while it makes its application for v1, it asks the extensions of v1
for blueprints. ``blueprint`` is called then. The blueprint gets the application, which is made
``Served``. When the application is called, by a web server or by Blazar's own selector of versions,
it answers for all versions.
"""

import functools
from collections.abc import Callable, Iterable
from typing import Any, cast

import flask
from blazar import policy
from blazar.api import app as stock_app
from oslo_config import cfg
from oslo_log import log as logging

from warre_blazar import conf, enforcement
from warre_blazar.api.application import V2Application
from warre_blazar.conf import authtoken
from warre_blazar.db import migration, session
from warre_blazar.errors import blazar_errors
from warre_blazar.site_rules import conditions, enabling
from warre_blazar.wsgi import (
    after_authentication,
    blazar_answers,
    lease_trusts,
    manager_calls,
    request_threads,
    stock_form,
    v2,
    versions,
)
from warre_blazar.wsgi.guard import Guard

LOG = logging.getLogger(__name__)

Application = Callable[..., Iterable[bytes]]


class Served(flask.Flask):
    """Blazar's application for v1, with this package's application around it."""

    #: Answers each request, and calls ``wsgi_app`` for those to v1.
    whole: Application

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Answer a request to any version."""
        return self.whole(environ, start_response)


def blueprint() -> flask.Blueprint:
    """Change Blazar's API in this process, and make the blueprint that changes its application.

    :raises Unsupported: the web server's processes have threads, which Blazar can't use.
    :raises Misconfigured: an option that flavors depend on is malformed.
    :raises MigrationError: the tables are those of another release.
    """
    request_threads.check()
    conf.register(cfg.CONF)
    authtoken.complete_region(cfg.CONF)
    session.keep_uncarried_texts_out_of_the_log()
    has_tables = _check_tables()
    conditions.device_rules()
    _load_policies()
    blazar_answers.correct_statuses()
    # Blazar's v1 looks up a manager's exception by its class name.
    blazar_errors.expose_to_v1()
    manager_calls.register(has_heartbeats=has_tables)
    request_threads.limit_waiting()
    if has_tables:
        enforcement.enable()
        lease_trusts.register()
        stock_form.register()
    _let_selector_pass_requests_on()
    made = flask.Blueprint("warre_blazar", __name__)
    made.record(lambda state: _serve(cast(flask.Flask, state.app)))
    return made


def require(application: Any) -> Application:
    """The application, if this package's API and checks are in it.

    :param application: what Blazar has made.
    :raises Misconfigured: ``[manager] plugins`` doesn't name the plugin, or v1 isn't enabled.
    :raises RuntimeError: the package was upgraded without its entry points.
    """
    enabling.check()
    v1 = getattr(application, "v1", application)
    if not isinstance(v1, Served):
        raise RuntimeError(
            "Blazar hasn't found the entry point of warre-blazar's API: install the package again"
        )
    return v1


def _serve(app: flask.Flask) -> None:
    """Make Blazar's application for v1 one that serves everything."""
    after_authentication.install(app)
    # Blazar returns the application that it has made, so it can't be replaced by another object.
    app.__class__ = Served
    assert isinstance(app, Served)
    ours = V2Application()
    whole = blazar_answers.Translated(_Versions(app, v2.application(ours)))
    app.whole = Guard(whole, reads=ours.serves)


class _Versions:
    """Passes each request to the application for the version that its path names.

    Checks that don't depend on the caller run around it, so that a refusal needs no request to
    Keystone. The other checks run inside the applications, behind Keystone's middleware.
    """

    def __init__(self, v1: flask.Flask, v2: Application) -> None:
        self._v1, self._v2 = v1, v2

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        if path in versions.PATHS and environ["REQUEST_METHOD"] == "GET":
            return versions.answer(environ, start_response, self._v1.wsgi_app)
        if path in versions.PATHS or path.startswith("/v1"):
            return self._v1.wsgi_app(environ, start_response)
        return self._v2(environ, start_response)


def _let_selector_pass_requests_on() -> None:
    """Let Blazar's selector of versions call the application for v1 if that serves everything.

    The selector is what Blazar's own WSGI module serves. It asks its two applications for lists of
    versions in turn, in attributes that all threads share. A Blazar without v2 needs no selector.
    """
    selector = getattr(stock_app, "VersionSelectorApplication", None)
    if selector is None or hasattr(selector.__call__, "__wrapped__"):
        return
    stock = selector.__call__

    @functools.wraps(stock)
    def call(self: Any, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        passes = isinstance(self.v1, Served)
        answered: Iterable[bytes] = (
            self.v1(environ, start_response) if passes else stock(self, environ, start_response)
        )
        return answered

    selector.__call__ = call


def _check_tables() -> bool:
    """Whether this package's tables are there. If they aren't, this is logged.

    :raises MigrationError: the tables are those of another release.
    """
    url = cfg.CONF.database.connection
    if not url:
        return True
    migration.check(url)
    try:
        migration.require(url)
    except migration.MigrationError as error:
        LOG.error("%s. Until then, only Blazar's own paths work", error)
        return False
    return True


def _load_policies() -> None:
    """Load Blazar's policies, which Blazar does at the first request.

    While one thread loads them there, the requests of others are refused, because the policies are
    known by name before they have their rules.
    """
    policy.init()
    policy._ENFORCER.load_rules()
