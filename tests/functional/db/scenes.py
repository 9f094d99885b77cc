"""Scenes with which many tests begin. Each is made once on each database, and then put back."""

import copy
from collections.abc import Callable
from typing import Any, TypeVar

import sqlalchemy as sa

from tests.fakes.cloud import Cloud
from tests.functional.db import databases

T = TypeVar("T")

#: What services keep, by the name of the service.
_KEPT = {
    "keystone": ("trusts", "limits"),
    "nova": ("flavors", "aggregates", "servers", "hosts", "last_id"),
    "placement": ("classes", "traits", "providers"),
}
_scenes: dict[tuple[str, str], tuple[Any, dict[str, list[tuple[Any, ...]]], Any]] = {}


def put_back(database: sa.Engine, cloud: Cloud, make: Callable[[], T]) -> T:
    """The result of ``make``. Later calls restore what was there after the first one.

    Nothing but a scene may be in the database and in the cloud.
    """
    key = (str(database.url), f"{make.__module__}.{make.__qualname__}")
    if key not in _scenes:
        made = make()
        objects = {
            (service, name): copy.deepcopy(getattr(getattr(cloud, service), name))
            for service, names in _KEPT.items()
            for name in names
        }
        _scenes[key] = (made, databases.dump(database), objects)
        return made
    made, rows, objects = _scenes[key]
    databases.put_back(database, rows)
    for (service, name), value in objects.items():
        setattr(getattr(cloud, service), name, copy.deepcopy(value))
    return made
