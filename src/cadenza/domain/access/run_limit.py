"""Limits of runs: how many are in flight, and how many begin in a minute, for a host, a job or a key."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import urlsplit

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.scheduling.due import claimable_at
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.target import HeartbeatTarget, HttpTarget
from cadenza.domain.validation import check_count, check_id, convert_to_utc, iso
from cadenza.domain.wording import span_in_words

TOLD_FROM = timedelta(seconds=1)
"""A run that is later than this says which limit held it back."""
MOST = 1_000_000
MOST_LIMITS = 500
"""How many limits a tenant may have."""
LONGEST_NAME = 255
WINDOW = timedelta(seconds=61)
"""How long a start counts: a second more than a minute, since a run begins a moment after its claim, and the
clocks of workers differ a little."""


class LimitKind(StrEnum):
    """What a limit is about."""

    HOST = "host"
    """The host of an HTTP target, without its port."""
    JOB = "job"
    KEY = "key"
    """What endpoints name as their `limit_key`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLimit:
    """How many runs may be in flight, and begin in a minute, of endpoints with the same host, job or key."""

    tenant_id: str
    kind: LimitKind
    name: str
    max_in_flight: int | None = None
    max_per_minute: int | None = None
    created_at: datetime | None = None
    held_since: datetime | None = None
    """Since when something that is due waits for it; None if nothing did when it was last looked at."""

    def __post_init__(self) -> None:
        convert_to_utc(self, "created_at", "held_since")
        for field in ("max_in_flight", "max_per_minute"):
            if getattr(self, field) is not None:
                check_count(field, getattr(self, field), least=1, most=MOST)
        if self.max_in_flight is None and self.max_per_minute is None:
            raise InvalidRequest("A limit needs max_in_flight, max_per_minute, or both.", "max_in_flight")
        if self.kind is LimitKind.HOST:
            object.__setattr__(self, "name", _checked_host(self.name))
        else:
            check_id("name", self.name)

    @property
    def key(self) -> str:
        """What endpoints under this limit have in `limited_by`, such as `host:api.example.com`."""
        return f"{self.kind}:{self.name}"

    @property
    def in_words(self) -> str:
        """Such as "host api.example.com (at most 5 in flight)"."""
        bounds = [] if self.max_in_flight is None else [f"{self.max_in_flight:,} in flight"]
        bounds += [] if self.max_per_minute is None else [f"{self.max_per_minute:,} a minute"]
        return f"{self.kind} {self.name} (at most {' and '.join(bounds)})"


def limit_keys(endpoint: Endpoint) -> tuple[str, ...]:
    """The keys of all limits that an endpoint could be under, sorted; a heartbeat starts no runs."""
    target = endpoint.target
    if isinstance(target, HeartbeatTarget):
        return ()
    keys = [f"{LimitKind.JOB}:{endpoint.job_id}"]
    if isinstance(target, HttpTarget):
        keys.append(f"{LimitKind.HOST}:{_host(target.url)}")
    if endpoint.limit_key is not None:
        keys.append(f"{LimitKind.KEY}:{endpoint.limit_key}")
    return tuple(sorted(keys))


@lru_cache(maxsize=4_096)
def _host(url: str) -> str:
    return urlsplit(url).hostname or ""


def _checked_host(name: str) -> str:
    """The host in lower case; InvalidRequest if it is none, or an address with more than a host."""
    host = name.strip().lower().removeprefix("[").removesuffix("]")
    try:
        written = f"[{host}]" if host.count(":") > 1 else host
        is_host = 0 < len(host) <= LONGEST_NAME and urlsplit(f"//{written}").hostname == host
    except ValueError:
        is_host = False
    if not is_host:
        raise InvalidRequest("name must be a host, such as api.example.com: no scheme, port or path.", "name")
    return host


class StartedRuns(NamedTuple):
    """How many runs were claimed at a moment."""

    at: datetime
    runs: int


