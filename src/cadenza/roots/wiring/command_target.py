"""Where a command is carried out: on the database of the settings, or behind a server."""

from typing import NamedTuple

from cadenza.domain.errors import InvalidRequest
from cadenza.roots.settings import Settings
from cadenza.surfaces.cli.connection import Way

USUAL_TENANT = "default"


class Behind(NamedTuple):
    """A server to ask, and the key to show it."""

    server: str
    key: str | None


def server_of(settings: Settings, way: Way) -> Behind | None:
    """The server that is meant; None if it is the database of the settings."""
    server = settings.server if way.server is None else way.server
    if not server:
        return None
    if way.tenant is not None:
        raise InvalidRequest("--tenant goes without a server: there, the key says whose things are meant.")
    kept = settings.key and settings.key.get_secret_value()
    return Behind(server, way.key or kept or None)
