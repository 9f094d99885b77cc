"""Prints, as JSON, the plugins, controllers and filters that the installed warre_blazar has."""

import importlib
import json
from importlib.metadata import EntryPoint, entry_points

PLUGINS = ("flavor.slot.plugin",)
CONTROLLERS = (
    "flavors",
    "flavorprojects",
    "reservations",
    "maintenancewindows",
    "limits",
    "hosts",
    "usage",
    "refusals",
    "messages",
    "offers",
    "availability",
    "series",
    "waits",
    "audit",
    "warre",
)
FILTERS = ("StrictLeaseFilter", "FlavorMaxLengthFilter", "ProjectQuotaFilter")


def main() -> None:
    broken: list[str] = []
    offered = {
        "plugins": usable("blazar.resource.plugins", PLUGINS, broken),
        "controllers": usable("blazar.api.v2.controllers.extensions", CONTROLLERS, broken),
        "filters": filters(broken),
        "broken": broken,
    }
    print(json.dumps(offered))


def usable(group: str, names: tuple[str, ...], broken: list[str]) -> list[str]:
    """Return the names that the group has and whose modules can be imported, in order."""
    offered = {point.name: point for point in entry_points(group=group)}
    return [name for name in names if name in offered and can_load(offered[name], broken)]


def can_load(point: EntryPoint, broken: list[str]) -> bool:
    """Whether an entry point can be loaded. If not, the error is added to ``broken``."""
    try:
        point.load()
    except Exception as error:  # a module that is being edited may raise anything
        broken.append(f"{point.name}: {type(error).__name__}: {error}")
        return False
    return True


def filters(broken: list[str]) -> list[str]:
    """Return the enforcement filters that warre_blazar.enforcement lists."""
    try:
        offered = importlib.import_module("warre_blazar.enforcement").FILTERS
    except (ModuleNotFoundError, AttributeError):
        return []
    except Exception as error:  # as above
        broken.append(f"warre_blazar.enforcement: {type(error).__name__}: {error}")
        return []
    return [name for name in FILTERS if name in offered]


if __name__ == "__main__":
    main()
