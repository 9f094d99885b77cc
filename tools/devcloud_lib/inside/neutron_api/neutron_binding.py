"""An ML2 mechanism driver that binds every port to its host. The dev cloud has no agents."""

from neutron_lib import constants
from neutron_lib.api.definitions import portbindings
from neutron_lib.plugins.ml2 import api


class AlwaysBinds(api.MechanismDriver):  # type: ignore[misc]  # neutron_lib is not typed
    """Binds every port. Nova's fake driver plugs in no network, so any binding is good enough."""

    def initialize(self) -> None:
        """Do nothing: the driver has no state."""

    @property
    def connectivity(self) -> str:
        return str(portbindings.CONNECTIVITY_L2)

    def bind_port(self, context: api.PortContext) -> None:
        segment = context.segments_to_bind[0]
        details = {portbindings.CAP_PORT_FILTER: False}
        context.set_binding(
            segment[api.ID], portbindings.VIF_TYPE_OTHER, details, constants.PORT_STATUS_ACTIVE
        )
