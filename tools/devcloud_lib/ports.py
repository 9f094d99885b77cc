"""TCP ports of the cloud, which differ from the services' usual ports, and free ports."""

import contextlib
import dataclasses
import random
import socket

#: Linux gives ports from this one on to sockets that ask for any port.
GIVEN_FROM = 32768
#: Most ports of dev clouds are between this range and those that Linux gives.
_NEVER_GIVEN = range(10000, 20000)
#: What is added to the ports of the clouds that parts of tools/test run beside the usual one.
BESIDE = {
    "releases": 500,
    "second": 1000,
    "neighbors": 1500,
    "dashboard": 2000,
    "torture": 2500,
    "tempest": 3000,
    "programs": 250,
    "upgrade": 750,
}


@dataclasses.dataclass(frozen=True)
class Ports:
    """The cloud's ports. Blazar keeps its usual port, which the documented commands name."""

    offset: int = 0
    mariadb: int = 23306
    rabbitmq: int = 25673
    rabbitmq_distribution: int = 25674
    epmd: int = 24369
    keystone: int = 25000
    placement: int = 28778
    glance: int = 29292
    neutron: int = 29696
    nova: int = 28774
    mail: int = 22525
    dashboard: int = 28080
    blazar: int = 1234

    @classmethod
    def moved(cls, offset: int) -> "Ports":
        """Return the ports with the offset added to each of them."""
        names = [field.name for field in dataclasses.fields(cls) if field.name != "offset"]
        return cls(offset=offset, **{name: getattr(cls, name) + offset for name in names})


def free_port() -> int:
    """Return a port of loopback on which nothing listens at the moment.

    Sockets that ask Linux for any port get a higher one. So none of them takes this port before the
    caller's program listens on it.
    """
    for port in random.sample(_NEVER_GIVEN, len(_NEVER_GIVEN)):
        with contextlib.suppress(OSError), socket.socket() as listener:
            listener.bind(("127.0.0.1", port))
            return port
    raise OSError("no port of loopback is free")
