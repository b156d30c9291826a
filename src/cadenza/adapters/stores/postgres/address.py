"""Where a PostgreSQL server is, in words that hold no secret."""

from typing import NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

from cadenza.domain.errors import Unavailable

SCHEMES = ("postgresql", "postgres")


class Address(NamedTuple):
    """A server and a database on it, for sentences; the password is left out."""

    host: str
    database: str

    def __str__(self) -> str:
        return f"PostgreSQL at {self.host}"


def address_of(url: str) -> Address:
    """The address in a URL; Unavailable if it is no PostgreSQL URL."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise Unavailable("The database URL cannot be read: check its host and port.") from None
    if parts.scheme not in SCHEMES:
        raise Unavailable("The database URL does not begin with postgresql://.")
    asked = parse_qs(parts.query)
    host = parts.hostname or asked.get("host", ["localhost"])[0]
    database = unquote(parts.path.lstrip("/")) or asked.get("dbname", ["postgres"])[0]
    return Address(f"{host}:{port}" if port else host, database)
