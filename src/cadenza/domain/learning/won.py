"""What learning has won for an endpoint, read from the planner's own note."""

from typing import Any

from cadenza.domain.learning.notes import known_of
from cadenza.domain.learning.tally import Tally

PLANNER = "learned"
"""Whose notes they are."""


def tally_of(note: Any) -> Tally | None:
    """The tally of an endpoint; None if there is no note, or one of another shape."""
    try:
        _, known, *_ = note
        return known_of(known).tally
    except (TypeError, ValueError, KeyError, IndexError, AttributeError):
        return None
