"""Options of Blazar and of oslo.limit that follow from ``[keystone_authtoken]``.

Every deployment tool writes Blazar's login, its region and the file with Keystone's certificates
there. So a site needn't write them again. An option that a site has set stays as it is.
"""

import re
from typing import Any

from keystoneauth1 import loading
from oslo_config import cfg

cfg.CONF.import_group("keystone_authtoken", "keystonemiddleware.auth_token")
cfg.CONF.import_opt("cafile", "blazar.config")
cfg.CONF.import_opt("os_region_name", "blazar.utils.openstack.keystone")

_GROUP = "keystone_authtoken"
_LIMITS = "oslo_limit"
#: The type of Blazar's service in Keystone's catalog, to whose endpoint the limits belong.
_SERVICE_TYPE = "reservation"
#: The options that say what a login is for. Limits need another scope than the rest of Blazar.
_SCOPE = {
    *("system_scope", "trust_id", "domain_id", "domain_name"),
    *("project_id", "project_name", "project_domain_id", "project_domain_name"),
}


def complete_region(conf: cfg.ConfigOpts) -> None:
    """Let ``[DEFAULT] os_region_name`` default to the region of ``[keystone_authtoken]``.

    Blazar's own clients and those of this package read this option, so they use the same region.
    Call this function whenever the configuration has been read.
    """
    conf.set_default("os_region_name", conf[_GROUP].region_name or None)


def complete_limits(conf: cfg.ConfigOpts) -> None:
    """Give the options in ``[oslo_limit]`` that aren't set the defaults that suit this package.

    The login is that of ``[keystone_authtoken]``, with the scope of the system. The limits are
    those of the public endpoint in the catalog.

    :raises keystoneauth1.exceptions.NoMatchingPlugin: an ``auth_type`` isn't known.
    """
    # With ``auth_section``, the whole login is in another group, which this call finds.
    loading.register_auth_conf_options(conf, _LIMITS)
    if not conf[_LIMITS].auth_section:
        _complete_login(conf)
    middleware = conf[_GROUP]
    _default(conf, cafile=middleware.cafile or conf.cafile or None)
    _default(conf, insecure=middleware.insecure, timeout=conf.warre.request_timeout)
    if not _is_set(conf, "certfile"):
        _default(conf, certfile=middleware.certfile, keyfile=middleware.keyfile)
    # Some clouds have only a public endpoint of Keystone.
    _default(conf, valid_interfaces=[middleware.interface, "public"])
    _default(conf, region_name=middleware.region_name or None)
    if not _is_set(conf, "endpoint_id"):
        _default(conf, endpoint_region_name=conf.os_region_name)
        if not _is_set(conf, "endpoint_service_name"):
            _default(conf, endpoint_service_type=_SERVICE_TYPE)


def _complete_login(conf: cfg.ConfigOpts) -> None:
    login = _login(conf)
    _default(conf, auth_type=login.pop("auth_type"))
    kind = conf[_LIMITS].auth_type
    if not kind:
        return
    known = _register(conf, _LIMITS, kind)
    for name, value in login.items():
        # A user, or a domain, can be given by its id or by its name.
        same = [other for other in known if _noun(other) == _noun(name)]
        if name in known and value and not _is_set(conf, *same):
            _default(conf, **{name: value})
    # An application credential is for a project, whatever else is asked for.
    has_scope = "application_credential_id" in known or _is_set(conf, *_SCOPE & set(known))
    if "system_scope" in known and not has_scope:
        _default(conf, system_scope="all")


def _login(conf: cfg.ConfigOpts) -> dict[str, Any]:
    """The login of keystonemiddleware, without its scope."""
    # With ``auth_section``, the login is in another group.
    loading.register_auth_conf_options(conf, _GROUP)
    group = conf[_GROUP].auth_section or _GROUP
    kind = conf[group].auth_type
    names = set(_register(conf, group, kind)) - _SCOPE if kind else set()
    return {"auth_type": kind, **{name: conf[group][name] for name in sorted(names)}}


def _register(conf: cfg.ConfigOpts, group: str, auth_type: str) -> list[str]:
    """Register the options of a kind of login. Return their names."""
    options = loading.get_auth_plugin_conf_options(auth_type)
    conf.register_opts(options, group=group)
    return [option.dest for option in options]


def _noun(name: str) -> str:
    return re.sub("_?(id|name)$", "", name)


def _is_set(conf: cfg.ConfigOpts, *names: str) -> bool:
    """Whether the site has set any of these options in ``[oslo_limit]``."""
    return any(
        place and place.location not in (cfg.Locations.opt_default, cfg.Locations.set_default)
        for place in (conf.get_location(name, _LIMITS) for name in names)
    )


def _default(conf: cfg.ConfigOpts, **values: Any) -> None:
    for name, value in values.items():
        conf.set_default(name, value, group=_LIMITS)
