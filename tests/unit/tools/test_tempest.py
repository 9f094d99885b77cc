"""The configuration that ``tools/test tempest`` writes, and its table."""

import configparser
import pathlib

import pytest
from devcloud_lib import ini, settings, tempest
from devcloud_lib.layout import Layout
from devcloud_lib.results import Outcomes

_PASSED: Outcomes = {"host.test_a": "passed", "instance.test_b": "passed"}


def test_table_has_a_line_for_each_test():
    found = {"stock": _PASSED, "exact": {"host.test_a": "failure"}}
    assert tempest.table(found) == [
        "test            stock    exact",
        "host.test_a     passed   failure",
        "instance.test_b passed   missing",
    ]


def test_all_tests_passed_with_both_kinds_of_plugins():
    assert tempest.passed({"stock": _PASSED, "exact": dict(_PASSED)})


@pytest.mark.parametrize(
    ("stock", "exact"),
    [
        pytest.param(_PASSED, {**_PASSED, "host.test_a": "failure"}, id="one failed"),
        pytest.param(
            {"host.test_a": "failure"}, {"host.test_a": "failure"}, id="failed with both kinds"
        ),
        pytest.param(
            {"host.test_a": "skipped"}, {"host.test_a": "skipped"}, id="skipped with both kinds"
        ),
        pytest.param(_PASSED, {"host.test_a": "passed"}, id="one is missing"),
        pytest.param({}, {}, id="none ran"),
    ],
)
def test_other_results_are_failures(stock: Outcomes, exact: Outcomes):
    assert not tempest.passed({"stock": stock, "exact": exact})


def test_configuration_names_services_and_resources_of_the_cloud(tmp_path: pathlib.Path):
    layout = Layout(tmp_path, settings.Settings(port_offset=3000))
    made = {"image_ref": "tiny", "flavor_ref": "small"}
    written = configparser.RawConfigParser(default_section="none")
    written.read_string(ini.render(tempest.configuration(layout, made)))
    assert written["identity"]["uri_v3"] == "http://127.0.0.1:28000/v3"
    assert dict(written["compute"]) == {**made, "fixed_network_name": "shared"}
    assert not written["validation"].getboolean("run_validation")
