"""Fixtures of the tests with other programs, on the dev cloud of ``tools/test programs``."""

from tests.functional.cloud.conftest import (
    admin,
    alpha,
    beta,
    offer,
    people,
    pytest_configure,
    records,
)

__all__ = ["admin", "alpha", "beta", "offer", "people", "pytest_configure", "records"]
