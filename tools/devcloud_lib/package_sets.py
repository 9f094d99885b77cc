"""The sets of packages with which the project is installed and tested.

Deployers install a release of OpenStack with its upper constraints. The set ``2026.1`` has those of
the oldest release that is supported. The set ``master`` has those of August 2026, from which the
release 2026.2 was made. The set ``newest`` has no constraints: it is what the package index offers.
"""

import dataclasses
from pathlib import Path

_CONSTRAINTS = Path(__file__).resolve().parents[2] / "tests" / "constraints"


@dataclasses.dataclass(frozen=True)
class PackageSet:
    """The packages of a release.

    :ivar blazar: the requirement of Blazar, which constraints don't list.
    :ivar services: the requirements of OpenStack's other services, which constraints don't list
        either.
    :ivar constraints: the file of upper constraints of all other packages, if there is one.
    :ivar python: the Python with which the unit tests run, if it is installed.
    :ivar eventlet: whether Blazar's processes use eventlet.
    """

    name: str
    blazar: str
    services: tuple[str, ...]
    constraints: Path | None
    python: str
    eventlet: bool = False


_2026_1 = PackageSet(
    "2026.1",
    "blazar==17.*",
    (
        "blazar-nova==9.*",
        "glance==32.*",
        "keystone==29.*",
        "neutron==28.*",
        "nova==33.*",
        "openstack-placement==15.*",
    ),
    _CONSTRAINTS / "2026.1.txt",
    "3.11",
    eventlet=True,
)
_SERVICES = ("blazar-nova", "glance", "keystone", "neutron", "nova", "openstack-placement")
#: Of the services, it has the newest versions that work with the constraints. Nova is still that of
#: 2026.1: Nova 34 needs a newer keystoneauth1. Neutron imports pyroute2, which only a newer os-vif
#: brings.
MASTER = PackageSet(
    "master",
    "blazar==18.*",
    (*_SERVICES, "pyroute2"),
    _CONSTRAINTS / "master.txt",
    "3.12",
)
NEWEST = PackageSet("newest", "blazar", _SERVICES, None, "3.13")

SETS = {chosen.name: chosen for chosen in (_2026_1, MASTER, NEWEST)}
