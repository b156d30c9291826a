"""What was learned, as notes that a store keeps: small, and read back as they were."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from cadenza.domain.planning.learning.change_signals import KNOTS, Knot
from cadenza.domain.planning.learning.gains import Tally
from cadenza.domain.planning.learning.long_term_rate import Evidence
from cadenza.domain.planning.learning.next_look import Patience
from cadenza.domain.planning.learning.prior import Census
from cadenza.domain.planning.learning.recent_rate import RUNGS, STAYS_BEATS, Climb, Usual
from cadenza.domain.planning.learning.run_price import Purse
from cadenza.domain.planning.learning.state import Hinted, Known, Pool
from cadenza.domain.planning.learning.stress import Level
from cadenza.domain.planning.learning.weekly_pattern import DAY_H, WEEK_H, Hour, Profile
from cadenza.domain.scheduling.target import Json

DIGITS = 12
"""Enough for a moment in milliseconds."""
NUMBERS = (int, float)


def written(value: Any) -> Json:
    """Any value of this package: its parts by their names, its numbers no longer than they need be."""
    if isinstance(value, bool | str) or value is None:
        return value
    if isinstance(value, NUMBERS):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, Mapping):
        return {str(name): written(part) for name, part in value.items()}
    return [written(part) for part in value]


def known_of(note: Any) -> Known:
    """What is known of an endpoint, from its note."""
    parts = dict(zip(Known._fields, note, strict=True))
    parts["climb"] = Climb(_grid(parts["climb"][0], len(STAYS_BEATS), RUNGS))
    parts["long_run"], parts["recovery"] = Evidence(*parts["long_run"]), Evidence(*parts["recovery"])
    parts["hinted"] = None if parts["hinted"] is None else Hinted(*parts["hinted"])
    parts["levels"] = {name: Level(*level) for name, level in parts["levels"].items()}
    parts["tally"] = Tally(*parts["tally"])
    return Known(**parts)


def pool_of(note: Any) -> Pool:
    """What endpoints know together, from its note."""
    parts = dict(zip(Pool._fields, note, strict=True))
    beats, evidence = parts["usual"]
    parts["usual"] = Usual(*_grid([beats], 1, RUNGS), *_grid([evidence], 1, len(STAYS_BEATS)))
    parts["long_run"], parts["recovery"] = Census(*parts["long_run"]), Census(*parts["recovery"])
    parts["signs"] = {
        sign: tuple(Knot(*knot) for knot in _grid(record, KNOTS, len(Knot._fields)))
        for sign, record in parts["signs"].items()
    }
    day, week = parts["hours"]
    parts["hours"] = Profile(_hours(day, DAY_H), _hours(week, WEEK_H))
    parts["purse"], parts["patience"] = purse_of(parts["purse"]), Patience(*parts["patience"])
    parts["tally"] = Tally(*parts["tally"])
    return Pool(**parts)


def purse_of(note: Any) -> Purse:
    """What was spent, from its note."""
    return Purse(*note)


def _hours(note: Any, count: int) -> tuple[Hour, ...]:
    return tuple(Hour(*hour) for hour in _grid(note, count, len(Hour._fields)))


def _grid(note: Any, rows: int, columns: int) -> tuple[tuple[float, ...], ...]:
    """Rows of numbers, as many as there must be."""
    grid = tuple(tuple(float(number) for number in row) for row in note)
    if len(grid) != rows or {len(row) for row in grid} != {columns}:
        raise ValueError("This note is of another shape.")
    return grid


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
