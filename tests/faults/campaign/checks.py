"""What must be true when a campaign is over."""

import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from tests.faults.access.test_api_is_killed import effects
from tests.faults.agents.database_history import DatabaseHistory
from tests.faults.campaign.people import Steered, SteeringLog
from tests.faults.campaign.receiver import Receiver
from tests.faults.scheduling.history_checks import RETRIED, History, request_violations, violations

from cadenza.domain.agents.schedule import POLICY as SCHEDULE_POLICY
from cadenza.domain.daily.keys import daily_key
from cadenza.domain.daily.user import DayStatus
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.domain.scheduling.run import Run
from cadenza.domain.validation import iso
from cadenza.ports.catalog import EndpointFilter, Page
from cadenza.ports.store import Store

ALL = Page(1_000_000)
A_TRACEBACK = "Traceback (most recent call last):"
AN_EXCEPTION = re.compile(r"[A-Za-z_.]+: ")
WITH_DELETED = EndpointFilter(archived=None)


class Evidence(NamedTuple):
    """What was seen from outside."""

    log: SteeringLog
    receiver: Receiver
    functions: Counter[str]
    """Calls of functions, by run."""
    resumed: set[str]
    """What was paused because its processes died, and resumed."""


async def read_runs(store: Store) -> History:
    """Every endpoint, deleted ones too, with its runs, oldest first."""
    endpoints = await store.catalog.find("default", wanted=WITH_DELETED, page=ALL)
    return {one.id: (one, (await store.runs.runs(one.key, ALL))[::-1]) for one in endpoints}


async def all_violations(
    store: Store, history: History, messages: DatabaseHistory, evidence: Evidence
) -> list[str]:
    """Everything that is not as promised."""
    log = evidence.log
    return [
        *violations(history, evidence.receiver.runs + evidence.functions),
        *request_violations(history, log.asked),
        *unrecorded_requests(history, evidence.receiver.keys),
        *left_open(history),
        *log.refusals,
        *[one async for one in _steered_once(store, log.steered)],
        *ignored_steering(history, log.steered),
        *await _requests_once(store, log),
        *unserved(history, log.once),
        *firings(messages, history, log.schedules, resumed=evidence.resumed),
        *[one async for one in _daily(store, log.daily_users, evidence.receiver)],
    ]


def unrecorded_requests(history: History, arrived: Counter[str]) -> Iterator[str]:
    """As many requests arrive under a key as runs of its slot were started, at most."""
    started: Counter[str] = Counter()
    for name, (_, runs) in history.items():
        for run in runs:
            started[f"default:{name}:{iso(run.slot)}"] += run.started_at is not None
    for key, times in arrived.items():
        if times > started[key]:
            yield f"{key}: {times} requests arrived, and {started[key]} runs were started"


def left_open(history: History) -> Iterator[str]:
    for name, (endpoint, runs) in history.items():
        if endpoint.open_slot is not None and not endpoint.archived:
            yield f"{name}: its slot {endpoint.open_slot.slot} is still open"
        yield from (f"{name}: run {run.id} is still open" for run in runs if run.status is None)


def tracebacks(folder: Path) -> Iterator[str]:
    """Whatever happens to a process, it logs events; a traceback is an exception that nobody expected."""
    for path in sorted(folder.glob("err-*")):
        lines = path.read_text(errors="replace").splitlines()
        if A_TRACEBACK in lines:
            problem = next((line for line in reversed(lines) if AN_EXCEPTION.match(line)), "")
            yield f"{path.name} has {lines.count(A_TRACEBACK)} tracebacks, the last of them {problem}"


async def _steered_once(store: Store, steered: Sequence[Steered]) -> AsyncIterator[str]:
    """The history of hints has each acknowledged call once."""
    written: dict[str, Counter[str]] = {}
    for one in steered:
        if one.kind == "delete":
            continue
        if one.endpoint_id not in written:
            records = await store.runs.hints(EndpointKey("default", one.endpoint_id), ALL)
            written[one.endpoint_id] = Counter(str(record.reason) for record in records)
        times = written[one.endpoint_id][one.key]
        if times != 1:
            yield f"{one.endpoint_id}: {one.kind} under {one.key} was applied {times} times"


def ignored_steering(history: History, steered: Sequence[Steered]) -> Iterator[str]:
    """Nothing starts between the answer to a pause and the request to resume, nor after a deletion."""
    paused_since: dict[str, datetime] = {}
    for one in steered:
        endpoint, runs = history[one.endpoint_id]
        if one.kind == "pause_until":
            paused_since[one.endpoint_id] = one.acknowledged_at
        elif one.kind == "resume":
            since = paused_since.pop(one.endpoint_id)
            yield from _started(f"{one.endpoint_id} was paused", runs, since, until=one.sent_at)
        elif one.kind == "delete":
            if not endpoint.archived:
                yield f"{one.endpoint_id} was deleted, and is there"
            yield from _started(f"{one.endpoint_id} was deleted", runs, one.acknowledged_at)


def _started(why: str, runs: list[Run], since: datetime, until: datetime | None = None) -> Iterator[str]:
    for run in runs:
        if (
            run.started_at is not None
            and since < run.started_at
            and (until is None or run.started_at < until)
        ):
            yield f"{why} at {since}, and run {run.id} was started at {run.started_at}"


async def _requests_once(store: Store, log: SteeringLog) -> list[str]:
    if not log.requests:
        return []
    found = await effects(store, log.requests)
    return [f"{name} was carried out {times} times" for name, times in found.items() if times != 1]


def unserved(history: History, once: Sequence[str]) -> Iterator[str]:
    """Each single moment has its verdict."""
    for name in once:
        if not any(run.verdict for run in history[name][1]):
            yield f"{name}: its one moment was never served"


def firings(
    messages: DatabaseHistory, history: History, schedules: Sequence[str], *, resumed: set[str]
) -> Iterator[str]:
    """Each prompt fired once, was answered once, and its answer is owed once.

    Of a prompt that failed as often as it may be tried, its user is told so once instead.
    """
    for schedule in schedules:
        if schedule not in resumed:
            runs = history[schedule][1]
            for name in ("verdicts", "prompts", "answers", "deliveries"):
                times = getattr(messages, name)[schedule] + (name == "verdicts" and given_up(runs))
                if times != 1:
                    ended = [f"{run.status} {run.error or run.reason or ''}" for run in runs]
                    yield f"{schedule} has {times} {name}; its runs: {', '.join(ended)}"


def given_up(runs: Sequence[Run]) -> int:
    """How many prompts failed at their last attempt, or after it."""
    return sum(
        run.verdict and run.status in RETRIED and run.attempt >= SCHEDULE_POLICY.max_attempts for run in runs
    )


async def _daily(store: Store, users: Sequence[str], receiver: Receiver) -> AsyncIterator[str]:
    """Each user was served in the open window: one verdict, a success, and a request for it arrived."""
    for user in users:
        found = await store.daily.verdicts_of(daily_key("default", user), ALL)
        shown = [(one.service_date, one.status) for one in found]
        if len(found) != 1 or found[0].status is not DayStatus.SUCCESS:
            yield f"{user} has the verdicts {shown}"
        elif not receiver.days[f"{user}:{found[0].service_date}"]:
            yield f"{user} is a success, and no request arrived"
