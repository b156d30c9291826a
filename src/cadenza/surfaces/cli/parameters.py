"""How the words of a command line become values."""

from collections.abc import Sequence

from cyclopts import Token


def whole_number(_: type, tokens: Sequence[Token]) -> int:
    """A number that is written as one; left to itself, the parser would cut 2.5 down to 2."""
    word = tokens[0].value
    try:
        return int(word)
    except ValueError:
        raise ValueError(f"{word[:100]!r} is not a whole number") from None
