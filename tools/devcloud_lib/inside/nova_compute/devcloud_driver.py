"""Nova's fake virt driver, made to survive a restart of nova-compute.

Nova's own gives its node a new random identity in each process, with which nova-compute refuses to
start a second time, and forgets its servers.
"""

from typing import Any

import nova.virt.node
from nova import context
from nova.compute import power_state
from nova.objects import instance as instance_objects
from nova.virt import fake


class DevcloudDriver(fake.MediumFakeDriver):  # type: ignore[misc]  # nova is not typed
    """MediumFakeDriver with a kept identity, knowing at its start the servers it should have."""

    def init_host(self, host: str) -> None:
        super().init_host(host)
        kept = instance_objects.InstanceList.get_by_host(
            context.get_admin_context(), host, expected_attrs=["flavor"]
        )
        for instance in kept:
            if instance.power_state == power_state.RUNNING:
                self._adopt(instance)

    def get_available_resource(self, nodename: str) -> dict[str, Any]:
        resources: dict[str, Any] = super().get_available_resource(nodename)
        resources["uuid"] = nova.virt.node.get_local_node_uuid()
        return resources

    def get_nodenames_by_uuid(self, refresh: bool = False) -> dict[str, str]:
        (nodename,) = self.get_available_nodes(refresh)
        return {nova.virt.node.get_local_node_uuid(): nodename}

    def _adopt(self, instance: instance_objects.Instance) -> None:
        flavor = instance.flavor
        self.resources.claim(vcpus=flavor.vcpus, mem=flavor.memory_mb, disk=flavor.root_gb)
        self.instances[instance.uuid] = fake.FakeInstance(
            instance.name, power_state.RUNNING, instance.uuid
        )
