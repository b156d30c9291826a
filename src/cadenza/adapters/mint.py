"""Secrets drawn by chance."""

from secrets import choice
from string import ascii_letters, digits

LETTERS = ascii_letters + digits
LENGTH = 40
"""Of 62 letters: 238 bits."""


class RandomMint:
    """Draws from the machine's own source of chance."""

    def secret(self) -> str:
        """A word of letters and digits that nobody can guess, never given before."""
        return "".join(choice(LETTERS) for _ in range(LENGTH))
