"""Figures of daily jobs from rows."""

from datetime import datetime

from cadenza.domain.monitoring.statistics import Waiting


def as_waiting(rows: list[tuple[datetime | None, int, datetime | None]]) -> Waiting:
    """Who waits, from counts by cutoff, each with the first one that was not read to its end."""
    end = rows[0][2] if rows else None
    known = {at: count for at, count, _ in rows if at is not None and (end is None or at < end)}
    return Waiting({at: count for at, count in known.items() if count}, end)
