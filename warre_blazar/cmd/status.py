"""``warre-blazar-status upgrade check``: checks whether Blazar is set up for this package."""

import functools
import importlib.metadata
import sys
from collections.abc import Callable, Sequence

import oslo_messaging.opts
from novaclient import api_versions
from oslo_config import cfg
from oslo_db import options as db_options
from oslo_upgradecheck import common_checks, upgradecheck

from warre_blazar import compat, enforcement
from warre_blazar.cmd import nova_options, served_api, setup_errors
from warre_blazar.conf import authtoken
from warre_blazar.db import migration
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.errors import exceptions
from warre_blazar.openstack import freepool, keystone, limits, nova
from warre_blazar.services.flavors import capacity, devices
from warre_blazar.services.hosts import host_refresh
from warre_blazar.site_rules import conditions, enabling

# This module also registers command line options, so it must be imported before parsing.
cfg.CONF.import_opt("enabled_filters", "blazar.enforcement.enforcement", group="enforcement")
cfg.CONF.import_opt("lock_path", "oslo_concurrency.lockutils", group="oslo_concurrency")

_NOVA_FILES = cfg.MultiStrOpt(
    "nova-conf",
    default=[],
    metavar="PATH",
    help="A configuration file of nova-scheduler or of Nova's API, whose options are checked too. "
    "Can be repeated; later files win, as in Nova.",
)

_RABBIT = "oslo_messaging_rabbit"
#: The largest number of names in one message.
_MOST_NAMES = 5

Result = upgradecheck.Result
_SUCCESS = upgradecheck.Code.SUCCESS
_WARNING = upgradecheck.Code.WARNING
_FAILURE = upgradecheck.Code.FAILURE


def _failing_safely(check: Callable[["Checks"], Result]) -> Callable[["Checks"], Result]:
    """Make a check fail with a message, and without a traceback, if it can't read its data."""

    @functools.wraps(check)
    def wrapper(self: "Checks") -> Result:
        try:
            return check(self)
        except exceptions.WarreError as error:
            return Result(_FAILURE, error.message)
        except setup_errors.DATABASE as error:
            return Result(_FAILURE, f"{setup_errors.database(error)}.")
        except cfg.Error as error:
            return Result(_FAILURE, f"{setup_errors.configuration(error)}.")

    return wrapper


