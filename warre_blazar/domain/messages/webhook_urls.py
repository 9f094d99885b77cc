"""Which URLs may be called for a project, and at which addresses."""

import dataclasses
import ipaddress
import re
from collections.abc import Collection, Iterator
from typing import Self

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

#: The default ports, by scheme.
_PORTS = {"https": 443, "http": 80}
#: Stands for all hosts.
_ANY = "*"
#: The parts of a URL that ``fields.kinds.WebhookUrl`` has accepted. It has no user and no fragment.
_PARTS = re.compile(r"(https?)://([^/:?]+)(?::([0-9]+))?(.*)")

#: What IPv6 has for the Internet. Other addresses that count as global may hold an address of IPv4,
#: to which a router or this machine sends the request.
_INTERNET = ipaddress.IPv6Network("2000::/3")
#: What isn't the Internet either, but counts as global in some versions of Python: addresses of
#: protocols, and tunnels to addresses of IPv4.
_NOT_INTERNET: tuple[Network, ...] = (
    *map(ipaddress.IPv4Network, ("192.0.0.0/24", "192.88.99.0/24")),
    *map(ipaddress.IPv6Network, ("2001::/23", "2002::/16")),
)
#: Networks in which the last 32 bits of an address are an address of IPv4: of translators by RFC
#: 6052, and compatible ones by RFC 4291.
_WITH_IPV4_AT_END = tuple(map(ipaddress.IPv6Network, ("64:ff9b::/96", "::/96")))
#: Services of clouds that hand out credentials, beside those at link-local addresses.
_METADATA = frozenset({ipaddress.IPv6Address("fd00:ec2::254")})


@dataclasses.dataclass(frozen=True)
class UrlParts:
    """The parts of a URL."""

    scheme: str
    #: In lower case.
    host: str
    port: int
    #: The path and the query.
    target: str

    @classmethod
    def read(cls, url: str) -> Self:
        """The parts of a URL that ``fields.kinds.WebhookUrl`` has accepted."""
        parts = _PARTS.fullmatch(url)
        assert parts is not None
        scheme, host, port, target = parts.groups()
        target = target if target.startswith("/") else f"/{target}"
        return cls(scheme, host.lower(), int(port or _PORTS[scheme]), target)

    @property
    def authority(self) -> str:
        """The host, and the port unless it is the default one."""
        return self.host if self.port == _PORTS[self.scheme] else f"{self.host}:{self.port}"


def is_listed(url: UrlParts, hosts: Collection[str]) -> bool:
    """Whether a URL is at one of some hosts.

    :param hosts: names such as ``hooks.example.org``; ``.example.org`` for all names that end so;
        and ``*`` for all. Without a port such as ``:8443`` at the end, only the
        default ports of HTTP and HTTPS are meant.
    """
    return any(_is_meant(url, host.lower()) for host in hosts)


def _is_meant(url: UrlParts, entry: str) -> bool:
    name, _, port = entry.partition(":")
    if (port or str(_PORTS[url.scheme])) != str(url.port):
        return False
    if name.startswith("."):
        return url.host.endswith(name)
    return name in (_ANY, url.host)


def is_callable(address: Address, private: Collection[Network]) -> bool:
    """Whether a manager may send a project's request to an address.

    These are addresses of the Internet and of some other networks, but never this machine, its
    neighbors by link-local addresses, or services of metadata. This is also true of their addresses
    of IPv4 in an address of IPv6.

    :param private: networks that aren't the Internet.
    """
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    if any(map(_is_never_callable, (address, *_embedded(address)))):
        return False
    return _is_of_internet(address) or any(address in network for network in private)


def _is_never_callable(address: Address) -> bool:
    return (
        address.is_loopback
        or address.is_link_local
        or address.is_multicast
        or address.is_unspecified
        or address in _METADATA
    )


def _embedded(address: Address) -> Iterator[ipaddress.IPv4Address]:
    """The addresses of IPv4 to which a router or this machine may send what is for an address."""
    if isinstance(address, ipaddress.IPv4Address):
        return
    if address.sixtofour:
        yield address.sixtofour
    yield from address.teredo or ()
    if any(address in network for network in _WITH_IPV4_AT_END):
        yield ipaddress.IPv4Address(address.packed[-4:])


def _is_of_internet(address: Address) -> bool:
    if not address.is_global or any(address in network for network in _NOT_INTERNET):
        return False
    return address.version == 4 or address in _INTERNET
