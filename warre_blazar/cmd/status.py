"""``warre-blazar-status upgrade check``: whether this Blazar is set up for us."""

import functools
import importlib.metadata
import sys
from collections.abc import Callable

from oslo_config import cfg
from oslo_db import options as db_options
from oslo_upgradecheck import common_checks, upgradecheck

from warre_blazar import compat, enforcement, exceptions
from warre_blazar.clients import limits, nova
from warre_blazar.cmd import unusable
from warre_blazar.db import migration
from warre_blazar.domain.flavor import Flavor
from warre_blazar.services import capacity

# Their modules register command line options too, so have to be there before these are parsed.
cfg.CONF.import_opt("plugins", "blazar.manager.service", group="manager")
cfg.CONF.import_opt("api_v2_controllers", "blazar.api.v2.controllers", group="api")
cfg.CONF.import_opt("enabled_filters", "blazar.enforcement.enforcement", group="enforcement")

_PLUGIN = "flavor.slot.plugin"
_CONTROLLERS = {"flavors", "flavorprojects", "reservations", "maintenancewindows", "limits"}
#: Names in one message.
_MOST = 5

Result = upgradecheck.Result
_SUCCESS = upgradecheck.Code.SUCCESS
_WARNING = upgradecheck.Code.WARNING
_FAILURE = upgradecheck.Code.FAILURE


def _looking(check: Callable[["Checks"], Result]) -> Callable[["Checks"], Result]:
    """A check that looks at database or cloud: not to be able to is a failure, not a crash."""

    @functools.wraps(check)
    def wrapper(self: "Checks") -> Result:
        try:
            return check(self)
        except exceptions.WarreError as error:
            return Result(_FAILURE, error.message)
        except unusable.DATABASE as error:
            return Result(_FAILURE, f"{unusable.database(error)}.")
        except cfg.Error as error:
            return Result(_FAILURE, f"{unusable.configuration(error)}.")

    return wrapper


class Checks(upgradecheck.UpgradeCommands):
    """What an operator has to have done before the services start."""

    def _blazar(self) -> Result:
        if compat.version("blazar")[0] not in compat.TESTED:
            found, tested = importlib.metadata.version("blazar"), ", ".join(map(str, compat.TESTED))
            return Result(_WARNING, f"Blazar {found}; all tests are run with {tested} only.")
        return Result(_SUCCESS)

    @_looking
    def _tables(self) -> Result:
        url = cfg.CONF.database.connection
        if not url:
            return Result(_FAILURE, "[database] connection is not set.")
        found = migration.revision_of(url)
        if found != migration.head():
            return Result(
                _FAILURE,
                f"The tables are at {found}, not {migration.head()}: run "
                "warre-blazar-manage db upgrade.",
            )
        return Result(_SUCCESS)

    @_looking
    def _plugin(self) -> Result:
        """Plugin and filters, which belong together."""
        missing = [f for f in enforcement.FILTERS if f not in cfg.CONF.enforcement.enabled_filters]
        if _PLUGIN not in cfg.CONF.manager.plugins:
            unused = set(enforcement.FILTERS) - set(missing)
            also = f", but [enforcement] enabled_filters names {', '.join(sorted(unused))}"
            return Result(_FAILURE, f"[manager] plugins lacks {_PLUGIN}{also if unused else ''}.")
        if missing:
            return Result(_WARNING, f"[enforcement] enabled_filters lacks {', '.join(missing)}.")
        return Result(_SUCCESS)

    @_looking
    def _controllers(self) -> Result:
        missing = _CONTROLLERS - set(cfg.CONF.api.api_v2_controllers)
        if missing:
            return Result(_FAILURE, f"[api] api_v2_controllers lacks {', '.join(sorted(missing))}.")
        return Result(_SUCCESS)

    @_looking
    def _limits(self) -> Result:
        """Any project's will do: what is registered counts for all."""
        limits.of_project("upgrade-check")
        return Result(_SUCCESS)

    @_looking
    def _hosts(self) -> Result:
        """Blazar's hosts, each in the aggregate of free ones or lent out whole."""
        freepool = cfg.CONF.nova.aggregate_freepool_name
        aggregates = nova.aggregates()
        if not any(a.name == freepool for a in aggregates):
            return Result(
                _FAILURE,
                f"Nova has no aggregate {freepool}, which [nova] aggregate_freepool_name names.",
            )
        hosts = capacity.survey().hosts
        if not hosts:
            return Result(
                _WARNING, "Blazar has no reservable host: run openstack reservation host create."
            )
        blazars = {
            host
            for a in aggregates
            if a.name == freepool or cfg.CONF.nova.blazar_owner in a.metadata
            for host in a.hosts
        }
        strays = [h.name for h in hosts if h.properties["service_name"] not in blazars]
        if strays:
            return Result(
                _WARNING,
                f"Hosts of Blazar's that are neither in the aggregate {freepool} nor reserved: "
                f"{_some(strays)}.",
            )
        return Result(_SUCCESS)

    @_looking
    def _slots(self) -> Result:
        beyond = capacity.survey().overpromised
        if beyond:
            named = [f"{_named(f)} has {f.slots}, its hosts hold {held}" for f, held in beyond]
            return Result(_WARNING, f"More slots than room on empty hosts: {_some(named, '; ')}.")
        return Result(_SUCCESS)

    @_looking
    def _properties(self) -> Result:
        unmatched = capacity.survey().unmatched
        if unmatched:
            named = _some([_named(f) for f in unmatched])
            return Result(
                _WARNING,
                f"No host has the properties, zone and traits that these flavors ask for: {named}.",
            )
        return Result(_SUCCESS)

    _upgrade_checks = (
        ("Blazar's version", _blazar),
        ("Tables", _tables),
        ("Plugin and filters", _plugin),
        ("Controllers", _controllers),
        ("Limits", _limits),
        ("Freepool and hosts", _hosts),
        ("Slots", _slots),
        ("Properties", _properties),
        ("Policy file", (common_checks.check_policy_json, {"conf": cfg.CONF})),
    )


def _named(flavor: Flavor) -> str:
    return f"{flavor.name} ({flavor.id})"


def _some(things: list[str], between: str = ", ") -> str:
    more = len(things) - _MOST
    return between.join(things[:_MOST]) + (f" and {more} more" if more > 0 else "")


def main() -> int:
    """:returns: the exit status of oslo.upgradecheck."""
    db_options.set_defaults(cfg.CONF)
    try:
        return int(upgradecheck.main(cfg.CONF, "blazar", Checks()))
    except unusable.CONFIGURATION as error:
        print(f"warre-blazar-status: {unusable.configuration(error)}", file=sys.stderr)
        return int(_FAILURE)


if __name__ == "__main__":
    sys.exit(main())
