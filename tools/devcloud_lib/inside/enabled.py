"""A pytest plugin that enables warre-blazar in the process that runs Blazar's own tests.

It changes the defaults of Blazar's options, because each test begins by resetting the options to
their defaults.
"""

import importlib.metadata

from oslo_config import cfg

_GROUP = "blazar.resource.plugins"


def _enable() -> None:
    plugins = [
        entry_point.name
        for entry_point in importlib.metadata.entry_points(group=_GROUP)
        if entry_point.value.startswith("warre_blazar.")
    ]
    assert plugins
    from warre_blazar.plugins import blazar_changes  # noqa: PLC0415

    cfg.CONF.import_opt("plugins", "blazar.manager.service", group="manager")
    cfg.CONF.set_default("plugins", [*cfg.CONF.manager.plugins, *plugins], group="manager")
    # This happens in a manager that has this package's tables, and most of Blazar's tests start
    # none. Those that make the API load this package's extension.
    for change in (*blazar_changes.ALWAYS, *blazar_changes.FOR_SLOTS):
        change()


_enable()
