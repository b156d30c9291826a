"""Which IP addresses are public, and what the others are."""

from functools import lru_cache
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import NamedTuple

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


class SpecialRange(NamedTuple):
    """A part of the address space that is not the public internet."""

    network: Network
    kind: str
    private: bool = False
    """Whether legitimate targets may be there, so that an operator may allow all private ranges."""


def _special(network: str, kind: str, *, private: bool = False) -> SpecialRange:
    return SpecialRange(ip_network(network), kind, private)


# Named here and not left to `is_global` alone: what that calls global has changed between releases of
# Python, and the error should say what was refused. The first range that fits counts.
SPECIAL_RANGES = (
    _special("168.63.129.16/32", "a cloud's metadata address"),
    _special("100.100.100.200/32", "a cloud's metadata address"),
    _special("fd00:ec2::254/128", "a cloud's metadata address"),
    _special("fd20:ce::254/128", "a cloud's metadata address"),
    _special("0.0.0.0/8", "an unspecified address"),
    _special("10.0.0.0/8", "a private address", private=True),
    _special("100.64.0.0/10", "a carrier's shared address", private=True),
    _special("127.0.0.0/8", "a loopback address", private=True),
    _special("169.254.0.0/16", "a link-local address"),
    _special("172.16.0.0/12", "a private address", private=True),
    _special("192.0.0.0/24", "a reserved address"),
    _special("192.0.2.0/24", "a documentation address"),
    _special("192.88.99.0/24", "a 6to4 relay"),
    _special("192.168.0.0/16", "a private address", private=True),
    _special("198.18.0.0/15", "a benchmarking address"),
    _special("198.51.100.0/24", "a documentation address"),
    _special("203.0.113.0/24", "a documentation address"),
    _special("224.0.0.0/4", "a multicast address"),
    _special("240.0.0.0/4", "a reserved address"),
    _special("::/128", "an unspecified address"),
    _special("::1/128", "a loopback address", private=True),
    _special("::/96", "an IPv4-compatible address"),
    _special("::ffff:0:0/96", "an IPv4-mapped address"),
    _special("::ffff:0:0:0/96", "an IPv4-translated address"),
    _special("64:ff9b::/96", "a NAT64 address"),
    _special("64:ff9b:1::/48", "a NAT64 address"),
    _special("100::/64", "a discard-only address"),
    _special("2001::/32", "a Teredo address"),
    _special("2001::/23", "a reserved address"),
    _special("2001:db8::/32", "a documentation address"),
    _special("2002::/16", "a 6to4 address"),
    _special("3fff::/20", "a documentation address"),
    _special("fc00::/7", "a unique local address", private=True),
    _special("fe80::/10", "a link-local address"),
    _special("fec0::/10", "a site-local address", private=True),
    _special("ff00::/8", "a multicast address"),
)
GLOBAL_UNICAST = IPv6Network("2000::/3")
NAT64 = tuple(map(IPv6Network, ("64:ff9b::/96", "64:ff9b:1::/48")))


@lru_cache(maxsize=4096)
def special_range(address: Address) -> SpecialRange | None:
    """The special range of an address; None for a public one."""
    for special in SPECIAL_RANGES:
        if address.version == special.network.version and address in special.network:
            return special
    if address.is_global and (address.version == 4 or address in GLOBAL_UNICAST):  # noqa: PLR2004 - IP version
        return None
    return _special(str(address), "not a public address")


def embedded(address: Address) -> tuple[IPv4Address, ...]:
    """The IPv4 addresses embedded in an IPv6 address."""
    if isinstance(address, IPv4Address):
        return ()
    if address.ipv4_mapped is not None:
        return (address.ipv4_mapped,)
    if address.sixtofour is not None:
        return (address.sixtofour,)
    if address.teredo is not None:
        return address.teredo
    if any(address in network for network in NAT64):
        return (IPv4Address(int(address) & 0xFFFF_FFFF),)
    return ()


def read_address(text: str) -> Address | None:
    """An IP address in its normal spelling; None for anything else, also with a zone id."""
    if "%" in text:
        return None
    try:
        return ip_address(text)
    except ValueError:
        return None
