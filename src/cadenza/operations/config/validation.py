"""What a configuration wants, checked before anything is written."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from cadenza.domain.access.tenant import Limits
from cadenza.domain.agents.schedule import SCHEDULES_JOB
from cadenza.domain.errors import Fault, InvalidRequest
from cadenza.domain.scheduling.endpoint import Endpoint, Job
from cadenza.operations.config.difference import Intent, WantedEndpoint, WantedJob
from cadenza.operations.config.rules import WantedRule, made_rule, placed_rules, refuse
from cadenza.operations.config.schemas import MOST_ENDPOINTS, ConfigDocument, ConfigEndpoint, ConfigJob
from cadenza.operations.context import RequestContext
from cadenza.operations.scheduling.endpoints import PARTS, within_limits
from cadenza.operations.scheduling.schemas import part


class Placed(NamedTuple):
    """An endpoint of a file, its job, and the path to it."""

    path: str
    job: ConfigJob
    words: ConfigEndpoint


def intent_of(context: RequestContext, document: ConfigDocument, *, limits: Limits, prune: bool) -> Intent:
    """What a configuration wants; every fault is told at once, with its path."""
    placed = list(_placed(document))
    to_domain = [_made(context, one, limits) for one in placed]
    spelt = placed_rules(document)
    now, expressions = context.dependencies.clock.now(), context.dependencies.expressions
    rules = [made_rule(one, tenant_id=context.tenant_id, expressions=expressions, now=now) for one in spelt]
    faults = [*_agenda(document), *_repeated_jobs(document), *_repeated_endpoints(placed)]
    faults += _too_many(placed)
    faults += _repeated("rule", [(one.path, one.words.id) for one in spelt])
    faults += [fault for one in (*to_domain, *rules) if isinstance(one, list) for fault in one]
    refuse(faults)
    wanted = zip(placed, (one for one in to_domain if isinstance(one, Endpoint)), strict=True)
    return Intent(
        jobs={job.id: WantedJob(_job(context, job), job.active) for job in document.jobs},
        endpoints={one.words.id: WantedEndpoint(endpoint, one.words.enabled) for one, endpoint in wanted},
        rules={one.rule.id: one for one in rules if isinstance(one, WantedRule)},
        prune=prune,
        most=limits.endpoints,
        now=now,
        cron=context.dependencies.cron,
    )


def _placed(document: ConfigDocument) -> Iterator[Placed]:
    for j, job in enumerate(document.jobs):
        for e, words in enumerate(job.endpoints):
            yield Placed(f"jobs.{j}.endpoints.{e}", job, words)


def _job(context: RequestContext, words: ConfigJob) -> Job:
    return Job(
        id=words.id,
        name=words.name or words.id,
        tenant_id=context.tenant_id,
        active=words.active is not False,
        description=words.description,
        applied=True,
        created_at=context.dependencies.clock.now(),
    )


def _made(context: RequestContext, placed: Placed, limits: Limits) -> Endpoint | list[Fault]:
    """The endpoint that is spelt, or all that is wrong with its parts."""
    path, job, words = placed
    parts: dict[str, Any] = {}
    faults: list[Fault] = []
    for name in PARTS:
        try:
            parts[name] = part(name, getattr(words, name).to_domain)
        except InvalidRequest as problem:
            faults += problem.faults
    if not faults:
        try:
            return within_limits(context, _endpoint(context, job.id, words, parts), limits)
        except InvalidRequest as problem:
            faults += problem.faults or [Fault("baseline", problem.message)]
    return [Fault(f"{path}.{fault.field}", fault.message) for fault in faults]


def _endpoint(context: RequestContext, job_id: str, words: ConfigEndpoint, parts: dict[str, Any]) -> Endpoint:
    return Endpoint(
        id=words.id,
        name=words.name or words.id,
        job_id=job_id,
        tenant_id=context.tenant_id,
        description=words.description,
        hint_mode=words.hint_mode,
        enabled=words.enabled is not False,
        labels=words.labels,
        created_at=context.dependencies.clock.now(),
        **parts,
    )


def _agenda(document: ConfigDocument) -> Iterator[Fault]:
    for j, job in enumerate(document.jobs):
        if job.id == SCHEDULES_JOB:
            yield Fault(
                f"jobs.{j}.id", f"The job {SCHEDULES_JOB} holds what users have planned: use another id."
            )


def _repeated_jobs(document: ConfigDocument) -> Iterator[Fault]:
    return _repeated("job", [(f"jobs.{j}", job.id) for j, job in enumerate(document.jobs)])


def _repeated_endpoints(placed: list[Placed]) -> Iterator[Fault]:
    return _repeated("endpoint", [(one.path, one.words.id) for one in placed])


def _repeated(kind: str, named: list[tuple[str, str]]) -> Iterator[Fault]:
    """Ids are names in the whole file: an endpoint or a rule belongs to one job."""
    first: dict[str, str] = {}
    for path, id_ in named:
        if first.setdefault(id_, path) != path:
            yield Fault(f"{path}.id", f"This file has the {kind} {id_} already, at {first[id_]}.")


def _too_many(placed: list[Placed]) -> Iterator[Fault]:
    if len(placed) > MOST_ENDPOINTS:
        yield Fault("jobs", f"A file may have {MOST_ENDPOINTS} endpoints, not {len(placed)}.")
