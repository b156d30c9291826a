"""Recorded uptime histories: which site had which status when, as a file or any other source says."""

import csv
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from benchmarks.worlds import DAY

DOWN = "down"


class Event(NamedTuple):
    """What was known of a site from a moment on."""

    at: float
    site: str
    status: str
    latency_ms: float


class SiteHistory(NamedTuple):
    """One site from the start of its history; it stays as an event says until the next one."""

    name: str
    times: tuple[float, ...]
    statuses: tuple[str, ...]
    latencies_ms: tuple[float, ...]
    changes: tuple[float, ...]
    """The moments at which its status becomes another one."""

    def place(self, at: float) -> int:
        """The event that holds at a moment; the first one also before it came."""
        return max(bisect_right(self.times, at) - 1, 0)


class History(NamedTuple):
    """Sites, in seconds from the start."""

    name: str
    sites: tuple[SiteHistory, ...]
    until: float

    @property
    def changes(self) -> int:
        """How often any status became another one."""
        return sum(len(site.changes) for site in self.sites)


def read_events(path: Path) -> list[Event]:
    """The events of a file with the columns t, site, status and ms, in order."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [
            Event(float(row["t"]), row["site"], row["status"], float(row["ms"] or 0))
            for row in csv.DictReader(file)
        ]
    return sorted(rows, key=lambda event: event.at)


def change_times(events: Iterable[Event]) -> Iterator[float]:
    """When a site's status was another one than before."""
    latest: dict[str, str] = {}
    for event in events:
        if latest.setdefault(event.site, event.status) != event.status:
            latest[event.site] = event.status
            yield event.at


def busiest(events: Sequence[Event], days: float) -> tuple[float, float]:
    """The span of so many days, begun at a whole day after the first event, with most changes."""
    first, last, changes = events[0].at, events[-1].at, list(change_times(events))
    starts = [first + day * DAY for day in range(max(int((last - first) / DAY - days) + 1, 0) + 1)]

    def count(start: float) -> int:
        return sum(start <= at < start + days * DAY for at in changes)

    start = max(starts, key=count)
    return start, min(start + days * DAY, last)


def history_of(name: str, events: Sequence[Event], *, span: tuple[float, float] | None = None) -> History:
    """The sites that are known within a span, by default from the first event to the last."""
    begin, end = span or (events[0].at, events[-1].at)
    by_site: dict[str, list[Event]] = {}
    for event in events:
        by_site.setdefault(event.site, []).append(event)
    sites = [
        _site_history(site, course, begin=begin, end=end)
        for site, course in by_site.items()
        if course[0].at <= end and course[-1].at >= begin
    ]
    return History(name, tuple(sites), end - begin)


def _site_history(name: str, course: Sequence[Event], *, begin: float, end: float) -> SiteHistory:
    """It enters the span as it was before."""
    before = [event for event in course if event.at <= begin]
    kept = [*before[-1:], *(event for event in course if begin < event.at <= end)]
    changes = [after.at - begin for one, after in pairwise(kept) if after.status != one.status]
    return SiteHistory(
        name,
        tuple(event.at - begin for event in kept),
        tuple(event.status for event in kept),
        tuple(event.latency_ms for event in kept),
        tuple(changes),
    )


def read_histories(folder: Path, *, days: float | None) -> Mapping[str, History]:
    """The histories of a folder's CSV files: their busiest days, or all of it."""
    found = {}
    for path in sorted(folder.glob("*.csv")):
        if events := read_events(path):
            span = None if days is None else busiest(events, days)
            found[path.stem] = history_of(path.stem, events, span=span)
    return found
