"""Where the encryption keys of secrets come from: settings, or a key file."""

import os
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Protocol

from cadenza.adapters.access.secret_encryption import SecretBox, new_key
from cadenza.domain.errors import InvalidRequest, Unavailable

OTHERS = 0o077


class KeySource(Protocol):
    """Gives secret boxes when they are needed: most workers never use a secret."""

    def opening_box(self) -> SecretBox:
        """The box to decrypt with; Unavailable if there is no key."""
        ...

    def sealing_box(self, *, first: bool) -> SecretBox:
        """The box to encrypt with; Unavailable if there is no key and none can be made.

        A key is made only for the first secret: a new key later would hide that the
        one which decrypts the others is gone.
        """
        ...


class ConfiguredKeys:
    """Keys from the settings: the current one, and older ones that still decrypt."""

    def __init__(self, current: str, older: str = "") -> None:
        self._box = SecretBox.from_setting(f"{current},{older}")

    def opening_box(self) -> SecretBox:
        return self._box

    def sealing_box(self, *, first: bool) -> SecretBox:  # noqa: ARG002 - what is set is set
        return self._box


class NoKeys:
    """No key is set, and there is no key file."""

    def opening_box(self) -> SecretBox:
        raise Unavailable("It is sealed, and CADENZA_SECRET_KEY is not set here.")

    def sealing_box(self, *, first: bool) -> SecretBox:  # noqa: ARG002 - there is none for anybody
        raise Unavailable(
            "A secret cannot be kept without a key: set CADENZA_SECRET_KEY, the same everywhere."
        )


class KeyFile:
    """A key in a file that its owner alone may read.

    It is made with the first secret, and read again when it has changed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read: tuple[tuple[int, int, int], SecretBox] | None = None

    @property
    def is_open_to_others(self) -> bool:
        """Whether other users of this machine can read it."""
        return self.path.exists() and bool(self.path.stat().st_mode & OTHERS)

    def opening_box(self) -> SecretBox:
        try:
            return self._fresh()
        except FileNotFoundError:
            raise Unavailable(f"The key file {self.path} is gone: bring it back from a backup.") from None
        except (OSError, UnicodeError):
            raise Unavailable(f"The key file {self.path} cannot be read.") from None
        except InvalidRequest as problem:
            raise Unavailable(f"The key file {self.path} holds no key: {problem.message}") from None

    def sealing_box(self, *, first: bool) -> SecretBox:
        if first and not self.path.exists():
            try:
                self._make()
            except OSError as problem:
                raise Unavailable(f"The key file {self.path} cannot be made: {problem.strerror}.") from None
        return self.opening_box()

    def _fresh(self) -> SecretBox:
        now = self.path.stat()
        signature = (now.st_ino, now.st_mtime_ns, now.st_size)
        if self._read is None or self._read[0] != signature:
            self._read = (signature, SecretBox.from_setting(self.path.read_text()))
        return self._read[1]

    def _make(self) -> None:
        """Create the file atomically; of several processes that create it at once, the first wins."""
        with NamedTemporaryFile("w", dir=self.path.absolute().parent, prefix=f".{self.path.name}.") as draft:
            draft.write(new_key() + "\n")
            draft.flush()
            os.fsync(draft.fileno())
            with suppress(FileExistsError):
                os.link(draft.name, self.path)
