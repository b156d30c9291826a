"""HTTP targets: requests that leave by one guarded door, and what comes back, bounded."""

from cadenza.adapters.http.dispatcher import HttpDispatcher
from cadenza.adapters.http.settings import HttpSettings

__all__ = ["HttpDispatcher", "HttpSettings"]
