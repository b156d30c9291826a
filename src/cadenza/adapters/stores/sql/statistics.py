"""Figures as rows, and back."""

from cadenza.adapters.stores.sql.rows import Read, Row
from cadenza.adapters.stores.sql.scheduling.definition import read_definition
from cadenza.domain.monitoring.forecast import UpcomingRun
from cadenza.domain.planning.analysis import Tokens
from cadenza.domain.scheduling.hint import IntervalHint
from cadenza.ports.monitoring import PlannerActivity

AHEAD = ("s.next_run_at", "e.definition", "s.interval_hint_ms", "s.interval_hint_expires_at")


def read_upcoming(row: Row, read: Read) -> UpcomingRun:
    """What comes next, in a row selected as `AHEAD`."""
    at, definition, interval_ms, expires_at = row
    hint = None if interval_ms is None else IntervalHint(interval_ms, read(expires_at))
    return UpcomingRun(read(at), read_definition(definition)["baseline"], hint)


def read_activity(row: Row, read: Read) -> PlannerActivity:
    """Sittings in a row selected by `sat_together`."""
    of, planner, sittings, failed, shadow, read_tokens, written_tokens, last_at = row
    tokens = Tokens(int(read_tokens), int(written_tokens))
    return PlannerActivity(of, planner, sittings, failed, shadow, tokens, read(last_at))


_NEWEST = "planner, began_at, input_tokens, output_tokens, shadow, error, endpoint_id"
_SUMS = (
    "count(*)",
    "count(error)",
    "count(*) FILTER (WHERE shadow)",
    "sum(input_tokens)",
    "sum(output_tokens)",
    "max(began_at)",
)


def sat_together(key: str, *, newest: str, most: str) -> str:
    """The statement that takes sittings together by an expression, among those that a condition names."""
    return (
        f"SELECT {key}, planner, {', '.join(_SUMS)} FROM (SELECT {_NEWEST} FROM analyses WHERE {newest})"
        " AS newest GROUP BY 1, 2"
        f" ORDER BY sum(input_tokens) + sum(output_tokens) DESC, count(*) DESC, 1, 2 LIMIT {most}"
    )
