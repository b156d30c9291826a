"""How far requests may reach: the public internet, and what the operator adds to it."""

import socket
from collections.abc import Iterable
from functools import lru_cache
from ipaddress import ip_network
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from yarl import URL

from cadenza.adapters.dispatch.http.addresses import Address, Network, embedded, read_address, special_range
from cadenza.domain.errors import InvalidRequest

REMEMBERED_HOSTS = 4_096
FAMILIES = frozenset({socket.AF_INET, socket.AF_INET6})


class Refused(OSError):
    """A place that no request may go to; an OSError, so that another address of the same name is tried."""


class Allowance(NamedTuple):
    """What an operator opens: a network or a name, on one port or on all."""

    place: Network | str
    port: int | None = None

    def covers(self, place: Address | str, port: int | None) -> bool:
        """Is this place, on this port, opened by it?"""
        if self.port is not None and self.port != port:
            return False
        if isinstance(place, str) or isinstance(self.place, str):
            return place == self.place
        return place.version == self.place.version and place in self.place


class Reach:
    """Judges every place a request would go to: its URL before, its address when the socket is made.

    The socket is what counts: it is given the very address that is connected to,
    so a name that answers differently the next time gains nothing. The look at
    the URL refuses earlier, and in plainer words.
    """

    def __init__(self, *, allow_private: bool = False, allow: Iterable[str] = ()) -> None:
        self._allow_private = allow_private
        self._allowances = tuple(map(read_allowance, allow))
        self._disguise = lru_cache(maxsize=REMEMBERED_HOSTS)(self._look_at)
        self.has_names = any(isinstance(allowance.place, str) for allowance in self._allowances)
        """Whether there are names that may lead anywhere."""

    def trusts(self, url: URL) -> bool:
        """Did the operator open this name, wherever it leads?"""
        return self.has_names and self._covered((url.raw_host or "").rstrip("."), url.port)

    def refusal(self, host: str, port: int | None) -> str | None:
        """Why an address may not be reached, as a sentence; None if it may."""
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
        """Refuse a URL that names no place on the internet, or names it in disguise."""
        if url.scheme not in {"http", "https"} or not url.raw_host:
            raise Refused("refused: only http and https lead anywhere")
        if url.raw_user is not None or url.raw_password is not None:
            raise Refused("refused: the address holds a user or password")
        if not self.trusts(url) and (reason := self._disguise(url.raw_host, url.port)):
            raise Refused(f"refused: {reason}")

    def open_socket(self, info: tuple[Any, ...]) -> socket.socket:
        """The socket for a connection to one address, if that may be reached."""
        family, kind, protocol, _, address = info
        reason = self.refusal(address[0], address[1]) if family in FAMILIES else "it is no internet address"
        if reason is not None:
            raise Refused(f"refused: {reason}")
        return socket.socket(family, kind, protocol)

    def _look_at(self, host: str, port: int | None) -> str | None:
        """What is wrong with a host, as it is written; a name that only leads astray is not seen here."""
        plain = host.rstrip(".")
        if ":" in host or read_address(plain) is not None:
            return self.refusal(host, port)
        if _reads_as_number(plain):
            return f"{host} is an odd spelling of an address"
        if not self._allow_private and (plain == "localhost" or plain.endswith(".localhost")):
            return f"{host} is this machine"
        return None

    def _covered(self, place: Address | str, port: int | None) -> bool:
        return any(allowance.covers(place, port) for allowance in self._allowances)


def read_allowance(entry: str) -> Allowance:
    """What an operator wrote: `10.0.0.0/8`, `127.0.0.1:8701`, `[::1]:80`, `intranet.example:8080`."""
    try:
        return Allowance(ip_network(entry))
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
    return Allowance(host.rstrip(".") if address is None else ip_network(address), port)


def _reads_as_number(host: str) -> bool:
    """Would the system's resolver take this for an IPv4 address: 127.1, 0x7f000001, 017700000001?"""
    try:
        socket.inet_aton(host)
    except OSError:
        return False
    return True
