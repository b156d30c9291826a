"""Encryption of stored secrets, bound to tenant and name, with key rotation."""

import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from cadenza.domain.errors import InvalidRequest, Unavailable

KEY_BYTES = 32
NONCE_BYTES = 12
VERSION = "v1"
FINGERPRINT = 12
KEY_FORMAT = (
    f"A key is {KEY_BYTES} bytes in base64; before it may stand an id of letters and digits, and a colon."
)


class SecretBox:
    """Seals texts with AES-256-GCM under the first of its keys, and opens what any of them sealed.

    A sealed text opens only in the place it was sealed for, so a row that was
    copied to another tenant or name cannot be decrypted.
    """

    def __init__(self, keys: Mapping[str, bytes]) -> None:
        if not keys:
            raise InvalidRequest("A secret box needs a key.", "secret_keys")
        for key_id, key in keys.items():
            _check_key(key_id, key)
        self._ciphers = {key_id: AESGCM(key) for key_id, key in keys.items()}
        self._current = next(iter(keys))

    @classmethod
    def from_setting(cls, setting: str) -> Self:
        """The box for comma-separated keys, the current one first: `base64`, or `id:base64`."""
        pairs = list(dict.fromkeys(_named(entry.strip()) for entry in setting.split(",") if entry.strip()))
        if len(dict(pairs)) < len(pairs):
            raise InvalidRequest("Two keys have the same id.", "secret_keys")
        return cls(dict(pairs))

    def seal(self, text: str, *, place: tuple[str, str]) -> str:
        """Encrypt a text with the current key for this place: tenant and name."""
        nonce = os.urandom(NONCE_BYTES)
        sealed = self._ciphers[self._current].encrypt(nonce, text.encode(), _bound(self._current, place))
        return f"{VERSION}.{self._current}.{urlsafe_b64encode(nonce + sealed).decode()}"

    def open(self, sealed: str, *, place: tuple[str, str]) -> str:
        """Decrypt a text that was sealed for this place; Unavailable if no key fits."""
        version, _, rest = sealed.partition(".")
        key_id, _, payload = rest.partition(".")
        cipher = self._ciphers.get(key_id)
        if version != VERSION or cipher is None:
            raise Unavailable(f"It was sealed with the key {key_id!r}, which is not among the settings.")
        try:
            data = urlsafe_b64decode(payload)
            opened = cipher.decrypt(data[:NONCE_BYTES], data[NONCE_BYTES:], _bound(key_id, place))
        except (InvalidTag, ValueError):
            raise Unavailable("It was changed, or moved from its place.") from None
        return opened.decode()

    def opens(self, sealed: str, *, place: tuple[str, str]) -> bool:
        """Whether one of the keys decrypts it."""
        try:
            self.open(sealed, place=place)
        except Unavailable:
            return False
        return True

    def is_stale(self, sealed: str) -> bool:
        """Whether it was sealed with an older key than the current one."""
        return not sealed.startswith(f"{VERSION}.{self._current}.")


def _check_key(key_id: str, key: bytes) -> None:
    if not key_id.isalnum() or len(key) != KEY_BYTES:
        raise InvalidRequest(KEY_FORMAT, "secret_keys")


def new_key() -> str:
    """A new random key, as it is written in a setting."""
    return urlsafe_b64encode(os.urandom(KEY_BYTES)).decode()


def _named(entry: str) -> tuple[str, bytes]:
    """A key and its id; without an id, its fingerprint is the id."""
    key_id, separator, encoded = entry.rpartition(":")
    key = _decoded(encoded)
    return (key_id if separator else sha256(key).hexdigest()[:FINGERPRINT], key)


def _decoded(key: str) -> bytes:
    try:
        return urlsafe_b64decode(key.replace("+", "-").replace("/", "_"))
    except ValueError:
        raise InvalidRequest(KEY_FORMAT, "secret_keys") from None


def _bound(key_id: str, place: tuple[str, str]) -> bytes:
    """The associated data of a place, unambiguous for every tenant and name."""
    tenant_id, name = place
    return f"{VERSION}:{key_id}:{len(tenant_id)}:{tenant_id}:{name}".encode()
