"""A variant of Nova's fake virt driver that has GPUs, survives a restart and uploads snapshots.

Nova's fake driver gives its node a new random identity in each process, and nova-compute refuses to
start a second time with another identity. It also forgets its servers, and uploads nothing for a
snapshot, so that the image stays queued.
"""

import io
import json
from collections.abc import Callable
from typing import Any

import nova.virt.node
from nova import context
from nova.compute import power_state
from nova.image import glance
from nova.objects import instance as instance_objects
from nova.virt import fake
from oslo_config import cfg

cfg.CONF.register_opts(
    [
        cfg.IntOpt(
            "gpus",
            default=0,
            min=0,
            help="Number of PCI devices, which are of the model in the first [pci] device_spec",
        )
    ],
    "devcloud",
)
_FIRST_BUS = 0x81
#: What is uploaded for a snapshot: the bytes of an empty disk.
_DISK = b"\0" * 1024


class DevcloudDriver(fake.MediumFakeDriver):  # type: ignore[misc]  # nova is not typed
    """MediumFakeDriver with a lasting identity and with as many PCI devices as configured.

    At its start it reads its servers from Nova. Nova's own fake driver with PCI devices
    (``FakeDriverWithPciResources``) has three network cards with a virtual function each, of which
    Nova lets only either the card or its function be used.
    """

    def init_host(self, host: str) -> None:
        super().init_host(host)
        instances = instance_objects.InstanceList.get_by_host(
            context.get_admin_context(), host, expected_attrs=["flavor"]
        )
        for instance in instances:
            if instance.power_state == power_state.RUNNING:
                self._adopt(instance)

    def get_available_resource(self, nodename: str) -> dict[str, Any]:
        resources: dict[str, Any] = super().get_available_resource(nodename)
        resources["uuid"] = nova.virt.node.get_local_node_uuid()
        resources["pci_passthrough_devices"] = json.dumps(_gpus())
        return resources

    def get_nodenames_by_uuid(self, refresh: bool = False) -> dict[str, str]:
        (nodename,) = self.get_available_nodes(refresh)
        return {nova.virt.node.get_local_node_uuid(): nodename}

    def snapshot(
        self,
        context: context.RequestContext,
        instance: instance_objects.Instance,
        image_id: str,
        update_task_state: Callable[..., None],
    ) -> None:
        super().snapshot(context, instance, image_id, update_task_state)
        metadata = {"disk_format": "raw", "container_format": "bare"}
        glance.API().update(context, image_id, metadata, io.BytesIO(_DISK))

    def _adopt(self, instance: instance_objects.Instance) -> None:
        flavor = instance.flavor
        self.resources.claim(vcpus=flavor.vcpus, mem=flavor.memory_mb, disk=flavor.root_gb)
        self.instances[instance.uuid] = fake.FakeInstance(
            instance.name, power_state.RUNNING, instance.uuid
        )


def _gpus() -> list[dict[str, Any]]:
    """The host's GPUs, as a virt driver reports plain PCI devices."""
    count = cfg.CONF.devcloud.gpus
    if not count:
        return []
    model = json.loads(cfg.CONF.pci.device_spec[0])
    return [
        {
            "address": f"0000:{_FIRST_BUS + number:02x}:00.0",
            "vendor_id": model["vendor_id"],
            "product_id": model["product_id"],
            "label": f"label_{model['vendor_id']}_{model['product_id']}",
            "dev_type": "type-PCI",
            "status": "available",
            "parent_addr": None,
            "numa_node": None,
        }
        for number in range(count)
    ]
