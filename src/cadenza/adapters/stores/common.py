"""What all stores see alike in what a tenant has: who is wanted, who follows whom, and what is refused."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from cadenza.domain.agents.conversation import Turn
from cadenza.domain.agents.users import Agent, User, UserKey
from cadenza.domain.errors import Conflict, NotAllowed, NotFound
from cadenza.domain.monitoring.alert import RaisedAlert
from cadenza.domain.planning.rules.rule import Rule
from cadenza.domain.scheduling.endpoint import Endpoint, Job, evolve, has_labels
from cadenza.domain.scheduling.run import Run
from cadenza.domain.scheduling.settle import SettledRun
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.ports.catalog import Arrangement, EndpointFilter
from cadenza.ports.scheduling import RunFilter


def matches(endpoint: Endpoint, wanted: EndpointFilter) -> bool:
    """Is it one of the endpoints that are wanted?"""
    return (
        wanted.job_id in (None, endpoint.job_id)
        and wanted.archived in (None, endpoint.archived)
        and has_labels(endpoint.labels, wanted.labels)
    )


def run_matches(run: Run, wanted: RunFilter) -> bool:
    """Is it one of the closed runs that are wanted?"""
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


def following(endpoint: Endpoint, job: Job | None) -> Endpoint:
    """The endpoint as its job lets it; one whose job nobody made goes its own way."""
    active = job is None or job.active
    return endpoint if endpoint.job_active is active else evolve(endpoint, job_active=active)


def arranged(decided: Arrangement, tenant_id: str, jobs: Mapping[str, Job]) -> Arrangement:
    """What was decided, with endpoints that follow the jobs as they will be; each is named once."""
    owners = {job.tenant_id for job in decided.jobs} | {one.endpoint.tenant_id for one in decided.endpoints}
    owners |= {rule.tenant_id for rule in decided.rules}
    assert owners <= {tenant_id}, "a decision is about its own tenant alone"
    ids = {one.endpoint.id for one in decided.endpoints}
    assert len(ids) == len(decided.endpoints), "a decision names an endpoint once"
    return decided._replace(
        endpoints=[followed(one, jobs.get(one.endpoint.job_id)) for one in decided.endpoints]
    )


def followed(amended: ChangedEndpoint, job: Job | None) -> ChangedEndpoint:
    """A change, with an endpoint that follows its job."""
    return amended._replace(endpoint=following(amended.endpoint, job))


def same(before: Job, after: Job) -> Job:
    """A changed job, which is still the same one."""
    assert (before.tenant_id, before.id) == (after.tenant_id, after.id), "a job keeps its identity"
    return after


def same_rule(before: Rule, after: Rule) -> Rule:
    """A changed rule, which is still the same one."""
    assert (before.tenant_id, before.id) == (after.tenant_id, after.id), "a rule keeps its identity"
    return after


def missing(kind: str, id_: str) -> NotFound:
    """There is none, or it belongs to somebody else."""
    return NotFound(f"There is no {kind} {id_}.")


def taken(kind: str, id_: str) -> Conflict:
    """Somebody has this id already."""
    article = "an" if kind[0] in "aeiou" else "a"
    return Conflict(f"There is {article} {kind} {id_} already.")


def too_many_rules(most: int) -> NotAllowed:
    """The job has its number of rules."""
    return NotAllowed(f"A job may have at most {most} rules: delete one.")


Answer = TypeVar("Answer")
Closed = Callable[[Answer], Iterable[SettledRun | None]]
"""What work that closes runs has settled, by what it has answered."""


def turns_in(settled: Iterable[SettledRun | None]) -> list[Turn]:
    """The turns that runs left; nearly always there is none."""
    return [one.turn for one in settled if one is not None and one.turn is not None]


def raised_in(settled: Iterable[SettledRun | None]) -> list[RaisedAlert]:
    """The alerts that runs gave cause for; nearly always there is none."""
    return [one.raised for one in settled if one is not None and one.raised is not None]


def users_with_turns(settled: Iterable[SettledRun | None]) -> set[UserKey]:
    """The users to whom these runs may owe something."""
    return {turn.conversation.user for turn in turns_in(settled)}


def still_as_old(user: User, before: User | None) -> User:
    """A user, new or changed; one that was there stays as old as it was."""
    return user if before is None else replace(user, created_at=before.created_at)


def still_the_agent(agent: Agent, before: Agent | None) -> Agent:
    """An agent, new or changed; one that was there stays as old as it was."""
    return agent if before is None else replace(agent, created_at=before.created_at)
