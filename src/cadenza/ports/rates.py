"""How often somebody may ask."""

from typing import Protocol


class RateLimiter(Protocol):
    """Keeps one caller from taking the place of all others."""

    async def take(self, subject: str) -> float | None:
        """Let a subject in: None, or in how many seconds to come back."""
        ...
