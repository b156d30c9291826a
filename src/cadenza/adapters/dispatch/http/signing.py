"""Signatures that receivers verify by the Standard Webhooks conventions."""

import hmac
from base64 import b64decode, b64encode
from collections.abc import Iterable
from datetime import datetime

from cadenza.adapters.dispatch.http.failure import ExchangeFailed, Failure

PREFIX = "whsec_"
SHORTEST_KEY = 24
LONGEST_KEY = 64


def signature_headers(keys: Iterable[str], *, message: str, now: datetime, body: bytes) -> dict[str, str]:
    """The three headers: the message, the moment it is sent, and a signature by every key.

    The message id is the same for every attempt at a slot, and has no full stop,
    which separates the signed parts.
    """
    moment = str(int(now.timestamp()))
    signed = b".".join((message.encode(), moment.encode(), body))
    signatures = [
        "v1," + b64encode(hmac.digest(_decoded(key, place), signed, "sha256")).decode()
        for place, key in enumerate(keys, 1)
    ]
    return {
        "webhook-id": message,
        "webhook-timestamp": moment,
        "webhook-signature": " ".join(signatures),
    }


def _decoded(key: str, place: int) -> bytes:
    try:
        decoded = b64decode(key.strip().removeprefix(PREFIX), validate=True)
    except ValueError:
        decoded = b""
    if SHORTEST_KEY <= len(decoded) <= LONGEST_KEY:
        return decoded
    raise ExchangeFailed(
        Failure.SECRET,
        f"signing key {place} is not {PREFIX} with {SHORTEST_KEY} to {LONGEST_KEY} bytes in base64",
    )
