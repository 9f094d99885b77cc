"""Leaves every other case of tests with many cases to the parts that run all tests."""

import collections

import pytest

#: Of tests with fewer cases, the short forms run all.
_MANY = 6


# Before pytest leaves out tests for its option -m.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give the mark ``whole`` to every other case of a test with many cases that don't have it.

    The kind of database doesn't count as a case.
    """
    tests = collections.defaultdict(lambda: collections.defaultdict(list))
    for item in items:
        callspec = getattr(item, "callspec", None)
        if callspec and not item.get_closest_marker("whole"):
            case = tuple(each for each in callspec.indices.items() if each[0] != "kind")
            tests[item.nodeid.split("[")[0]][case].append(item)
    for cases in tests.values():
        if len(cases) >= _MANY:
            for same in list(cases.values())[1::2]:
                for item in same:
                    item.add_marker(pytest.mark.whole)
