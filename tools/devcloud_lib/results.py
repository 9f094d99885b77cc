"""Reads what pytest has written about its runs, and prints a table of the parts of tools/test."""

import dataclasses
from pathlib import Path
from xml.etree import ElementTree

_SLOWEST = 10
#: The outcome of each test, by its name: "passed", "failure", "error" or "skipped".
Outcomes = dict[str, str]


@dataclasses.dataclass(frozen=True)
class Part:
    """One part of tools/test. ``reports`` are the JUnit files of its runs of pytest."""

    name: str
    passed: bool
    seconds: float
    reports: tuple[Path, ...]


def table(parts: list[Part]) -> str:
    """Return a table of parts with tests, seconds and result, and the slowest tests of all."""
    times = {part.name: [t for path in part.reports for t in _times(path)] for part in parts}
    rows = [f"{'part':13} {'tests':>6} {'seconds':>8}  result"]
    for part in parts:
        tests = len(times[part.name]) or "-"
        result = "passed" if part.passed else "FAILED"
        rows.append(f"{part.name:13} {tests:>6} {part.seconds:8.1f}  {result}")
    slowest = sorted((t for found in times.values() for t in found), reverse=True)[:_SLOWEST]
    if slowest:
        rows.append(f"the {len(slowest)} slowest tests, in seconds:")
        rows += [f"{seconds:8.1f}  {name}" for seconds, name in slowest]
    return "\n".join(rows)


def outcomes(report: Path) -> Outcomes:
    """Return the outcome of each test in a report, none if pytest was stopped."""
    return {
        f"{case.get('classname')}.{case.get('name')}": _outcome(case) for case in _cases(report)
    }


def _outcome(case: ElementTree.Element) -> str:
    kinds = {child.tag for child in case} & {"failure", "error", "skipped"}
    return kinds.pop() if kinds else "passed"


def _times(report: Path) -> list[tuple[float, str]]:
    """Return the seconds and the name of each test in a report."""
    return [
        (float(case.get("time", 0)), f"{case.get('classname')}::{case.get('name')}")
        for case in _cases(report)
    ]


def _cases(report: Path) -> list[ElementTree.Element]:
    try:
        return list(ElementTree.parse(report).iter("testcase"))
    except (FileNotFoundError, ElementTree.ParseError):
        return []
