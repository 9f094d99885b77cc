"""A pytest plugin that enables warre-blazar in the process that runs Blazar's own tests.

It changes the defaults of Blazar's options, because each test begins by resetting the options to
their defaults.
"""

import importlib.metadata

from oslo_config import cfg

_OPTIONS = (
    ("manager", "plugins", "blazar.manager.service"),
    ("enforcement", "enabled_filters", "blazar.enforcement.enforcement"),
    ("api", "api_v2_controllers", "blazar.api.v2.controllers"),
)
_GROUPS = ("blazar.resource.plugins", "blazar.api.v2.controllers.extensions")


def _enable() -> None:
    ours = {
        group: [
            e
            for e in importlib.metadata.entry_points(group=group)
            if e.value.startswith("warre_blazar.")
        ]
        for group in _GROUPS
    }
    assert all(ours.values())
    from warre_blazar import enforcement  # noqa: PLC0415
    from warre_blazar.plugins import blazar_changes  # noqa: PLC0415

    names = {
        "plugins": [e.name for e in ours[_GROUPS[0]]],
        "enabled_filters": enforcement.FILTERS,
        "api_v2_controllers": [e.name for e in ours[_GROUPS[1]]],
    }
    for group, option, module in _OPTIONS:
        cfg.CONF.import_opt(option, module, group=group)
        default = list(cfg.CONF[group][option])
        cfg.CONF.set_default(option, [*default, *names[option]], group=group)
    # This happens in a manager that has this package's tables, and in an API. Most of Blazar's
    # tests start neither.
    for change in (*blazar_changes.ALWAYS, *blazar_changes.FOR_SLOTS):
        change()
    for entry_point in ours[_GROUPS[1]]:
        entry_point.load()()


_enable()
