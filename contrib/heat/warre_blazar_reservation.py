"""The Heat resource ``OS::WarreBlazar::Reservation``: a reservation of instances of a flavor.

Heat loads this file from a directory that its option ``plugin_dirs`` lists. The properties are the
fields that the API takes, so they are those of the installed client.
"""

import contextlib
from collections.abc import Iterator
from typing import Any, ClassVar

from heat.common import exception
from heat.engine import attributes, properties, resource
from heat.engine.clients.os import blazar

from warre_blazar.client import Client, Reservation, errors
from warre_blazar.fields import kinds
from warre_blazar.fields.declaration import Field, Use, given
from warre_blazar.fields.reservations import ReservationFields

_FIELDS = {field.name: field for field in given(ReservationFields)}
_WAIT = "wait_for_active"
#: The client's arguments that have other names than the API's fields.
_ARGUMENTS = {"flavor_id": "flavor", "instance_count": "count"}
_OVER = ("COMPLETE", "ERROR")


def _property(field: Field[Any]) -> properties.Schema:
    kind = properties.Schema.STRING
    if isinstance(field.kind, kinds.Integer):
        kind = properties.Schema.INTEGER
    elif isinstance(field.kind, kinds.Boolean):
        kind = properties.Schema.BOOLEAN
    return properties.Schema(
        kind,
        field.description,
        required=field.mandatory,
        default=field.default,
        update_allowed=Use.FIXED not in field.use,
    )


def _attribute(name: str) -> attributes.Schema:
    # The value changes while the stack stays as it is.
    return attributes.Schema(
        getattr(ReservationFields, name).description,
        type=attributes.Schema.STRING,
        cache_mode=attributes.Schema.CACHE_NONE,
    )


def _arguments(values: dict[str, Any]) -> dict[str, Any]:
    return {_ARGUMENTS.get(name, name): value for name, value in values.items()}


class _ClientPlugin(blazar.BlazarClientPlugin):
    """Heat's plugin for Blazar, which knows the endpoint, with the client of the v2 API."""

    def _create(self, version: None = None) -> Client:
        return Client(
            self.context.keystone_session,
            interface=self._get_client_option(blazar.CLIENT_NAME, "endpoint_type"),
            region_name=self._get_region_name(),
        )

    def is_not_found(self, exc: Exception) -> bool:
        return isinstance(exc, errors.NotFound)


@contextlib.contextmanager
def _heats_errors() -> Iterator[None]:
    """Raise Heat's own error, with the client's sentence."""
    try:
        yield
    except errors.ClientError as error:
        raise exception.Error(str(error)) from error


class WarreBlazarReservation(resource.Resource):
    """Instances of a flavor that are booked for a time with a start and an end."""

    properties_schema: ClassVar = {
        **{name: _property(field) for name, field in _FIELDS.items()},
        _WAIT: properties.Schema(
            properties.Schema.BOOLEAN,
            "Whether the resource is complete only when the reservation is ACTIVE. Servers can't "
            "boot on its flavor before. The time-out of the stack limits the waiting.",
            default=False,
            update_allowed=True,
        ),
    }
    attributes_schema: ClassVar = {
        name: _attribute(name) for name in ("compute_flavor", "start", "end", "status")
    }
    default_client_name = blazar.CLIENT_NAME
    entity = "reservations"

    def client_plugin(self, name: str | None = None) -> Any:
        """Heat's plugin of that name, or else the one for reservations."""
        return super().client_plugin(name) if name else _ClientPlugin(self.context)

    def client(self, name: str | None = None, version: str | None = None) -> Any:
        """The client of that name, or else the one for reservations."""
        return super().client(name, version) if name else self.client_plugin().client()

    def handle_create(self) -> bool:
        given = {name: self.properties[name] for name in _FIELDS}
        values = {name: value for name, value in given.items() if value is not None}
        values.setdefault("name", self.physical_resource_name())
        with _heats_errors():
            self.resource_id_set(self.client().reservations.create(**_arguments(values)).id)
        return self.properties[_WAIT]

    def check_create_complete(self, waits: bool) -> bool:
        """Whether the reservation has a Nova flavor, or is ACTIVE if that is waited for."""
        with _heats_errors():
            reservation = self._reservation()
        if reservation.status in _OVER:
            reason = reservation.status_reason or "no reason is known"
            raise exception.Error(f"The reservation is {reservation.status}: {reason}")
        return reservation.status == "ACTIVE" or (not waits and bool(reservation.compute_flavor))

    def needs_replace_failed(self) -> bool:
        """Whether an update replaces a resource that has failed.

        The reservation may be as it was before, for instance if a change was refused.
        """
        return self.resource_id is None or self._is_over()

    def handle_update(self, json_snippet: Any, tmpl_diff: Any, prop_diff: dict[str, Any]) -> bool:
        waits = json_snippet.properties(self.properties_schema, self.context)[_WAIT]
        changes = {name: prop_diff[name] for name in prop_diff if name in _FIELDS}
        if changes:
            if self._is_over():
                raise resource.UpdateReplace(self.name)
            # An empty text removes a value.
            values = {name: "" if value is None else value for name, value in changes.items()}
            with _heats_errors():
                self.client().reservations.update(self.resource_id, **_arguments(values))
        return waits

    check_update_complete = check_create_complete

    def handle_delete(self) -> bool:
        if self.resource_id is None:
            return True
        with _heats_errors(), self.client_plugin().ignore_not_found:
            return self.client().reservations.delete(self.resource_id)
        return True

    def check_delete_complete(self, is_deleted: bool) -> bool:
        if is_deleted:
            return True
        with _heats_errors(), self.client_plugin().ignore_not_found:
            self._reservation()
            return False
        return True

    def _is_over(self) -> bool:
        """Whether the reservation can't be changed any more, or is gone."""
        with self.client_plugin().ignore_not_found:
            return self._reservation().status in _OVER
        return True

    def _reservation(self) -> Reservation:
        return self.client().reservations.get(self.resource_id)

    def _show_resource(self) -> dict[str, Any]:
        return self._reservation().document

    def _resolve_attribute(self, name: str) -> str | None:
        return self._show_resource()[name] if self.resource_id else None


def resource_mapping() -> dict[str, type[resource.Resource]]:
    """What Heat asks of a plugin: its classes by the types in templates."""
    return {"OS::WarreBlazar::Reservation": WarreBlazarReservation}
