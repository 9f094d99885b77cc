"""The table that tools/test prints at its end."""

import pathlib

from devcloud_lib import results

REPORT = """<?xml version="1.0" encoding="utf-8"?>
<testsuites><testsuite name="pytest" tests="2">
  <testcase classname="tests.unit.test_a" name="test_quick" time="0.25" />
  <testcase classname="tests.unit.test_a" name="test_long[x]" time="12.5"><failure /></testcase>
</testsuite></testsuites>
"""


def test_table_has_parts_and_slowest_tests(tmp_path: pathlib.Path):
    report = tmp_path / "unit-0.xml"
    report.write_text(REPORT)
    lint = results.Part("lint", True, 3.14, ())
    unit = results.Part("unit", False, 61.0, (report, report))
    assert results.table([lint, unit]).splitlines() == [
        "part           tests  seconds  result",
        "lint               -      3.1  passed",
        "unit               4     61.0  FAILED",
        "the 4 slowest tests, in seconds:",
        "    12.5  tests.unit.test_a::test_long[x]",
        "    12.5  tests.unit.test_a::test_long[x]",
        "     0.2  tests.unit.test_a::test_quick",
        "     0.2  tests.unit.test_a::test_quick",
    ]


def test_at_most_ten_tests_are_slowest(tmp_path: pathlib.Path):
    report = tmp_path / "unit-0.xml"
    report.write_text(REPORT)
    table = results.table([results.Part("unit", True, 1, (report,) * 6)])
    assert len(table.splitlines()) == 2 + 1 + 10


def test_run_without_a_report_has_no_tests(tmp_path: pathlib.Path):
    part = results.Part("unit", False, 0.4, (tmp_path / "missing.xml",))
    assert results.table([part]).splitlines()[1:] == ["unit               -      0.4  FAILED"]


def test_outcomes_are_by_class_and_name(tmp_path: pathlib.Path):
    report = tmp_path / "unit-0.xml"
    report.write_text(REPORT)
    assert results.outcomes(report) == {
        "tests.unit.test_a.test_quick": "passed",
        "tests.unit.test_a.test_long[x]": "failure",
    }


def test_missing_report_has_no_outcomes(tmp_path: pathlib.Path):
    assert results.outcomes(tmp_path / "missing.xml") == {}


def test_report_that_was_cut_off_has_no_tests(tmp_path: pathlib.Path):
    report = tmp_path / "unit-0.xml"
    report.write_text(REPORT[:150])
    part = results.Part("unit", False, 0.4, (report,))
    assert results.table([part]).splitlines()[1:] == ["unit               -      0.4  FAILED"]
