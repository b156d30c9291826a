"""The SSRF guard: requests go to public addresses, and to those that the operator allows."""

import socket
from collections.abc import Iterable
from functools import lru_cache
from ipaddress import ip_network
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from yarl import URL

from cadenza.adapters.dispatch.http.addresses import Address, Network, embedded, read_address, special_range
from cadenza.domain.errors import InvalidRequest

CACHED_HOSTS = 4_096
NAME_REFUSED = "refused: the name leads to an address that no request may go to"
FAMILIES = frozenset({socket.AF_INET, socket.AF_INET6})


class AddressRefused(OSError):
    """An address that no request may go to; an OSError, so that another address of the name is tried.

    Its text is for tenants. `detail` is for the operator: where a name leads to.
    """

    def __init__(self, sentence: str, detail: str = "") -> None:
        super().__init__(sentence)
        self.detail = detail


class AllowedTarget(NamedTuple):
    """A network or host name that the operator allows, on one port or on all."""

    place: Network | str
    port: int | None = None

    def covers(self, place: Address | str, port: int | None) -> bool:
        """Whether it allows this place on this port."""
        if self.port is not None and self.port != port:
            return False
        if isinstance(place, str) or isinstance(self.place, str):
            return place == self.place
        return place.version == self.place.version and place in self.place


class SsrfGuard:
    """Checks where a request goes: its URL before sending, its address when the socket is made.

    The check of the socket is what protects: it sees the very address that is
    connected to, so DNS rebinding gains nothing. The check of the URL refuses
    earlier, with a clearer error.
    """

    def __init__(self, *, allow_private: bool = False, allow: Iterable[str] = ()) -> None:
        self._allow_private = allow_private
        self._allowed_targets = tuple(map(parse_allowed_target, allow))
        self._host_problem = lru_cache(maxsize=CACHED_HOSTS)(self._find_host_problem)
        self.has_names = any(isinstance(target.place, str) for target in self._allowed_targets)
        """Whether host names are allowed, wherever they resolve to."""

    def trusts(self, url: URL) -> bool:
        """Whether the operator allows this host name, wherever it resolves to."""
        return self.has_names and self._covered((url.raw_host or "").rstrip("."), url.port)

    def refusal(self, host: str, port: int | None) -> str | None:
        """Why an address may not be reached; None if it may."""
        address = read_address(host)
        if address is None:
            return f"{host} is not a plain address"
        if self._covered(address, port):
            inner = (self.refusal(str(one), port) for one in embedded(address))
            return next((reason for reason in inner if reason), None)
        special = special_range(address)
        if special is None or (special.private and self._allow_private):
            return None
        return f"{address} is {special.kind}"

    def check(self, url: URL) -> None:
        """Refuse a URL that is not HTTP, holds credentials, or spells a forbidden address."""
        if url.scheme not in {"http", "https"} or not url.raw_host:
            raise AddressRefused("refused: only http and https lead anywhere")
        if url.raw_user is not None or url.raw_password is not None:
            raise AddressRefused("refused: the address holds a user or password")
        if not self.trusts(url) and (reason := self._host_problem(url.raw_host, url.port)):
            raise AddressRefused(f"refused: {reason}")

    def open_socket(self, info: tuple[Any, ...]) -> socket.socket:
        """A socket for a connection to one address, if that may be reached."""
        family, kind, protocol, _, address = info
        reason = self.refusal(address[0], address[1]) if family in FAMILIES else "it is no internet address"
        if reason is not None:
            raise AddressRefused(NAME_REFUSED, reason)
        return socket.socket(family, kind, protocol)

    def _find_host_problem(self, host: str, port: int | None) -> str | None:
        """What is wrong with the host as it is written; where a name resolves to is checked later."""
        plain = host.rstrip(".")
        if ":" in host or read_address(plain) is not None:
            return self.refusal(host, port)
        if _reads_as_number(plain):
            return f"{host} is an odd spelling of an address"
        if not self._allow_private and (plain == "localhost" or plain.endswith(".localhost")):
            return f"{host} is this machine"
        return None

    def _covered(self, place: Address | str, port: int | None) -> bool:
        return any(target.covers(place, port) for target in self._allowed_targets)


def parse_allowed_target(entry: str) -> AllowedTarget:
    """Parse an entry of the settings: `10.0.0.0/8`, `127.0.0.1:8701`, `[::1]:80`, `intranet.example:8080`."""
    try:
        return AllowedTarget(ip_network(entry))
    except ValueError:
        pass
    try:
        parts = urlsplit(f"//{entry}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or "/" in entry or "@" in entry:
        raise InvalidRequest(f"{entry!r} is neither a network nor a host with or without a port.", "allow")
    address = read_address(host)
    return AllowedTarget(host.rstrip(".") if address is None else ip_network(address), port)


def _reads_as_number(host: str) -> bool:
    """Whether the system's resolver takes this for an IPv4 address: 127.1, 0x7f000001, 017700000001."""
    try:
        socket.inet_aton(host)
    except OSError:
        return False
    return True
