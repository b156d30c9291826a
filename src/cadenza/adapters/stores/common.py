"""Rules that all stores share: filters, endpoints and their jobs, refusals and outcomes."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import chain, islice, zip_longest
from typing import Any, Generic, NamedTuple, TypeVar

from cadenza.domain.access.places import ClaimShares
from cadenza.domain.access.run_limit import MOST_LIMITS, LimitKind, LimitUse, RunLimit, StartedRuns
from cadenza.domain.agents.conversation import Turn
from cadenza.domain.agents.users import Agent, User, UserKey
from cadenza.domain.errors import Conflict, LimitReached, NotFound
from cadenza.domain.json_values import Json
from cadenza.domain.monitoring.alert import Alert
from cadenza.domain.monitoring.alert_route import AlertRoute
from cadenza.domain.monitoring.condition import Condition
from cadenza.domain.planning.rules.rule import Rule
from cadenza.domain.scheduling.abandon import is_in_order
from cadenza.domain.scheduling.calendars.definition import MOST_CALENDARS
from cadenza.domain.scheduling.calendars.following import with_calendars_of
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey, Job, evolve
from cadenza.domain.scheduling.run import Run
from cadenza.domain.scheduling.settle import SettledRun
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.domain.scheduling.target import PromptTarget
from cadenza.domain.validation import has_labels
from cadenza.ports.alerting import ConditionFilter
from cadenza.ports.calendars.calendar_store import CalendarUse
from cadenza.ports.catalog import BulkChange, EndpointFilter
from cadenza.ports.scheduling import RunFilter


def is_ahead(endpoint: Endpoint, moment: datetime) -> bool:
    """Whether it is planned after a moment, and ran or skipped a slot after it, or never did."""
    if endpoint.next_run_at is None or endpoint.next_run_at <= moment:
        return False
    return not endpoint.has_history or endpoint.anchor(moment) > moment


def matches(endpoint: Endpoint, wanted: EndpointFilter) -> bool:
    """Does a filter match an endpoint?"""
    return (
        wanted.job_id in (None, endpoint.job_id)
        and wanted.archived in (None, endpoint.archived)
        and has_labels(endpoint.labels, wanted.labels)
        and (is_failing(endpoint) or not wanted.failing)
    )


def is_failing(endpoint: Endpoint) -> bool:
    """Whether it is switched on, with its job, and its last run did not succeed."""
    return endpoint.failure_count > 0 and endpoint.enabled and endpoint.job_active and not endpoint.archived


def run_matches(run: Run, wanted: RunFilter) -> bool:
    """Does a filter match a run? It matches closed runs alone."""
    if run.finished_at is None or run.status is None:
        return False
    return (
        wanted.endpoint_id in (None, run.endpoint_id)
        and wanted.job_id in (None, run.job_id)
        and (not wanted.statuses or run.status in wanted.statuses)
        and (not wanted.sources or run.source in wanted.sources)
        and (wanted.since is None or run.finished_at >= wanted.since)
        and (wanted.until is None or run.finished_at < wanted.until)
    )


def owners_of_prompts(endpoints: Iterable[Endpoint]) -> list[tuple[str, str, str]]:
    """The users and agents that endpoints with a prompt belong to: kinds, tenants and ids, in order."""
    prompts = [(one.tenant_id, one.target) for one in endpoints if isinstance(one.target, PromptTarget)]
    users = {("user", tenant_id, target.user_id) for tenant_id, target in prompts}
    return sorted(users | {("agent", tenant_id, target.agent_id) for tenant_id, target in prompts})


def with_job_active(endpoint: Endpoint, job: Job | None) -> Endpoint:
    """The endpoint, switched on or off with its job; without a job of its own it is on."""
    active = job is None or job.active
    return endpoint if endpoint.job_active is active else evolve(endpoint, job_active=active)


def following_job(endpoint: Endpoint, job: Job | None) -> Endpoint:
    """The endpoint, switched on or off with its job, and kept by its calendars."""
    return with_job_active(with_calendars_of(endpoint, job), job)


def wakes(before: Endpoint, after: Endpoint) -> bool:
    """Does a change concern sleeping workers: has a next run moved, or a request come or gone?"""
    return (before.next_run_at, before.requested, before.cancel_request) != (
        after.next_run_at,
        after.requested,
        after.cancel_request,
    )


def checked_bulk_change(decided: BulkChange, tenant_id: str, jobs: Mapping[str, Job]) -> BulkChange:
    """What was decided, with endpoints switched on or off with their jobs; each endpoint may occur once."""
    owners = {job.tenant_id for job in decided.jobs} | {one.endpoint.tenant_id for one in decided.endpoints}
    owners |= {rule.tenant_id for rule in decided.rules}
    assert owners <= {tenant_id}, "a decision is about its own tenant alone"
    ids = {one.endpoint.id for one in decided.endpoints}
    assert len(ids) == len(decided.endpoints), "a decision names an endpoint once"
    return decided._replace(
        endpoints=[change_with_job_active(one, jobs.get(one.endpoint.job_id)) for one in decided.endpoints]
    )


def change_with_job_active(amended: ChangedEndpoint, job: Job | None) -> ChangedEndpoint:
    """A change, with an endpoint that is switched on or off with its job, and kept by its calendars."""
    return amended._replace(endpoint=following_job(amended.endpoint, job))


def same_job(before: Job, after: Job) -> Job:
    """The changed job, if it has the key of the job before."""
    assert (before.tenant_id, before.id) == (after.tenant_id, after.id), "a job keeps its identity"
    return after


def same_rule(before: Rule, after: Rule) -> Rule:
    """The changed rule, if it has the key of the rule before."""
    assert (before.tenant_id, before.id) == (after.tenant_id, after.id), "a rule keeps its identity"
    return after


def condition_matches(condition: Condition, wanted: ConditionFilter) -> bool:
    """Does a filter match a condition?"""
    return all(value is None or getattr(condition, name) == value for name, value in wanted._asdict().items())


def same_route(before: AlertRoute, after: AlertRoute) -> AlertRoute:
    """The changed route, if it has the key of the route before."""
    assert (before.tenant_id, before.id) == (after.tenant_id, after.id), "a route keeps its identity"
    return after


def too_many_routes(most: int) -> LimitReached:
    """The tenant has as many routes as it may have."""
    return LimitReached(f"A tenant may have at most {most} alert routes: delete one.")


def not_found(kind: str, id_: str) -> NotFound:
    """There is none, or it belongs to another tenant."""
    return NotFound(f"{kind.capitalize()} {id_} not found.")


def already_exists(kind: str, id_: str) -> Conflict:
    """The id is in use."""
    article = "an" if kind[0] in "aeiou" else "a"
    return Conflict(f"There is {article} {kind} {id_} already.")


def too_many_rules(most: int) -> LimitReached:
    """The job has as many rules as it may have."""
    return LimitReached(f"A job may have at most {most} rules: delete one.")


SEPARATOR = "\n"
"""Between the keys of limits."""


def write_limited_by(endpoint: Endpoint) -> str | None:
    """The keys of an endpoint's limits as a column; None if it is claimed without looking at any."""
    return SEPARATOR.join(endpoint.limited_by) if is_in_order(endpoint) else None


