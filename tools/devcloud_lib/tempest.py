"""Runs Blazar's own Tempest tests on a dev cloud that has this package installed.

The tests are those of blazar-tempest-plugin. They run with Blazar's plugins for hosts, servers and
flavors beside the plugin of this package, with the exact plugins of this package, and with nothing
of this package enabled, each time on a cloud without data of an earlier run.
"""

import os
from collections.abc import Callable
from pathlib import Path

from devcloud_lib import (
    content,
    ini,
    limits,
    ports,
    results,
    settings,
    side_cloud,
    stamps,
    venv,
)
from devcloud_lib.console import say
from devcloud_lib.installer import Installer
from devcloud_lib.layout import PASSWORD, REGION, Layout

_PACKAGES = ("blazar-tempest-plugin", "tempest", "pytest")
_OFFSET = ports.BESIDE["tempest"]
_SCENARIOS = "blazar_tempest_plugin.tests.scenario"
#: The scenario of the short form. Unlike others it doesn't wait for the end of a lease.
_SHORT = (
    f"{_SCENARIOS}.test_instance_reservation::TestInstanceReservationScenario"
    "::test_instance_reservation"
)
#: Seconds that the scenarios may take on one cloud.
_LIMIT = 1200


def run(home: Path, report: Callable[[], str]) -> bool:
    """Run the tests with each kind of plugins. Return whether all tests passed with all of them.

    :param home: the directory of the environment, the cloud and the logs.
    :param report: returns pytest's option for the report of a run.
    """
    programs = _environment(home)
    found = {kind: _outcomes(home, programs, kind, report()) for kind in settings.HOST_PLUGINS}
    for line in table(found):
        say(line)
    return passed(found)


def short_command(home: Path, cloud: Path, report: str) -> list[str]:
    """The command line that runs one scenario on a cloud that is up and has hosts.

    :param home: the directory of the environment.
    :param cloud: the directory of the cloud.
    :param report: pytest's option for the report of the run.
    """
    programs, config = _environment(home), _configured(cloud, leave_zones=False)
    variables = [f"{name}={value}" for name, value in _variables(config).items()]
    return ["env", f"--chdir={home}", *variables, *_command(programs, report, _SHORT)]


def table(found: dict[str, results.Outcomes]) -> list[str]:
    """Return a line for each test, with its outcome for each kind of plugins.

    :param found: the outcomes by kind of plugins.
    """
    names = sorted({name for outcomes in found.values() for name in outcomes})
    width = max(map(len, names), default=0)
    heading = " ".join([f"{'test':{width}}", *(f"{kind:8}" for kind in found)])
    rows = [
        " ".join([f"{name:{width}}", *(f"{o.get(name, 'missing'):8}" for o in found.values())])
        for name in names
    ]
    return [line.rstrip() for line in (heading, *rows)]


def passed(found: dict[str, results.Outcomes]) -> bool:
    """Return whether the same tests ran with each kind of plugins, and all of them passed."""
    first, *others = found.values()
    return set(first.values()) == {"passed"} and all(outcomes == first for outcomes in others)


def configuration(layout: Layout, made: dict[str, str]) -> ini.Sections:
    """Return Tempest's configuration for a cloud.

    :param made: the ids of the image and of the flavor for servers, by Tempest's option.
    """
    state = layout.state("tempest")
    return {
        "DEFAULT": {"log_file": layout.log("tempest"), "use_stderr": False},
        "oslo_concurrency": {"lock_path": state / "locks"},
        "auth": {
            # Tempest makes a project and users for each class of tests, but no networks.
            "use_dynamic_credentials": True,
            "create_isolated_networks": False,
            "admin_username": "admin",
            "admin_password": PASSWORD,
            "admin_project_name": "admin",
            "admin_domain_name": "Default",
            "tempest_roles": "member",
        },
        "identity": {"auth_version": "v3", "uri_v3": layout.auth_url, "region": REGION},
        "compute": {**made, "fixed_network_name": "shared"},
        # The servers of Nova's fake driver can't be reached.
        "validation": {"run_validation": False},
        "service_available": {"cinder": False, "swift": False, "horizon": False},
    }


def _environment(home: Path) -> Path:
    """Make the environment. Return the directory of its programs."""
    directory = home / "venv"
    version = venv.packages_version(_PACKAGES, None)
    done = stamps.Stamps(directory / "stamps")
    if not done.current("packages", version):
        installer = Installer(home / "uv", home / "pip.log")
        installer.make(directory)
        installer.install(directory, *_PACKAGES)
        done.set("packages", version)
    return directory / "bin"


def _outcomes(home: Path, programs: Path, kind: str, report: str) -> results.Outcomes:
    """Run the tests on a new cloud. Return their outcomes.

    :param kind: the plugins for Blazar's own resource types.
    :param report: pytest's option for the report of the run.
    """
    cloud = home / "cloud"
    # A test that fails leaves a lease behind, which takes a host from the other tests.
    side_cloud.wipe(cloud)
    options = [f"--port-offset={_OFFSET}", "--managers=1", "--password-rounds=4"]
    with side_cloud.running(cloud, *options, f"--host-plugins={kind}"):
        config = _configured(cloud, leave_zones=True)
        side_cloud.register_hosts(cloud)
        return _tested(home / f"{kind}.log", programs, config, report)


def _configured(cloud: Path, leave_zones: bool) -> Path:
    """Write Tempest's configuration for a cloud, and make what it names. Return its path."""
    chosen = settings.load(cloud)
    assert chosen is not None
    layout = Layout(cloud, chosen)
    config = layout.etc("tempest", "tempest.conf")
    ini.write(config, configuration(layout, content.tempest_content(layout, leave_zones)))
    return config


def _tested(log: Path, programs: Path, config: Path, report: str) -> results.Outcomes:
    say(f"Tempest runs, see {log}")
    limits.run(
        limits.Job(
            "Tempest",
            _command(programs, report, _SCENARIOS),
            _LIMIT,
            log,
            # Outside the repository, whose configuration of pytest isn't for these tests.
            directory=log.parent,
            environment={**os.environ, **_variables(config)},
        )
    )
    prefix = f"{_SCENARIOS}.test_"
    names = results.outcomes(Path(report.partition("=")[2]))
    return {name.rpartition(prefix)[2]: outcome for name, outcome in names.items()}


def _command(programs: Path, report: str, tests: str) -> list[str]:
    return [
        *(str(programs / "python"), "-m", "pytest", "-v", "-p", "no:cacheprovider"),
        # The scenarios use this module without importing it.
        *("-W", "ignore", "-p", "tempest.scenario.manager"),
        *("--tb=short", report, "--pyargs", tests),
    ]


def _variables(config: Path) -> dict[str, str]:
    return {"TEMPEST_CONFIG_DIR": str(config.parent), "TEMPEST_CONFIG": config.name}
