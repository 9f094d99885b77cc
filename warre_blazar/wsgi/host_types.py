"""Lets Blazar's own v2 show hosts whose IDs are UUIDs, as Nova has them from version 2.53 on."""

import contextlib
from typing import Any

from wsme import types as wsme_types


class HostID(wsme_types.UserType):
    """The ID of a host. A number stays a number, as Blazar's v2 has always shown it."""

    basetype = wsme_types.text
    name = "host ID"

    def validate(self, value: Any) -> Any:
        return int(value) if str(value).isdigit() else str(value)

    frombasetype = tobasetype = validate


def correct() -> None:
    """Replace the types in Blazar's v2 that refuse such hosts, if Blazar has its v2."""
    with contextlib.suppress(ImportError):
        from blazar.api.v2.controllers.extensions import host  # noqa: PLC0415

        types = {"id": HostID(), "cpu_info": wsme_types.text}
        for attribute in wsme_types.list_attributes(host.Host):
            attribute.datatype = types.get(attribute.name, attribute.datatype)
        (argument,) = host.HostsController.get_one._wsme_definition.arguments
        argument.datatype = types["id"]
