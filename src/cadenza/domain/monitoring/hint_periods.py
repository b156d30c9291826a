"""For how long each hint and pause held: its history as spans."""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from cadenza.domain.scheduling.steer import HintKind, HintRecord

ENDED_BY: dict[HintKind, frozenset[HintKind]] = {
    HintKind.INTERVAL: frozenset({HintKind.INTERVAL, HintKind.CLEAR}),
    HintKind.ONE_SHOT: frozenset({HintKind.ONE_SHOT, HintKind.CLEAR}),
    HintKind.PAUSE: frozenset({HintKind.PAUSE, HintKind.RESUME}),
}
"""What takes the place of what."""


class Spell(NamedTuple):
    """From when to when something held, and what it was."""

    begin: datetime
    end: datetime
    record: HintRecord


def spells(newest_first: Iterable[HintRecord]) -> list[Spell]:
    """The spans of a history, oldest first.

    1. A hint or pause holds until it expires.
    2. What takes its place ends it earlier.
    3. Clearing and resuming end others, and are no spans themselves.
    """
    found: list[Spell] = []
    ended_at: dict[HintKind, datetime] = {}
    for record in newest_first:
        if record.kind in ENDED_BY:
            bounds = [one for one in (record.expires_at, ended_at.get(record.kind)) if one is not None]
            if bounds:
                found.append(Spell(record.written_at, max(record.written_at, min(bounds)), record))
        for kind, enders in ENDED_BY.items():
            if record.kind in enders:
                ended_at[kind] = record.written_at
    return found[::-1]
