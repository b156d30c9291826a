"""What all stores see alike in what a tenant has: who is wanted, who follows whom, and what is refused."""

from collections.abc import Mapping

from cadenza.domain.errors import Conflict, NotAllowed, NotFound
from cadenza.domain.labels import carries
from cadenza.domain.planning.rules.rule import Rule
from cadenza.domain.scheduling.endpoint import Endpoint, Job, evolve
from cadenza.domain.scheduling.run import Run
from cadenza.domain.scheduling.steer import Amended
from cadenza.ports.catalog import Arrangement, EndpointFilter, RunFilter


def matches(endpoint: Endpoint, wanted: EndpointFilter) -> bool:
    """Is it one of the endpoints that are wanted?"""
    return (
        wanted.job_id in (None, endpoint.job_id)
        and wanted.archived in (None, endpoint.archived)
        and carries(endpoint.labels, wanted.labels)
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


def followed(amended: Amended, job: Job | None) -> Amended:
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
