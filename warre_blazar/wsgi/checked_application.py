"""Blazar's application with this package's checks around it and inside it."""

from typing import Any

import pecan
from blazar import policy
from blazar.api import app as stock_app
from oslo_config import cfg
from oslo_log import log as logging
from oslo_middleware import debug

from warre_blazar import conf
from warre_blazar.conf import authtoken
from warre_blazar.db import migration, session
from warre_blazar.edge import device_rules
from warre_blazar.wsgi import after_authentication, blazar_answers, lease_trusts, manager_calls
from warre_blazar.wsgi.guard import Guard

LOG = logging.getLogger(__name__)

#: The configuration of Blazar's own v2 application.
_V2 = {
    "app": {
        "modules": ["blazar.api.v2"],
        "root": "blazar.api.root.RootController",
        "enable_acl": True,
    }
}


def build(stock: Any) -> Guard:
    """Build the application that a web server serves.

    Checks that don't depend on the caller run around Blazar's application, so that a refusal needs
    no request to Keystone. The other checks run inside Blazar's application, behind Keystone's
    middleware.

    :param stock: Blazar's application, made after the configuration was read. It serves v1 and v2,
        or only v2 if ``enable_v1_api`` is off.
    :raises Misconfigured: an option that flavors depend on is malformed.
    :raises MigrationError: the tables are those of another release.
    """
    conf.register(cfg.CONF)
    authtoken.complete_region(cfg.CONF)
    session.keep_uncarried_texts_out_of_the_log()
    has_tables = _check_tables()
    device_rules.configured()
    _load_policies()
    blazar_answers.correct_statuses()
    manager_calls.register()
    # Pecan accepts hooks only when an application is made. So v2 is made once more, with the hook.
    v2 = pecan.load_app(_V2, extra_hooks=[after_authentication.ProjectHook()])
    if cfg.CONF.log_exchange:
        v2 = debug.Debug(v2)
    if not isinstance(stock, stock_app.VersionSelectorApplication):
        return Guard(blazar_answers.Translated(v2))
    after_authentication.install(stock.v1)
    if has_tables:
        lease_trusts.register()
    stock.v2 = v2
    return Guard(blazar_answers.Translated(stock))


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
