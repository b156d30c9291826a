"""Identity."""

from typing import Protocol


class Ids(Protocol):
    """The only source of new ids."""

    def new(self) -> str:
        """An id that was never given before, by any process."""
        ...
