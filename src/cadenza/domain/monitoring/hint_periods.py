"""When each hint and pause was in force, from the hint history."""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from cadenza.domain.scheduling.hint import HintKind
from cadenza.domain.scheduling.steer import HintRecord

ENDED_BY: dict[HintKind, frozenset[HintKind]] = {
    HintKind.INTERVAL: frozenset({HintKind.INTERVAL, HintKind.CLEAR, HintKind.FINISH}),
    HintKind.ONE_SHOT: frozenset({HintKind.ONE_SHOT, HintKind.CLEAR, HintKind.FINISH}),
    HintKind.PAUSE: frozenset({HintKind.PAUSE, HintKind.RESUME}),
}
"""The records that end a hint or pause of each kind."""


class HintPeriod(NamedTuple):
    """From when to when a hint or pause was in force."""

    begin: datetime
    end: datetime
    record: HintRecord


def hint_periods(newest_first: Iterable[HintRecord]) -> list[HintPeriod]:
    """The periods of a history, oldest first.

    1. A hint or pause is in force until it expires.
    2. A newer one of the same kind ends it earlier.
    3. Clearing and resuming end others, and are no periods themselves.
    4. What was not applied counts for nothing.
    """
    found: list[HintPeriod] = []
    ended_at: dict[HintKind, datetime] = {}
    for record in newest_first:
        if record.not_applied is not None:
            continue
        if record.kind in ENDED_BY:
            bounds = [one for one in (record.expires_at, ended_at.get(record.kind)) if one is not None]
            if bounds:
                found.append(HintPeriod(record.written_at, max(record.written_at, min(bounds)), record))
        for kind, ending in ENDED_BY.items():
            if record.kind in ending:
                ended_at[kind] = record.written_at
    return found[::-1]
