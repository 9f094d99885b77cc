"""The values for OpenStack-Helm, beside what its chart for Blazar had on 2026-08-20."""

import pathlib
import subprocess
import sys
from typing import Any

import yaml

VALUES = yaml.safe_load(
    (pathlib.Path(__file__).parents[3] / "contrib/openstack-helm/values.yaml").read_text()
)
PLUGINS = ["physical.host", "virtual.instance", "flavor.instance", "virtual.floatingip"]
#: The jobs for which the API and the manager wait.
JOBS = ["db-sync", "ks-user", "ks-endpoints", "rabbit-init"]
#: The chart's logging: a logger that it doesn't list has the handlers of the root logger.
LOGGING = {
    "loggers": {"keys": ["root", "blazar"]},
    "handlers": {"keys": ["stdout", "null"]},
    "formatters": {"keys": ["plain"]},
    "logger_root": {"level": "WARNING", "handlers": "null"},
    "logger_blazar": {"level": "INFO", "handlers": ["stdout"], "qualname": "blazar"},
    "handler_null": {"class": "logging.NullHandler", "formatter": "plain", "args": "()"},
    "handler_stdout": {"class": "StreamHandler", "formatter": "plain", "args": "(sys.stdout,)"},
    "formatter_plain": {"format": "%(name)s: %(message)s"},
}
_LOG = """
import logging.config, sys
logging.config.fileConfig(sys.argv[1])
for name in ("blazar.manager", "warre_blazar.plugins.flavor_slot"):
    logging.getLogger(name).error("failed")
"""


def merged(chart: Any, ours: Any) -> Any:
    """As Helm merges values: dictionaries key by key, and everything else is replaced."""
    if not isinstance(chart, dict) or not isinstance(ours, dict):
        return ours
    return {**chart, **{k: merged(chart.get(k), v) for k, v in ours.items()}}


def ini(groups: dict[str, dict[str, Any]]) -> str:
    """As the chart writes a file of options: lists with commas."""
    lines = []
    for group, options in groups.items():
        lines.append(f"[{group}]")
        for name, value in options.items():
            lines.append(f"{name} = {','.join(value) if isinstance(value, list) else value}")
    return "\n".join(lines) + "\n"


def logged(logging: dict[str, Any], directory: pathlib.Path) -> list[str]:
    """The loggers whose messages a process with this configuration prints."""
    path = directory / "logging.conf"
    path.write_text(ini(logging))
    words = [sys.executable, "-c", _LOG, str(path)]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
    return [line.partition(":")[0] for line in done.stdout.splitlines()]


def test_plugin_is_added_to_those_of_the_chart():
    expected = [f"{name}.plugin" for name in (*PLUGINS, "flavor.slot")]
    assert VALUES["conf"]["blazar"]["manager"]["plugins"].split(",") == expected


def test_one_option_of_blazar_conf_is_set():
    assert list(VALUES["conf"]["blazar"]) == ["manager"]
    assert list(VALUES["conf"]["blazar"]["manager"]) == ["plugins"]


def test_messages_of_this_package_are_printed(tmp_path):
    assert logged(LOGGING, tmp_path) == ["blazar.manager"]
    ours = merged(LOGGING, VALUES["conf"]["logging"])
    assert logged(ours, tmp_path) == ["blazar.manager", "warre_blazar.plugins.flavor_slot"]


def test_api_and_manager_wait_for_the_setup():
    job = VALUES["extraObjects"]["warre_blazar_setup"]["metadata"]["name"]
    expected = [*(f"blazar-{name}" for name in JOBS), job]
    for service in ("api", "manager"):
        assert VALUES["dependencies"]["static"][service]["jobs"] == expected


def test_setup_follows_the_jobs_of_the_chart():
    """The chart's jobs are hooks with weights from -5 to -1."""
    annotations = VALUES["extraObjects"]["warre_blazar_setup"]["metadata"]["annotations"]
    assert annotations["helm.sh/hook"] == "post-install,post-upgrade"
    assert int(annotations["helm.sh/hook-weight"]) > -1


def test_setup_and_manager_get_the_login():
    """The chart gives it to the API only: as a file of the directory beside blazar.conf."""
    pod = VALUES["extraObjects"]["warre_blazar_setup"]["spec"]["template"]["spec"]
    manager = VALUES["pod"]["mounts"]["blazar_manager"]["blazar_manager"]
    for mounts, volumes in (
        (pod["containers"][0]["volumeMounts"], pod["volumes"]),
        (manager["volumeMounts"], manager["volumes"]),
    ):
        named = {v["name"] for v in volumes if v["secret"]["secretName"] == "blazar-ks-etc"}
        found = [m["mountPath"] for m in mounts if m["name"] in named]
        assert found == ["/etc/blazar/blazar.conf.d"]
