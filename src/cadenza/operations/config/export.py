"""Jobs, endpoints and rules as a configuration."""

from collections import defaultdict
from collections.abc import Iterable

from cadenza.domain.agents.schedule_protection import SCHEDULES_JOB, is_schedule
from cadenza.domain.planning.rules.rule import Rule
from cadenza.domain.scheduling.endpoint import Endpoint, Job
from cadenza.operations.config.rule_words import RuleWords
from cadenza.operations.config.schemas import ConfigEndpoint, ConfigJob
from cadenza.operations.planning.rule_schemas import missing_endpoints, rule_parts_as_shapes
from cadenza.operations.scheduling.calendars.of_jobs import calendar_of_job
from cadenza.operations.scheduling.endpoint_parts.calendar_rules import calendar_rules_shape
from cadenza.operations.scheduling.endpoints import PARTS
from cadenza.operations.scheduling.schemas import as_shape


def config_of(
    jobs: Iterable[Job], endpoints: Iterable[Endpoint], rules: Iterable[Rule] = ()
) -> list[ConfigJob]:
    """Jobs with endpoints and rules, in the order of their ids; a job that is not stored is named by its id.

    Rules about deleted endpoints are left out, since they could not be applied. So are agent
    schedules, which belong to their users.
    """
    of_job: dict[str, list[Endpoint]] = defaultdict(list)
    for endpoint in endpoints:
        if not is_schedule(endpoint):
            of_job[endpoint.job_id].append(endpoint)
    rules_of: dict[str, list[RuleWords]] = defaultdict(list)
    for rule in rules:
        siblings = of_job[rule.job_id]
        if not missing_endpoints(
            rule, ids={one.id for one in siblings}, names={one.name for one in siblings}
        ):
            rules_of[rule.job_id].append(_rule(rule))
    known = {job.id: job for job in jobs}
    return [
        _job(known.get(id_) or Job(id=id_, name=id_), of_job[id_], rules_of[id_])
        for id_ in sorted({*known, *(id_ for id_, found in of_job.items() if found)} - {SCHEDULES_JOB})
    ]


def _job(job: Job, endpoints: list[Endpoint], rules: list[RuleWords]) -> ConfigJob:
    """An active job is written without `active`: applied later, the file must not switch it on again."""
    return ConfigJob.model_construct(
        id=job.id,
        name=job.name,
        description=job.description,
        active=None if job.active else False,
        metadata=dict(job.metadata),
        calendar=calendar_of_job(job),
        endpoints=[_endpoint(one) for one in endpoints],
        rules=rules,
    )


def _rule(rule: Rule) -> RuleWords:
    return RuleWords.model_construct(
        id=rule.id,
        endpoint=rule.endpoint_id,
        enabled=None if rule.enabled else False,
        **rule_parts_as_shapes(rule),
    )


def _endpoint(endpoint: Endpoint) -> ConfigEndpoint:
    return ConfigEndpoint.model_construct(
        id=endpoint.id,
        name=endpoint.name,
        description=endpoint.description,
        labels=dict(endpoint.labels),
        hint_mode=endpoint.hint_mode,
        severity=endpoint.severity,
        parent_id=endpoint.parent_id,
        enabled=None if endpoint.enabled else False,
        limit_key=endpoint.limit_key,
        priority=endpoint.priority,
        calendar=calendar_rules_shape(endpoint.calendar_rules),
        **{name: as_shape(getattr(endpoint, name)) for name in PARTS},
    )