def read_limited_by(written: str | None) -> tuple[str, ...]:
    """The keys of limits, from their column, which is empty where a priority alone counts."""
    return tuple(written.split(SEPARATOR)) if written else ()


def no_limit(kind: LimitKind, name: str) -> NotFound:
    """There is no such limit, or it belongs to another tenant."""
    return NotFound(f"There is no limit for the {kind} {name}.")


def too_many_calendars() -> LimitReached:
    """The tenant has as many calendars as it may have."""
    return LimitReached(f"A tenant may have at most {MOST_CALENDARS} calendars: delete one.")


def calendar_changed(calendar_id: str) -> Conflict:
    """The calendar is not the one that was compiled."""
    return Conflict(f"The calendar {calendar_id} was changed meanwhile; try again.")


def calendar_in_use(calendar_id: str, use: CalendarUse) -> Conflict:
    """The calendar cannot be deleted, since something uses it."""
    words = f"is used by the {use.kind} {use.id}; take it off all that use it, and then delete it"
    return Conflict(f"The calendar {calendar_id} {words}.")


def too_many_limits() -> LimitReached:
    """The tenant has as many limits as it may have."""
    return LimitReached(f"A tenant may have at most {MOST_LIMITS} limits: delete one.")


def summed_uses(
    limits: Iterable[RunLimit],
    *,
    in_flight: Iterable[tuple[Sequence[str], int]],
    waiting: Iterable[tuple[Sequence[str], int, datetime]],
    started: Mapping[str, Sequence[StartedRuns]],
) -> list[LimitUse]:
    """How much of each limit is in use, from counts of endpoints that are under several limits."""
    runs, waits, since = Counter[str](), Counter[str](), dict[str, datetime]()
    for keys, count in in_flight:
        runs.update(dict.fromkeys(keys, count))
    for keys, count, soonest in waiting:
        waits.update(dict.fromkeys(keys, count))
        since |= {key: min(soonest, since.get(key, soonest)) for key in keys}
    return [
        LimitUse(one, runs[one.key], tuple(started.get(one.key, ())), waits[one.key], since.get(one.key))
        for one in limits
    ]