class LimitUse(NamedTuple):
    """A limit, and how much of it is in use."""

    limit: RunLimit
    in_flight: int = 0
    started: tuple[StartedRuns, ...] = ()
    """What began within the window."""
    waiting: int = 0
    """How many endpoints are due and wait, for this limit or another that they are under, or for a worker."""
    waiting_since: datetime | None = None
    """When the first of them was due."""

    def in_window(self, now: datetime) -> tuple[StartedRuns, ...]:
        """What began so recently that it counts."""
        return tuple(one for one in self.started if one.at > now - WINDOW)

    def count_started(self, now: datetime) -> int:
        """How many runs began within the window."""
        return sum(one.runs for one in self.in_window(now))


def room(use: LimitUse, now: datetime) -> int:
    """How many more runs the limit allows now."""
    limit = use.limit
    rooms = [] if limit.max_in_flight is None else [limit.max_in_flight - use.in_flight]
    rooms += [] if limit.max_per_minute is None else [limit.max_per_minute - use.count_started(now)]
    return max(0, min(rooms))


def allows_again_at(use: LimitUse, now: datetime) -> datetime | None:
    """When its starts of a minute allow the next run; None if they do not hold it back."""
    most, left = use.limit.max_per_minute, use.count_started(now)
    if most is None or left < most:
        return None
    for one in sorted(use.in_window(now)):
        left -= one.runs
        if left < most:
            return one.at + WINDOW
    return None


class WaitingEndpoint(NamedTuple):
    """An endpoint that is due and waits in the order of priorities."""

    key: EndpointKey
    limited_by: tuple[str, ...]
    priority: int
    due_at: datetime
    rank: int
    """Decides among equals."""


class AdmittedEndpoints(NamedTuple):
    """Those that may run now, in order, and the limits that hold others back."""

    taken: list[WaitingEndpoint]
    held_by: frozenset[str]


def admit(waiting: Iterable[WaitingEndpoint], rooms: Mapping[str, int], most: int) -> AdmittedEndpoints:
    """Decide which endpoints of one tenant may run now.

    1. The higher priority comes first; among equals, what has been due for longer.
    2. Each takes one place of every limit that it is under.
    3. What has none left at one of them is passed by, and holds up nothing that is under other limits.
    4. A limit without a number is just being used by another worker: its endpoints wait for the next claim.
    """
    left, taken, held_by = dict(rooms), list[WaitingEndpoint](), set[str]()
    for one in sorted(waiting, key=lambda one: (-one.priority, one.due_at, one.rank)):
        if not all(key in left for key in one.limited_by):
            continue
        if full := [key for key in one.limited_by if left[key] < 1]:
            held_by.update(full)
        elif len(taken) < most:
            left.update({key: left[key] - 1 for key in one.limited_by})
            taken.append(one)
    return AdmittedEndpoints(taken, frozenset(held_by))


def held_back_by(one: WaitingEndpoint, limits: Mapping[str, RunLimit], now: datetime) -> str | None:
    """The limit that made an endpoint late which may run now; None if it is on time or late otherwise."""
    for key in one.limited_by:
        limit = limits.get(key)
        if limit is not None and limit.held_since is not None and now - one.due_at > TOLD_FROM:
            return key
    return None


def why_waiting(endpoint: Endpoint, uses: Iterable[LimitUse], now: datetime) -> list[str]:
    """What the limits of an endpoint do to it, in sentences.

    One that holds it back, be it a run of its schedule or one that was requested, says since when, and when
    it is expected to go on. What may not run at all, as while it is paused, is held back by none.
    """
    under = [use for use in uses if use.limit.key in endpoint.limited_by]
    due_at = claimable_at(endpoint)
    sentences = [
        f"Limited by {use.limit.in_words}."
        if due_at is None or due_at > now or room(use, now) > 0
        else _held(due_at, use, now)
        for use in under
    ]
    if endpoint.priority:
        sentences.append(f"Its priority is {endpoint.priority}.")
    return sentences


def _held(due_at: datetime, use: LimitUse, now: datetime) -> str:
    since = max(due_at, use.limit.held_since or due_at)
    words = f"Held back by the limit for {use.limit.in_words} since {iso(since)}"
    again_at = allows_again_at(use, now)
    if again_at is not None:
        return f"{words}; it is expected to go on at {iso(again_at)}, in {span_in_words(again_at - now)}."
    runs = "the run" if use.in_flight == 1 else f"one of the {use.in_flight:,} runs"
    return f"{words}; it goes on when {runs} in flight ends."
