"""Prints what this package changes in the code of Blazar and of libraries, as a JSON object.

Each value is a list of the names of what is different than before:

* ``imported``: after the modules of all entry points were imported
* ``enabled``: after a manager and an API with everything of this package have started
* ``again``: after everything was made once more, compared with ``enabled``
"""

import argparse
import contextlib
import importlib
import importlib.metadata
import json
import logging
import pathlib
import pkgutil
import sys
import tempfile
import types
from collections.abc import Iterator
from typing import Any

import blazar
import blazarclient
from sqlalchemy.orm import Session
from sqlalchemy.orm.events import SessionEvents

#: The packages whose modules are compared.
_PACKAGES = ("blazar", "blazarclient", "novaclient", "oslo_db", "oslo_messaging", "pecan")
#: Programs, and what makes controllers when it is imported, those of other packages included.
_LEFT_OUT = tuple(f"blazar.{n}" for n in ("api.root", "cmd", "db.migration", "opts", "wsgi"))
#: What Blazar and Pecan themselves write when they start.
_OWN = {
    "blazar.db.sqlalchemy.facade_wrapper._engine_facade",
    "blazar.notification.notifier.NOTIFIER",
    "blazar.notification.notifier.TRANSPORT",
    "blazar.plugins.oshosts.host_plugin.PhysicalHostMonitorPlugin._instance",
    "blazar.policy._ENFORCER",
    "blazar.rpc.TRANSPORT",
    "pecan.core.state",
    # The same object as all_filters.
    "blazar.enforcement.filters.__all__",
}
_NOTHING = object()

State = dict[str, Any]


def import_stock() -> None:
    """Import all modules of Blazar and its client, without any of this package."""
    for package in (blazar, blazarclient):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not found.name.startswith(_LEFT_OUT) and ".tests" not in found.name:
                with contextlib.suppress(ImportError):
                    importlib.import_module(found.name)
    assert not [name for name in sys.modules if name.startswith("warre_blazar")]


def state() -> State:
    """What modules and classes have, who listens to sessions, and which filters loggers have."""
    found = dict(_attributes())
    for name in dir(SessionEvents):
        if name.startswith(("before_", "after_", "do_")):
            listeners = getattr(Session.dispatch, name)._clslevel.get(Session, ())
            found[f"sqlalchemy.orm.Session.{name}"] = list(listeners)
    for name, logger in logging.Logger.manager.loggerDict.items():
        if isinstance(logger, logging.Logger) and logger.filters:
            found[f"{name}"] = list(logger.filters)
    return found


def _attributes() -> Iterator[tuple[str, Any]]:
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] not in _PACKAGES:
            continue
        for attribute, value in list(vars(module).items()):
            # The import of a module adds it to its package.
            if not isinstance(value, types.ModuleType) and attribute != "__warningregistry__":
                yield f"{name}.{attribute}", _copied(value)
            if isinstance(value, type) and (value.__module__, value.__name__) == (name, attribute):
                for inner, inner_value in list(vars(value).items()):
                    yield f"{name}.{attribute}.{inner}", _copied(inner_value)


def _copied(value: Any) -> Any:
    return list(value) if isinstance(value, list | set) else value


def differences(before: State, after: State, imported_later: set[str]) -> list[str]:
    """The names of what has changed, was added or is missing.

    :param imported_later: the names of modules that hadn't been imported before.
    """
    return sorted(
        name
        for name in (before.keys() | after.keys()) - _OWN
        if _differ(before.get(name, _NOTHING), after.get(name, _NOTHING))
        if not imported_later & {name.rsplit(".", parts)[0] for parts in (1, 2)}
    )


def _differ(before: Any, after: Any) -> bool:
    if isinstance(before, list) and isinstance(after, list):
        return before != after
    return before is not after


def main() -> None:
    import_stock()
    known = set(sys.modules)
    stock = state()
    for entry_point in importlib.metadata.distribution("warre-blazar").entry_points:
        entry_point.load()
    imported = state()
    from tests.unit.wsgi.whole import WholeSite  # noqa: PLC0415
    from warre_blazar.cli import osc_extension  # noqa: PLC0415
    from warre_blazar.plugins.blazar_work import LeaseWorks  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as directory, WholeSite(pathlib.Path(directory)) as site:
        LeaseWorks("manager").register()
        osc_extension.build_option_parser(argparse.ArgumentParser())
        enabled = state()
        site._start_manager()
        site._make_app()
        again = state()
    later = set(sys.modules) - known
    found = {
        "imported": differences(stock, imported, later),
        "enabled": differences(stock, enabled, later),
        "again": differences(enabled, again, later),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
