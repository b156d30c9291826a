"""The guard over the whole address space: nothing that is not the public internet gets through."""

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cadenza.adapters.dispatch.http.addresses import SPECIAL_RANGES, embedded, read_address
from cadenza.adapters.dispatch.http.ssrf_guard import AddressRefused, SsrfGuard
from cadenza.domain.errors import InvalidRequest

Address = IPv4Address | IPv6Address
STRICT = SsrfGuard()

v4 = st.ip_addresses(v=4)
v6 = st.ip_addresses(v=6)
special = st.sampled_from(SPECIAL_RANGES).flatmap(
    lambda one: st.sampled_from([one.network[0], one.network[-1]]) | st.ip_addresses(network=str(one.network))
)
special_v4 = special.filter(lambda address: address.version == 4)


def wrapped(address: IPv4Address) -> list[IPv6Address]:
    """The forms of IPv6 that lead to an IPv4 address."""
    number = int(address)
    return [
        IPv6Address(number),
        IPv6Address((0xFFFF << 32) | number),
        IPv6Address((0xFFFF << 48) | number),
        IPv6Address((0x0064_FF9B << 96) | number),
        IPv6Address((0x0064_FF9B_0001 << 80) | number),
        IPv6Address((0x2002 << 112) | (number << 80)),
        IPv6Address((0x2001_0000 << 96) | (number << 64) | (number ^ 0xFFFF_FFFF)),
    ]


@given(special)
def test_every_special_address_is_refused(address: Address) -> None:
    assert STRICT.refusal(str(address), 80) is not None
    with pytest.raises(AddressRefused):
        STRICT.open_socket(_info(address))


@given(v4 | special_v4)
def test_no_wrapping_leads_anywhere(address: IPv4Address) -> None:
    for disguise in wrapped(address):
        assert STRICT.refusal(str(disguise), 80) is not None


@given(v4 | v6 | special)
def test_what_python_does_not_call_global_is_refused(address: Address) -> None:
    closed = (
        not address.is_global
        or address.is_private
        or address.is_loopback
        or address.is_link_local
        or address.is_multicast
        or address.is_reserved
        or address.is_unspecified
    )
    if closed:
        assert STRICT.refusal(str(address), 80) is not None


@given(v4 | v6)
def test_the_public_internet_is_open(address: Address) -> None:
    public = address.is_global and (address.version == 4 or address in ip_network("2000::/3"))
    if public and not any(
        address in one.network for one in SPECIAL_RANGES if one.network.version == address.version
    ):
        assert STRICT.refusal(str(address), 80) is None


@pytest.mark.parametrize(
    "address", ["1.1.1.1", "8.8.8.8", "93.184.215.14", "2606:4700::1111", "2a00:1450::1"]
)
def test_well_known_addresses_are_open(address: str) -> None:
    assert STRICT.refusal(address, 443) is None


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("10.0.0.1", "10.0.0.1 is a private address"),
        ("100.64.0.1", "100.64.0.1 is a carrier's shared address"),
        ("127.0.0.1", "127.0.0.1 is a loopback address"),
        ("169.254.169.254", "169.254.169.254 is a link-local address"),
        ("0.0.0.0", "0.0.0.0 is an unspecified address"),
        ("224.0.0.1", "224.0.0.1 is a multicast address"),
        ("255.255.255.255", "255.255.255.255 is a reserved address"),
        ("168.63.129.16", "168.63.129.16 is a cloud's metadata address"),
        ("::", ":: is an unspecified address"),
        ("::1", "::1 is a loopback address"),
        ("::ffff:8.8.8.8", "::ffff:808:808 is an IPv4-mapped address"),
        ("64:ff9b::808:808", "64:ff9b::808:808 is a NAT64 address"),
        ("2002:808:808::", "2002:808:808:: is a 6to4 address"),
        ("2001::1", "2001::1 is a Teredo address"),
        ("fd12::1", "fd12::1 is a unique local address"),
        ("fe80::1", "fe80::1 is a link-local address"),
        ("4000::1", "4000::1 is not a public address"),
        ("fe80::1%eth0", "fe80::1%eth0 is not a plain address"),
        ("localhost", "localhost is not a plain address"),
        ("127.1", "127.1 is not a plain address"),
    ],
)
def test_a_refusal_says_what_was_refused(address: str, sentence: str) -> None:
    assert STRICT.refusal(address, 80) == sentence


@given(special)
def test_allowing_what_is_private_opens_only_what_honest_targets_use(address: Address) -> None:
    kind = next(
        one for one in SPECIAL_RANGES if address.version == one.network.version and address in one.network
    )
    assert (SsrfGuard(allow_private=True).refusal(str(address), 80) is None) == kind.private


@given(special_v4, st.integers(1, 65_535), st.integers(1, 65_535))
def test_an_allowance_opens_its_network_and_port_and_no_other(
    address: IPv4Address, allowed: int, port: int
) -> None:
    guard = SsrfGuard(allow=[f"{address}:{allowed}"])
    assert (guard.refusal(str(address), port) is None) == (port == allowed)
    assert guard.refusal(str(ip_address("10.99.99.99")), port) is not None or str(address) == "10.99.99.99"
    assert SsrfGuard(allow=[str(address)]).refusal(str(address), port) is None


@given(special_v4)
def test_an_allowed_wrapping_still_looks_inside(address: IPv4Address) -> None:
    guard = SsrfGuard(allow=["64:ff9b::/96", "::ffff:0:0/96", "2002::/16", "2001::/32"])
    for disguise in wrapped(address):
        assert guard.refusal(str(disguise), 80) is not None
    assert guard.refusal("64:ff9b::808:808", 80) is None


@given(v4)
def test_what_is_embedded_is_found(address: IPv4Address) -> None:
    for disguise in wrapped(address)[3:]:
        assert address in embedded(disguise)
    assert embedded(address) == embedded(IPv6Address("2606:4700::1111")) == ()


@given(st.text(max_size=40))
def test_no_text_breaks_the_guard(text: str) -> None:
    assert read_address(text) is not None or STRICT.refusal(text, 80) is not None


@pytest.mark.parametrize(
    "entry", ["", "10.0.0.0/33", "http://x", "a:b:c", "x:99999", "user@host", "10.0.0.1/8"]
)
def test_an_allowance_that_cannot_be_read_is_refused(entry: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        SsrfGuard(allow=[entry])
    assert refused.value.field == "allow"


def _info(address: Address) -> tuple[object, ...]:
    family = 2 if address.version == 4 else 10
    return (family, 1, 6, "", (str(address), 80))
