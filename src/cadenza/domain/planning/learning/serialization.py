"""The learned models as notes for a store: small, and restored exactly."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from cadenza.domain.json_values import Json
from cadenza.domain.planning.learning.calibration import Calibration, ForecastComparison, ForecastRecord
from cadenza.domain.planning.learning.caution import Caution
from cadenza.domain.planning.learning.change_signals import BINS, SignalBin
from cadenza.domain.planning.learning.gains import Gains
from cadenza.domain.planning.learning.long_term_rate import Evidence, RatePrior
from cadenza.domain.planning.learning.recent_rate import (
    GRID_SIZE,
    PERSISTENCE_PERIODS,
    JobRate,
    PopulationRates,
    RecentRate,
)
from cadenza.domain.planning.learning.run_price import RunPrice
from cadenza.domain.planning.learning.state import EndpointModel, ForeignHint, SharedModel
from cadenza.domain.planning.learning.stress import MetricLevel, StressedScores
from cadenza.domain.planning.learning.weekly_pattern import DAY_H, WEEK_H, HourCounts, WeeklyPattern

DIGITS = 12
"""Enough for a timestamp in milliseconds."""
NUMBERS = (int, float)
FIRST_FIELDS = SharedModel._fields.index("calibration")
"""How many fields of a shared model the notes of the first release have; later ones have more."""


def to_note(value: Any) -> Json:
    """Any value of this package as JSON: tuples as lists, numbers rounded to twelve digits."""
    if isinstance(value, bool | str) or value is None:
        return value
    if isinstance(value, NUMBERS):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, Mapping):
        return {str(name): to_note(part) for name, part in value.items()}
    return [to_note(part) for part in value]


def model_from_note(note: Any) -> EndpointModel:
    """An endpoint's model from its note."""
    parts = dict(zip(EndpointModel._fields, note, strict=True))
    parts["recent_rate"] = RecentRate(_grid(parts["recent_rate"][0], len(PERSISTENCE_PERIODS), GRID_SIZE))
    parts["long_run"], parts["recovery"] = Evidence(*parts["long_run"]), Evidence(*parts["recovery"])
    parts["foreign_hint"] = None if parts["foreign_hint"] is None else ForeignHint(*parts["foreign_hint"])
    parts["levels"] = {name: MetricLevel(*level) for name, level in parts["levels"].items()}
    parts["gains"] = Gains(*parts["gains"])
    return EndpointModel(**parts)


def shared_from_note(note: Any) -> SharedModel:
    """A shared model from its note; those of earlier releases lack the last fields."""
    fields = SharedModel._fields[: max(len(note), FIRST_FIELDS)]
    parts = dict(zip(fields, note, strict=True))
    periods, evidence = parts["population"]
    parts["population"] = PopulationRates(
        *_grid([periods], 1, GRID_SIZE), *_grid([evidence], 1, len(PERSISTENCE_PERIODS))
    )
    parts["long_run"], parts["recovery"] = RatePrior(*parts["long_run"]), RatePrior(*parts["recovery"])
    parts["signal_records"] = {
        signal: tuple(SignalBin(*counts) for counts in _grid(record, BINS, len(SignalBin._fields)))
        for signal, record in parts["signal_records"].items()
    }
    day, week = parts["weekly_pattern"]
    parts["weekly_pattern"] = WeeklyPattern(_hours(day, DAY_H), _hours(week, WEEK_H))
    parts["run_price"], parts["caution"] = price_from_note(parts["run_price"]), Caution(*parts["caution"])
    parts["gains"] = Gains(*parts["gains"])
    if "calibration" in parts:
        records = _grid(parts["calibration"][0], GRID_SIZE, len(ForecastRecord._fields))
        parts["calibration"] = Calibration(tuple(ForecastRecord(*record) for record in records))
    if "job" in parts:
        parts["stressed_scores"] = StressedScores(*parts["stressed_scores"])
        parts["hours"], parts["jobs"] = (
            ForecastComparison(*parts["hours"]),
            ForecastComparison(*parts["jobs"]),
        )
        parts["job"] = job_from_note(parts["job"])
    return SharedModel(**parts)


def price_from_note(note: Any) -> RunPrice:
    """A price from its note."""
    return RunPrice(*note)


def job_from_note(note: Any) -> JobRate:
    """The rate of a job from its note."""
    support, at_s = note
    return JobRate(_grid([support], 1, GRID_SIZE)[0], float(at_s))


def _hours(note: Any, count: int) -> tuple[HourCounts, ...]:
    return tuple(HourCounts(*hour) for hour in _grid(note, count, len(HourCounts._fields)))


def _grid(note: Any, rows: int, columns: int) -> tuple[tuple[float, ...], ...]:
    """Rows of numbers; ValueError if there are more or fewer than expected."""
    grid = tuple(tuple(float(number) for number in row) for row in note)
    if len(grid) != rows or {len(row) for row in grid} != {columns}:
        raise ValueError("This note is of another shape.")
    return grid


PLANNER = "learned"
"""The name under which the notes, analyses and hints are recorded."""


class LearnedSummary(NamedTuple):
    """What the planner has learned about an endpoint, in short."""

    gains: Gains
    interval_ms: int
    """The interval that it last proposed or, in shadow mode, would have."""


def summary_from_note(note: Any) -> LearnedSummary | None:
    """The summary of an endpoint's note; None if nothing was learned, or the note has another shape."""
    try:
        _, model, period_s, *_ = note
        learned = model_from_note(model)
        summary = LearnedSummary(learned.gains, round(learned.proposed_periods * period_s * 1_000))
    except (TypeError, ValueError, KeyError, IndexError, AttributeError):
        return None
    return summary if summary.gains.periods else None
