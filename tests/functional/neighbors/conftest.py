"""Fixtures of the tests with the exact plugins, on the dev cloud of ``tools/test neighbors``."""

from tests.functional.cloud.conftest import (
    admin,
    alpha,
    beta,
    lease,
    offer,
    people,
    plain,
    pytest_configure,
    records,
)

__all__ = [
    "admin",
    "alpha",
    "beta",
    "lease",
    "offer",
    "people",
    "plain",
    "pytest_configure",
    "records",
]
