"""What learning has won for an endpoint, and what it proposes, read from the planner's own note."""

from typing import Any, NamedTuple

from cadenza.domain.planning.learning.gains import Tally
from cadenza.domain.planning.learning.serialization import known_of

PLANNER = "learned"
"""Whose notes they are."""


class Lesson(NamedTuple):
    """What the planner has come to about an endpoint."""

    tally: Tally
    interval_ms: int
    """What it last proposed or, in the shadow, would have."""


def lesson_of(note: Any) -> Lesson | None:
    """The lesson about an endpoint; None if nothing was learned, or the note is of another shape."""
    try:
        _, known, beat_s, *_ = note
        learned = known_of(known)
        lesson = Lesson(learned.tally, round(learned.proposed * beat_s * 1_000))
    except (TypeError, ValueError, KeyError, IndexError, AttributeError):
        return None
    return lesson if lesson.tally.beats else None
