"""Blazar's own v2 API, which releases to come may not have any more.

Its application is made without authentication, because the token has been checked already.
"""

import importlib.util
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pecan
import webob
from oslo_config import cfg
from oslo_log import log as logging
from pecan import rest

from warre_blazar import texts
from warre_blazar.api import parsing, pecan_requests
from warre_blazar.api.application import V2Application
from warre_blazar.errors import exceptions
from warre_blazar.wsgi import after_authentication, host_types

LOG = logging.getLogger(__name__)

Application = Callable[..., Iterable[bytes]]

_CONFIGURATION = {
    "app": {
        "modules": ["blazar.api.v2"],
        "root": "blazar.api.root.RootController",
        "enable_acl": False,
    }
}
#: The IDs that Nova gives hosts: numbers, which every database must take, or UUIDs.
_HOST_ID = re.compile(r"[0-9]{1,18}|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def application(ours: V2Application) -> Application | None:
    """Blazar's own v2 application, or None if this Blazar has none.

    Pecan's lookup fails on most names of attributes, so it is replaced for Blazar's controllers.

    :param ours: the application for this package's resources, which Blazar doesn't serve.
    """
    if importlib.util.find_spec("blazar.api.v2") is None:
        return None
    _leave_out(ours.names)
    rest.RestController._lookup_child = pecan_requests.child
    host_types.correct()
    made: Application = pecan.load_app(_CONFIGURATION)
    return made


def _leave_out(names: set[str]) -> None:
    """Take names out of the option with the controllers of Blazar's v2, in this process.

    Former releases of this package were configured in this option. Blazar would log an error for
    each name that it doesn't find.
    """
    cfg.CONF.import_opt("api_v2_controllers", "blazar.api.v2.controllers", group="api")
    named = cfg.CONF.api.api_v2_controllers
    ignored = [name for name in named if name in names]
    if ignored:
        LOG.info("[api] api_v2_controllers needn't name %s any more", ", ".join(ignored))
        left = [name for name in named if name not in names]
        cfg.CONF.set_override("api_v2_controllers", left, group="api")


def check(environ: dict[str, Any]) -> None:
    """Check a request to Blazar's v2 that has passed the guard, before Blazar routes it.

    :raises Refused: there is no such controller, host or lease, or see
        ``after_authentication.check_lease``.
    :raises InvalidField: Pecan can't read the request.
    """
    _check_readable(environ)
    match environ["PATH_INFO"].split("/"):
        case ["", "v2", name, *below] if name in _names():
            _check_item(name, below[0] if below else "", environ)
        case _:
            # Pecan would take other paths too: those of the Python attributes of Blazar's root.
            raise exceptions.Refused(texts.refusals.NOT_FOUND())


def _check_item(name: str, item_id: str, environ: dict[str, Any]) -> None:
    if name == "os-hosts" and item_id and not _HOST_ID.fullmatch(item_id):
        raise exceptions.Refused(texts.refusals.HOST_NOT_FOUND(host=parsing.shown(item_id)))
    if name == "leases" and item_id:
        after_authentication.check_lease(item_id, webob.Request(environ))


def _check_readable(environ: Mapping[str, Any]) -> None:
    """Check that Pecan can read a request's query, and that it needn't read a form.

    :raises InvalidField:
    """
    parsing.check_encoding(environ.get("QUERY_STRING", ""))
    kind = (environ.get("CONTENT_TYPE") or "").partition(";")[0].strip().lower()
    if kind == "application/x-www-form-urlencoded" and environ.get("CONTENT_LENGTH") != "0":
        raise exceptions.InvalidField("Content-Type", texts.expected.CONTENT_TYPE())


def _names() -> set[str]:
    """The names of the controllers of Blazar's v2 in paths."""
    # Blazar makes its controllers when this is imported, as the configuration says at that moment.
    from blazar.api import root  # noqa: PLC0415

    controller = root.RootController.v2
    names = {extension.obj.name for extension in controller.extension_manager.extensions}
    routes = {**{name: name for name in names}, **controller._routes}
    return {name for name, target in routes.items() if target in names}
