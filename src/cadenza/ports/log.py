"""What an operator reads."""

from typing import Protocol


class Logger(Protocol):
    """Structured events: a short text, and facts as fields."""

    @property
    def verbose(self) -> bool:
        """Whether debug lines are wanted; ask before building one on the hot path."""
        ...

    def debug(self, event: str, **facts: object) -> None:
        """A detail, off by default."""
        ...

    def info(self, event: str, **facts: object) -> None:
        """What an operator wants to know on a quiet day."""
        ...

    def warning(self, event: str, **facts: object) -> None:
        """What an operator should look at."""
        ...