class Checks(upgradecheck.UpgradeCommands):
    """Checks of everything that an operator must set up before the services start."""

    def check(self) -> upgradecheck.Code:
        """Run all checks.

        During the checks, a failed connection to the database isn't tried again. A service may wait
        for its database forever, but an operator who runs the checks wants an answer.

        :returns: the exit status.
        """
        authtoken.complete_region(cfg.CONF)
        try:
            has_retries = bool(cfg.CONF.database.max_retries)
        except cfg.Error:
            has_retries = False  # A check reports the malformed option.
        if not has_retries:
            return super().check()
        cfg.CONF.set_override("max_retries", 0, group="database")
        try:
            return super().check()
        finally:
            cfg.CONF.clear_override("max_retries", group="database")

    def _blazar(self) -> Result:
        if compat.version("blazar")[0] not in compat.TESTED:
            installed = importlib.metadata.version("blazar")
            tested = ", ".join(map(str, compat.TESTED))
            return Result(
                _WARNING,
                f"Blazar {installed} is installed, but this package is tested only with "
                f"Blazar {tested}.",
            )
        return Result(_SUCCESS)

    @_failing_safely
    def _tables(self) -> Result:
        url = cfg.CONF.database.connection
        if not url:
            return Result(_FAILURE, "[database] connection is not set.")
        revision = migration.revision_of(url)
        if revision is None:
            return Result(_FAILURE, "The tables are missing: run warre-blazar-manage setup.")
        try:
            migration.check(url)
        except migration.MigrationError as error:
            return Result(_FAILURE, f"{error}.")
        return Result(_SUCCESS)

    @_failing_safely
    def _plugin(self) -> Result:
        """Whether the plugin is enabled, and Blazar can load it.

        A filter that a site has left out of its own list of this package's filters is a warning.
        """
        named = cfg.CONF.enforcement.enabled_filters
        if enabling.PLUGIN not in cfg.CONF.manager.plugins:
            unused = sorted(set(enforcement.NAMES) & set(named))
            also = f", but [enforcement] enabled_filters names {', '.join(unused)}"
            return Result(
                _FAILURE, f"[manager] plugins lacks {enabling.PLUGIN}{also if unused else ''}."
            )
        enabling.check_v1()
        lacks = [name for name in enforcement.FILTERS if name not in enforcement.enabled(named)]
        if lacks:
            return Result(
                _WARNING,
                f"[enforcement] enabled_filters lacks {', '.join(lacks)}. It needs none of "
                "warre-blazar's filters, and then all are enabled.",
            )
        return Result(_SUCCESS)

    @_failing_safely
    def _limits(self) -> Result:
        """Whether limits are registered in Keystone. The project in the request needn't exist."""
        try:
            limits.of_project("upgrade-check")
        except exceptions.LimitsNotRegistered as error:
            return Result(_FAILURE, f"{error.message}: run warre-blazar-manage setup.")
        return Result(_SUCCESS)

    @_failing_safely
    def _messaging(self) -> Result:
        """Whether requests to managers can be sent with the options of oslo.messaging."""
        for group, opts in oslo_messaging.opts.list_opts():
            if group == _RABBIT:
                cfg.CONF.register_opts(opts, group=group)
        if cfg.CONF[_RABBIT].use_queue_manager and not cfg.CONF.oslo_concurrency.lock_path:
            return Result(
                _FAILURE,
                f"[{_RABBIT}] use_queue_manager needs [oslo_concurrency] lock_path, which isn't "
                "set, so each booking fails. Set it to a directory that blazar-api and "
                "blazar-manager can write to.",
            )
        return Result(_SUCCESS)

    @_failing_safely
    def _api(self) -> Result:
        """Whether the public endpoint serves this package, in this version, with threads."""
        report = served_api.look()
        if report.shortcoming:
            return Result(_WARNING, report.shortcoming)
        return Result(_SUCCESS, report.found)

    def _nova_options(self) -> Result:
        """Whether the options of Nova go with reservations, if a file of Nova is named."""
        paths: Sequence[str] = getattr(cfg.CONF, _NOVA_FILES.dest, ())
        if not paths:
            return Result(_SUCCESS, "Not checked: name a file of nova-scheduler by --nova-conf.")
        try:
            found = nova_options.read(paths)
        except cfg.Error as error:
            return Result(_FAILURE, f"--nova-conf: {error}")
        if not (found.vital or found.others):
            return Result(_SUCCESS)
        kind = _FAILURE if found.vital else _WARNING
        return Result(kind, f"{'. '.join([*found.vital, *found.others])}.")

    @_failing_safely
    def _region(self) -> Result:
        """Whether it is said which region's Nova and Placement are used, and the region has them.

        Otherwise keystoneauth takes the region that Keystone lists first.
        """
        region = cfg.CONF.os_region_name
        regions = {
            service["type"]: {endpoint["region"] for endpoint in service["endpoints"]}
            for service in keystone.service_catalog()
            if service["type"] in (cfg.CONF.nova.compute_service, "placement")
        }
        every = sorted(set[str]().union(*regions.values()))
        if not region and len(every) > 1:
            return Result(
                _FAILURE,
                "[DEFAULT] os_region_name isn't set, and neither is [keystone_authtoken] "
                "region_name, its default. Keystone has endpoints of Nova and Placement in several "
                f"regions: {_joined(every)}.",
            )
        lacking = sorted(kind for kind, names in regions.items() if region and region not in names)
        if lacking:
            return Result(
                _FAILURE,
                f"[DEFAULT] os_region_name, by default [keystone_authtoken] region_name, is "
                f"{region}, and Keystone has no endpoint of {' and '.join(lacking)} in this "
                f"region. It has the regions {_joined(every)}.",
            )
        return Result(_SUCCESS)

    @_failing_safely
    def _host_ids(self) -> Result:
        """Whether Blazar knows each host by the id that it gets from Nova.

        Blazar looks for failed hosts by these ids. Nova's ids are numbers until microversion 2.52,
        and UUIDs from 2.53 on.
        """
        version = cfg.CONF.nova.nova_client_version
        if api_versions.get_api_version(version) >= api_versions.APIVersion("2.88"):
            return Result(
                _FAILURE,
                f"[nova] nova_client_version is {version}. From 2.88 on, Nova doesn't tell the "
                "sizes of hosts, so Blazar can't register any.",
            )
        ids = nova.hypervisor_ids()
        others = [
            f"{host.name} as {host.id}, Nova as {ids[host.name]}"
            for host in capacity.survey().hosts
            if ids.get(host.name, host.id) != host.id
        ]
        if others:
            return Result(
                _FAILURE,
                f"Blazar knows {_joined(others, '; ')}. [nova] nova_client_version was changed "
                "after these hosts had been registered, so Blazar doesn't notice when they fail.",
            )
        return Result(_SUCCESS)

    @_failing_safely
    def _hosts(self) -> Result:
        """Whether each host is in the freepool, or in the aggregate of a host reservation."""
        pool = cfg.CONF.nova.aggregate_freepool_name
        kept = freepool.hosts(nova.aggregates())
        if kept is None:
            return Result(
                _FAILURE,
                f"Nova has no aggregate {pool}, which [nova] aggregate_freepool_name names.",
            )
        hosts = capacity.survey().hosts
        if not hosts:
            return Result(
                _WARNING, "Blazar has no reservable host: run openstack reservation host create."
            )
        strays = [h.name for h in hosts if h.properties["service_name"] not in kept]
        if strays:
            return Result(
                _WARNING,
                f"These hosts in Blazar are neither in the aggregate {pool} nor reserved: "
                f"{_joined(strays)}. Run warre-blazar-manage audit --fix.",
            )
        return Result(_SUCCESS)

    @_failing_safely
    def _slots(self) -> Result:
        """Whether each flavor's hosts could hold an instance for each slot if they were empty."""
        overpromised = capacity.survey().overpromised
        if overpromised:
            flavors = [
                f"{_label(flavor)} has {flavor.slots}, its hosts hold {held}"
                for flavor, held in overpromised
            ]
            return Result(
                _WARNING,
                "These flavors have more slots than their hosts hold when empty: "
                f"{_joined(flavors, '; ')}.",
            )
        return Result(_SUCCESS)

    @_failing_safely
    def _properties(self) -> Result:
        """Whether each flavor has at least one host that matches it."""
        unmatched = capacity.survey().unmatched
        if unmatched:
            flavors = _joined([_label(flavor) for flavor in unmatched])
            return Result(
                _WARNING,
                "No host has the properties, the zone and the traits that these flavors ask for: "
                f"{flavors}.",
            )
        return Result(_SUCCESS)

    @_failing_safely
    def _room(self) -> Result:
        """Whether every host has the resources that are booked on it."""
        overbooked = host_refresh.all_overbooked()
        if overbooked:
            found = [
                f"{o.host.name} has {o.capacity} of {o.resource_class}, {o.booked} are booked at "
                f"{o.when}"
                for o in overbooked
            ]
            return Result(
                _WARNING,
                f"More is booked on these hosts than they have: {_joined(found, '; ')}. Move or "
                "delete reservations; warre-blazar-manage audit shows all such hosts.",
            )
        return Result(_SUCCESS)

    @_failing_safely
    def _devices(self) -> Result:
        """Whether all devices of each flavor are counted as the present options say."""
        findings = devices.find_changed(conditions.device_rules())
        uncounted = [f"{_label(f.flavor)}: {f.failure}" for f in devices.failures(findings)]
        if uncounted:
            return Result(
                _WARNING,
                f"The devices of these flavors aren't all counted: {_joined(uncounted, '; ')}.",
            )
        if findings:
            flavors = _joined([_label(f.flavor) for f in findings])
            return Result(
                _WARNING,
                f"The devices of these flavors are counted otherwise than configured: {flavors}. "
                "Run warre-blazar-manage flavor recount.",
            )
        return Result(_SUCCESS)

    _upgrade_checks = (
        ("Blazar's version", _blazar),
        ("Tables", _tables),
        ("Plugin and filters", _plugin),
        ("Messaging", _messaging),
        ("API", _api),
        ("Limits", _limits),
        ("Region", _region),
        ("Freepool and hosts", _hosts),
        ("Ids of hosts", _host_ids),
        ("Slots", _slots),
        ("Properties", _properties),
        ("Room on hosts", _room),
        ("Devices", _devices),
        ("Nova's options", _nova_options),
        ("Policy file", (common_checks.check_policy_json, {"conf": cfg.CONF})),
    )


def shortcomings() -> list[str]:
    """Why nobody could book yet: what the checks of the plugin, the filters and the limits find."""
    checks = Checks()
    found = (checks._plugin(), checks._limits())
    return [str(result.details) for result in found if result.code is not _SUCCESS]


def _label(flavor: Flavor) -> str:
    return f"{flavor.name} ({flavor.id})"


def _joined(names: list[str], separator: str = ", ") -> str:
    """Return a text with the first few names and the number of further names."""
    more = len(names) - _MOST_NAMES
    return separator.join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def main() -> int:
    """Run the checks.

    :returns: the exit status of oslo.upgradecheck.
    """
    db_options.set_defaults(cfg.CONF)
    cfg.CONF.register_cli_opt(_NOVA_FILES)
    try:
        return int(upgradecheck.main(cfg.CONF, "blazar", Checks()))
    except setup_errors.CONFIGURATION as error:
        print(f"warre-blazar-status: {setup_errors.configuration(error)}", file=sys.stderr)
        return int(_FAILURE)


if __name__ == "__main__":
    sys.exit(main())
