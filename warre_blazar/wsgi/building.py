"""Blazar's application with our checks around and inside it."""

from typing import Any

import pecan
from blazar.api import app as stock_app
from oslo_config import cfg
from oslo_middleware import debug

from warre_blazar import conf
from warre_blazar.wsgi import identified
from warre_blazar.wsgi.guard import Guard

#: What Blazar's own v2 application is made of.
_V2 = {
    "app": {
        "modules": ["blazar.api.v2"],
        "root": "blazar.api.root.RootController",
        "enable_acl": True,
    }
}


def build(stock: Any) -> Guard:
    """The application to serve.

    What needs no identity is checked around Blazar's application, so that a refusal costs no
    request to Keystone. What needs one is checked inside, behind Keystone's middleware.

    :param stock: Blazar's application, of v1 and v2 or, without ``enable_v1_api``, of v2 alone;
        its configuration has been read.
    """
    conf.register(cfg.CONF)
    # v2 takes hooks only when it is made.
    v2 = pecan.load_app(_V2, extra_hooks=[identified.ProjectHook()])
    if cfg.CONF.log_exchange:
        v2 = debug.Debug(v2)
    if not isinstance(stock, stock_app.VersionSelectorApplication):
        return Guard(v2)
    identified.install(stock.v1)
    stock.v2 = v2
    return Guard(stock)
