"""``warre-blazar-status upgrade check``: whether this Blazar is set up for us."""

import sys

from oslo_config import cfg
from oslo_db import options as db_options
from oslo_upgradecheck import common_checks, upgradecheck
from sqlalchemy import exc as sa_exc

from warre_blazar import exceptions
from warre_blazar.clients import limits
from warre_blazar.db import migration

# Their modules register command line options too, so have to be there before these are parsed.
cfg.CONF.import_opt("plugins", "blazar.manager.service", group="manager")
cfg.CONF.import_opt("api_v2_controllers", "blazar.api.v2.controllers", group="api")

_PLUGIN = "flavor.slot.plugin"
_CONTROLLERS = {"flavors", "flavorprojects", "reservations", "maintenancewindows", "limits"}
_SUCCESS, _FAILURE = upgradecheck.Code.SUCCESS, upgradecheck.Code.FAILURE


class Checks(upgradecheck.UpgradeCommands):
    """What an operator has to have done before the services start."""

    def _tables(self) -> upgradecheck.Result:
        url = cfg.CONF.database.connection
        if not url:
            return upgradecheck.Result(_FAILURE, "[database] connection is not set.")
        try:
            found = migration.revision_of(url)
        except sa_exc.SQLAlchemyError as error:
            return upgradecheck.Result(_FAILURE, f"The database can't be read: {error}")
        if found != migration.head():
            return upgradecheck.Result(
                _FAILURE,
                f"The tables are at {found}, not {migration.head()}: run "
                "warre-blazar-manage db upgrade.",
            )
        return upgradecheck.Result(_SUCCESS)

    def _plugin(self) -> upgradecheck.Result:
        if _PLUGIN not in cfg.CONF.manager.plugins:
            return upgradecheck.Result(_FAILURE, f"[manager] plugins doesn't name {_PLUGIN}.")
        return upgradecheck.Result(_SUCCESS)

    def _controllers(self) -> upgradecheck.Result:
        missing = _CONTROLLERS - set(cfg.CONF.api.api_v2_controllers)
        if missing:
            return upgradecheck.Result(
                _FAILURE, f"[api] api_v2_controllers lacks {', '.join(sorted(missing))}."
            )
        return upgradecheck.Result(_SUCCESS)

    def _limits(self) -> upgradecheck.Result:
        """Any project's will do: what is registered counts for all."""
        try:
            limits.of_project("upgrade-check")
        except exceptions.WarreError as error:
            return upgradecheck.Result(_FAILURE, error.message)
        return upgradecheck.Result(_SUCCESS)

    _upgrade_checks = (
        ("Tables", _tables),
        ("Plugin", _plugin),
        ("Controllers", _controllers),
        ("Limits", _limits),
        ("Policy file", (common_checks.check_policy_json, {"conf": cfg.CONF})),
    )


def main() -> int:
    """:returns: the exit status of oslo.upgradecheck."""
    db_options.set_defaults(cfg.CONF)
    return int(upgradecheck.main(cfg.CONF, "blazar", Checks()))


if __name__ == "__main__":
    sys.exit(main())
