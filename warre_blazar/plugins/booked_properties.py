"""Tells Blazar which properties of hosts are booked, so that operators can change the others.

Before Blazar changes an extra capability of a host, it reads what the reservations on the host
need. Blazar can read this only for ``physical:host`` and ``virtual:instance``. If a reservation of
another type is on the host, Blazar refuses the change.
"""

import functools
import json
from collections.abc import Callable
from typing import Any

from blazar.db.sqlalchemy import utils
from blazar.plugins import flavor as stock_flavor

from warre_blazar.db import session
from warre_blazar.db.booking import instance_reservations
from warre_blazar.domain.flavors.flavor import RESOURCE_TYPE, Shape


def register() -> None:
    """Let Blazar's manager in this process know what reservations of all types need of hosts."""
    if not hasattr(utils.get_plugin_reservation, "__wrapped__"):
        utils.get_plugin_reservation = _knowing(utils.get_plugin_reservation)


def _knowing(stock: Callable[[str, str], Any]) -> Callable[[str, str], Any]:
    @functools.wraps(stock)
    def get(resource_type: str, resource_id: str) -> Any:
        if resource_type == RESOURCE_TYPE:
            with session.reader() as db:
                shape = instance_reservations.shape(db, resource_id)
            return {"resource_properties": _requirements(shape) if shape else ""}
        if resource_type == stock_flavor.RESOURCE_TYPE:
            # Such a reservation is of a Nova flavor, which asks for traits and no properties.
            return {"resource_properties": ""}
        return stock(resource_type, resource_id)

    return get


def _requirements(shape: Shape) -> str:
    """What a shape needs of a host's properties, in the form that Blazar can take apart."""
    comparisons = [[operator, f"${name}", value] for name, operator, value in shape.comparisons]
    if not comparisons:
        return ""
    return json.dumps(comparisons[0] if len(comparisons) == 1 else ["and", *comparisons])
