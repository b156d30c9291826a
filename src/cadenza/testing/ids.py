"""Ids that count."""

from itertools import count


class FakeIds:
    """The same ids in the same order, every time."""

    def __init__(self, prefix: str = "id") -> None:
        self._prefix = prefix
        self._numbers = count(1)

    def new(self) -> str:
        """The next one."""
        return f"{self._prefix}-{next(self._numbers):06}"
