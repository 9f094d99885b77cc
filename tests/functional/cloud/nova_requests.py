"""Nova's own translation of flavors into requests to Placement.

``queries`` runs this file with the cloud's Python, because the tests' environment has no Nova.
"""

import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

#: What a flavor with ``hw:mem_encryption`` requires of the image.
_IMAGE = {"hw_firmware_type": "uefi", "hw_machine_type": "q35"}


def queries(
    home: pathlib.Path, flavors: Sequence[dict[str, Any]], aliases: Sequence[str]
) -> list[str]:
    """The query of ``GET /allocation_candidates`` that Nova's scheduler sends for each flavor.

    :param flavors: the fields of each flavor: ``vcpus``, ``memory_mb``, ``root_gb``,
        ``ephemeral_gb`` and ``extra_specs``.
    :param aliases: lines of Nova's option ``[pci] alias``.
    """
    done = subprocess.run(
        [home / "venv" / "bin" / "python", __file__],
        input=json.dumps({"flavors": flavors, "aliases": aliases}),
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTHON")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


def _main() -> None:
    from nova import conf, context, objects  # noqa: PLC0415
    from nova.pci import request  # noqa: PLC0415
    from nova.scheduler import utils  # noqa: PLC0415

    given = json.load(sys.stdin)
    objects.register_all()
    conf.CONF([], default_config_files=[])
    conf.CONF.set_override("alias", given["aliases"], "pci")
    conf.CONF.set_override("pci_in_placement", True, "filter_scheduler")
    image = objects.ImageMeta(properties=objects.ImageMetaProps(**_IMAGE))

    def query(number: int, values: dict[str, Any]) -> str:
        flavor = objects.Flavor(name=f"flavor{number}", swap=0, **values)
        spec = objects.RequestSpec(flavor=flavor, image=image, is_bfv=False)
        spec.requested_resources = []
        spec.pci_requests = request.get_pci_requests_from_flavor(flavor)
        for one in spec.pci_requests.requests:
            # Nova's API gives each request an id before the scheduler sees it.
            one.request_id = one.request_id or f"pci{number}"
        spec.generate_request_groups_from_pci_requests()
        wanted = utils.resources_from_request_spec(context.get_admin_context(), spec, None)
        return str(wanted.to_querystring())

    print(json.dumps([query(*flavor) for flavor in enumerate(given["flavors"])]))


if __name__ == "__main__":
    _main()
