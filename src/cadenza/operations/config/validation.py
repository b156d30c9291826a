"""Checks a configuration before anything is written."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from cadenza.domain.access.tenant import Limits
from cadenza.domain.agents.schedule_protection import SCHEDULES_JOB
from cadenza.domain.errors import Fault, InvalidRequest
from cadenza.domain.scheduling.calendars.calendar import Calendar
from cadenza.domain.scheduling.calendars.named_day_parts import with_calendars_of
from cadenza.domain.scheduling.endpoint import Endpoint, Job
from cadenza.operations.config.alert_routes import WantedRoute, wanted_routes
from cadenza.operations.config.changes import Intent, WantedEndpoint, WantedJob
from cadenza.operations.config.rules import WantedRule, located_rules, refuse, rule_or_faults
from cadenza.operations.config.schemas import MOST_ENDPOINTS, ConfigDocument, ConfigEndpoint, ConfigJob
from cadenza.operations.context import RequestContext
from cadenza.operations.documented_models import part
from cadenza.operations.scheduling.calendars.of_jobs import resolved_job_rules
from cadenza.operations.scheduling.endpoint_parts.calendar_rules import resolved_rules
from cadenza.operations.scheduling.endpoints import PARTS, within_limits
from cadenza.operations.scheduling.schemas import DayPartsShape


class LocatedEndpoint(NamedTuple):
    """An endpoint of a file, its job, and the path to it."""

    path: str
    job: ConfigJob
    entry: ConfigEndpoint


def calendar_ids_in(document: ConfigDocument) -> set[str]:
    """The calendars that the jobs and endpoints of a file name."""
    ids = {id_ for job in document.jobs if job.calendar is not None for id_ in job.calendar.calendar_ids}
    for _, _, entry in _located(document):
        if isinstance(entry.baseline, DayPartsShape):
            ids |= {one.calendar for one in entry.baseline.parts}
        ids |= set() if entry.calendar is None else entry.calendar.calendar_ids
    return ids


def read_intent(
    context: RequestContext,
    document: ConfigDocument,
    *,
    limits: Limits,
    prune: bool,
    calendars: Mapping[str, Calendar],
) -> Intent:
    """The intent of a configuration; InvalidRequest with all faults and their paths.

    `calendars` are those that its jobs and endpoints name, as far as there are any.
    """
    jobs = [_job_or_faults(context, f"jobs.{j}", entry, calendars) for j, entry in enumerate(document.jobs)]
    located = list(_located(document))
    endpoints = [_endpoint_or_faults(context, one, limits, calendars) for one in located]
    rule_entries = located_rules(document)
    now, expressions = context.dependencies.clock.now(), context.dependencies.expressions
    rules = [
        rule_or_faults(one, tenant_id=context.tenant_id, expressions=expressions, now=now)
        for one in rule_entries
    ]
    routes = list(wanted_routes(document, context.tenant_id, now))
    faults = [*_reserved_job(document), *_repeated_jobs(document), *_repeated_endpoints(located)]
    faults += _too_many(located)
    faults += _repeated("rule", [(one.path, one.entry.id) for one in rule_entries])
    faults += _repeated(
        "alert route",
        [(f"alert_routes.{place}", one.id) for place, one in enumerate(document.alert_routes or [])],
    )
    faults += [
        fault for one in (*jobs, *endpoints, *rules, *routes) if isinstance(one, list) for fault in one
    ]
    refuse(faults)
    wanted = zip(located, (one for one in endpoints if isinstance(one, Endpoint)), strict=True)
    return Intent(
        jobs={one.job.id: one for one in jobs if isinstance(one, WantedJob)},
        endpoints={
            one.entry.id: WantedEndpoint(endpoint, one.entry.enabled, one.path) for one, endpoint in wanted
        },
        rules={one.rule.id: one for one in rules if isinstance(one, WantedRule)},
        routes={one.route.id: one for one in routes if isinstance(one, WantedRoute)},
        names_routes=document.alert_routes is not None,
        prune=prune,
        most=limits.endpoints,
        now=now,
        cron=context.dependencies.cron,
        origin=context.caller.origin,
        jitter_ms=context.dependencies.jitter_ms,
    )


def _located(document: ConfigDocument) -> Iterator[LocatedEndpoint]:
    for j, job in enumerate(document.jobs):
        for e, entry in enumerate(job.endpoints):
            yield LocatedEndpoint(f"jobs.{j}.endpoints.{e}", job, entry)


def _job_or_faults(
    context: RequestContext, path: str, entry: ConfigJob, calendars: Mapping[str, Calendar]
) -> WantedJob | list[Fault]:
    try:
        return WantedJob(part(path, lambda: _job(context, entry, calendars)), entry.active)
    except InvalidRequest as problem:
        return list(problem.faults)


def _job(context: RequestContext, entry: ConfigJob, calendars: Mapping[str, Calendar]) -> Job:
    return Job(
        id=entry.id,
        name=entry.name or entry.id,
        tenant_id=context.tenant_id,
        active=entry.active is not False,
        description=entry.description,
        applied=True,
        created_at=context.dependencies.clock.now(),
        metadata=entry.metadata,
        calendar_rules=resolved_job_rules(entry.calendar, calendars, context.dependencies.clock.now()),
    )


def _endpoint_or_faults(
    context: RequestContext, located: LocatedEndpoint, limits: Limits, calendars: Mapping[str, Calendar]
) -> Endpoint | list[Fault]:
    """The endpoint of an entry, or all faults of its parts."""
    path, job, entry = located
    parts: dict[str, Any] = {}
    faults: list[Fault] = []
    for name, read in _readers(entry, calendars).items():
        try:
            parts[name] = read()
        except InvalidRequest as problem:
            faults += problem.faults
    if not faults:
        try:
            return within_limits(context, _endpoint(context, job.id, entry, parts), limits)
        except InvalidRequest as problem:
            faults += problem.faults or [Fault("baseline", problem.message)]
    return [Fault(f"{path}.{fault.field}", fault.message) for fault in faults]


def _readers(entry: ConfigEndpoint, calendars: Mapping[str, Calendar]) -> dict[str, Callable[[], Any]]:
    """What makes each part of an endpoint; it raises InvalidRequest with the path of what is wrong."""

    def read(name: str) -> Any:
        written = part(name, getattr(entry, name).to_domain)
        return part(name, partial(with_calendars_of, written, calendars))

    rules = partial(resolved_rules, entry.calendar, calendars)
    return {**{name: partial(read, name) for name in PARTS}, "calendar_rules": rules}


def _endpoint(context: RequestContext, job_id: str, entry: ConfigEndpoint, parts: dict[str, Any]) -> Endpoint:
    return Endpoint(
        id=entry.id,
        name=entry.name or entry.id,
        job_id=job_id,
        tenant_id=context.tenant_id,
        description=entry.description,
        hint_mode=entry.hint_mode,
        severity=entry.severity,
        parent_id=entry.parent_id,
        enabled=entry.enabled is not False,
        labels=entry.labels,
        limit_key=entry.limit_key,
        priority=entry.priority,
        created_at=context.dependencies.clock.now(),
        **parts,
    )


def _reserved_job(document: ConfigDocument) -> Iterator[Fault]:
    for j, job in enumerate(document.jobs):
        if job.id == SCHEDULES_JOB:
            yield Fault(
                f"jobs.{j}.id", f"The job {SCHEDULES_JOB} holds what users have planned: use another id."
            )


def _repeated_jobs(document: ConfigDocument) -> Iterator[Fault]:
    return _repeated("job", [(f"jobs.{j}", job.id) for j, job in enumerate(document.jobs)])


def _repeated_endpoints(located: list[LocatedEndpoint]) -> Iterator[Fault]:
    return _repeated("endpoint", [(one.path, one.entry.id) for one in located])


def _repeated(kind: str, named: list[tuple[str, str]]) -> Iterator[Fault]:
    """Ids are unique in the whole file: an endpoint or a rule belongs to one job."""
    first: dict[str, str] = {}
    for path, id_ in named:
        if first.setdefault(id_, path) != path:
            yield Fault(f"{path}.id", f"This file has the {kind} {id_} already, at {first[id_]}.")


def _too_many(located: list[LocatedEndpoint]) -> Iterator[Fault]:
    if len(located) > MOST_ENDPOINTS:
        yield Fault("jobs", f"A file may have {MOST_ENDPOINTS:,} endpoints, not {len(located):,}.")
