"""What an operator sets for HTTP targets."""

import ssl
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSettings:
    """How far requests may reach, and how connections are kept."""

    allow_private: bool = False
    """Whether private, loopback and shared addresses are targets like any other."""
    allow: tuple[str, ...] = ()
    """Networks and hosts that are open whatever they are: `10.0.0.0/8`, `127.0.0.1:8701`, `intranet:80`."""
    keepalive_ms: int = 4_000
    """How long an idle connection is kept: less than the five seconds after which common servers close it."""
    names_ms: int = 10_000
    """How long the addresses of a name are remembered."""
    tls: ssl.SSLContext | None = None
    """Whom to trust; by default the authorities that the system trusts."""