Answer = TypeVar("Answer")
Closed = Callable[[Answer], Iterable[SettledRun | None]]
"""The runs that a transaction has settled, by its answer."""


def turns_of(settled: Iterable[SettledRun | None]) -> list[Turn]:
    """The turns that go with settled runs; nearly always there is none."""
    return [one.turn for one in settled if one is not None and one.turn is not None]


def alerts_of(settled: Iterable[SettledRun | None]) -> list[Alert]:
    """The alerts that settled runs raise; nearly always there is none."""
    return [one.raised for one in settled if one is not None and one.raised is not None]


class ProbeNote(NamedTuple):
    """What the probe of a schedule answered, and when."""

    key: EndpointKey
    note: Json
    taken_at: datetime


def notes_of_probes(settled: Iterable[SettledRun | None]) -> list[ProbeNote]:
    """What the probes of settled runs answered, in the order of their keys; nearly always there is none."""
    seen = [one for one in settled if one is not None and one.seen is not None]
    notes = (ProbeNote(one.endpoint.key, one.seen, one.run.finished_at or one.run.claimed_at) for one in seen)
    return sorted(notes, key=lambda note: note.key)


def has_effects(settled: Sequence[SettledRun | None]) -> bool:
    """Do settled runs leave anything beside their endpoints and their rows?"""
    return any(one is not None and (one.turn or one.raised or one.seen is not None) for one in settled)


def users_with_turns(settled: Iterable[SettledRun | None]) -> set[UserKey]:
    """The users that settled runs may have something to deliver to."""
    return {turn.conversation.user for turn in turns_of(settled)}


def user_with_first_creation(user: User, before: User | None) -> User:
    """A new or changed user; a changed one keeps the moment of its creation."""
    return user if before is None else replace(user, created_at=before.created_at)


def agent_with_first_creation(agent: Agent, before: Agent | None) -> Agent:
    """A new or changed agent; a changed one keeps the moment of its creation."""
    return agent if before is None else replace(agent, created_at=before.created_at)


DueEntry = TypeVar("DueEntry")


class Share(NamedTuple, Generic[DueEntry]):
    """What a tenant has due with one requirement, soonest first."""

    tenant_id: str
    due: Sequence[DueEntry]


def in_turns(
    shares: Sequence[Share[DueEntry]], limits: ClaimShares, soonest: Callable[[DueEntry], Any]
) -> list[DueEntry]:
    """What is claimed: the soonest of each share, then the second of each, and so on, up to the limit.

    What tenants with a bound have comes after that of the others.
    """
    unbound = _rounds([share.due for share in shares if share.tenant_id not in limits.bounds], soonest)
    bounded = (
        islice(_rounds([one.due for one in shares if one.tenant_id == tenant_id], soonest), bound)
        for tenant_id, bound in limits.bounds.items()
    )
    return list(islice(chain(unbound, _rounds([list(due) for due in bounded], soonest)), limits.limit))


def _rounds(queues: Sequence[Sequence[DueEntry]], soonest: Callable[[DueEntry], Any]) -> Iterator[DueEntry]:
    if len(queues) == 1:
        yield from queues[0]
        return
    for turn in zip_longest(*queues):
        yield from sorted((entry for entry in turn if entry is not None), key=soonest)
