"""Figures as rows, and back."""

from cadenza.adapters.stores.sql.definition import read_definition
from cadenza.adapters.stores.sql.rows import Read, Row
from cadenza.domain.planning.analysis import Tokens
from cadenza.domain.scheduling.hint import IntervalHint
from cadenza.ports.monitoring import Ahead, Sat

AHEAD = ("s.next_run_at", "e.definition", "s.interval_hint_ms", "s.interval_hint_expires_at")


def read_ahead(row: Row, read: Read) -> Ahead:
    """What comes next, in a row selected as `AHEAD`."""
    at, definition, interval_ms, expires_at = row
    hint = None if interval_ms is None else IntervalHint(interval_ms, read(expires_at))
    return Ahead(read(at), read_definition(definition)["baseline"], hint)


def read_sat(row: Row, read: Read) -> Sat:
    """Sittings in a row selected by `sat_together`."""
    of, planner, sittings, failed, shadow, read_tokens, written_tokens, last_at = row
    tokens = Tokens(int(read_tokens), int(written_tokens))
    return Sat(of, planner, sittings, failed, shadow, tokens, read(last_at))
