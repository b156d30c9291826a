"""Decides what a configuration changes; pure functions of values."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from cadenza.domain.agents.schedule_protection import SCHEDULES_JOB, is_schedule, refuse_id_of_schedule
from cadenza.domain.errors import Conflict, LimitReached
from cadenza.domain.monitoring.alert_route import AlertRoute
from cadenza.domain.planning.planner_limits import refuse_other_calendars, why_not_changed
from cadenza.domain.planning.rules.rule import Rule
from cadenza.domain.scheduling.calendars.following import follow_job, with_calendars_of
from cadenza.domain.scheduling.endpoint import Endpoint, Job, evolve, why_job_stays
from cadenza.domain.scheduling.hint import HintKind
from cadenza.domain.scheduling.nudge import plan_if_switched_on
from cadenza.domain.scheduling.steer import (
    ChangedEndpoint,
    archive,
    plan_first_run,
    redefine,
)
from cadenza.operations.config.alert_routes import (
    WantedRoute,
    changed_route,
    check_number_of_routes,
    removed_routes,
)
from cadenza.operations.config.changes import (
    OF_ENDPOINT,
    Action,
    Decision,
    Difference,
    Intent,
    Kind,
    WantedEndpoint,
    WantedJob,
)
from cadenza.operations.config.rules import WantedRule, changed_rule, check_rules, removed_rules
from cadenza.operations.documented_models import part
from cadenza.operations.scheduling.parents import check_parents
from cadenza.ports.catalog import BulkChange, BulkState


def decide(current: BulkState, intent: Intent) -> Decision:
    """Decide what changes.

    1. Jobs, endpoints and rules that are named are created, changed, or created again.
    2. With `prune`, endpoints and rules of the named jobs that are not named are deleted;
       so are jobs that a file made and this one does not name, with all that is theirs.
    3. No more endpoints are added than the tenant may have, nor rules than a job may
       have, and rules name existing endpoints.
    """
    embedded = _embedded_jobs(current)
    jobs = [_job(one, current.jobs.get(id_) or embedded.get(id_), intent) for id_, one in intent.jobs.items()]
    _check_switches(filter(None, jobs), current, intent)
    jobs_after = dict(current.jobs) | {
        one.id: one.after for one in filter(None, jobs) if isinstance(one.after, Job)
    }
    amended = [_endpoint(one, current, jobs_after, intent) for one in intent.endpoints.values()]
    gone = _removed_jobs(current, intent)
    pruned = [archive(endpoint, now=intent.now) for endpoint in _removed_endpoints(current, intent)]
    rules = [_rule(one, current.rules.get(id_), intent) for id_, one in intent.rules.items()]
    routes = [_route(one, current.routes.get(id_)) for id_, one in intent.routes.items()]
    gone_routes = (
        removed_routes(current.routes, intent.routes) if intent.prune and intent.names_routes else []
    )
    endpoints = [one for one, _ in filter(None, amended)]
    named = [*filter(None, jobs), *endpoints, *filter(None, rules), *filter(None, routes)]
    deleted_rules = _removed_rules(current, intent)
    deleted = [_deleted("job", job) for job in gone] + [_deleted("endpoint", one.endpoint) for one in pruned]
    written = [*(one for _, one in filter(None, amended)), *pruned]
    _check_changes((one for one, _ in filter(None, amended)), jobs_after, intent)
    bulk_change = BulkChange(
        [one.after for one in named if isinstance(one.after, Job)],
        _with_switched_on(written, current, jobs_after, intent),
        [job.id for job in gone],
        [one.after for one in named if isinstance(one.after, Rule)],
        [rule.id for rule in deleted_rules],
        [one.after for one in named if isinstance(one.after, AlertRoute)],
        [route.id for route in gone_routes],
    )
    decision = Decision(
        [
            *named,
            *deleted,
            *(_deleted("rule", rule) for rule in deleted_rules),
            *(_deleted("alert_route", route) for route in gone_routes),
        ],
        bulk_change,
        len(jobs) + len(amended) + len(rules) + len(routes) - len(named),
    )
    _check_endpoint_limit(decision, current, intent.most)
    _check_rules(decision, current, intent)
    check_number_of_routes(len(current.routes.keys() | intent.routes.keys()) - len(gone_routes))
    _check_parents(decision, current, intent)
    return decision


def _embedded_jobs(current: BulkState) -> dict[str, Job]:
    """Jobs of endpoints without a stored job: those of programs that embed the scheduler."""
    live = [one for one in current.endpoints.values() if not one.archived]
    return {one.job_id: Job(id=one.job_id, name=one.job_id, tenant_id=one.tenant_id) for one in live}


def _job(wanted: WantedJob, before: Job | None, intent: Intent) -> Difference | None:
    job, active = wanted
    if before is None:
        return Difference(Action.CREATE, "job", job.id, None, job.switched(intent.origin, active=job.active))
    after = replace(
        before,
        name=job.name,
        description=job.description,
        metadata=job.metadata,
        calendar_rules=job.calendar_rules,
    )
    refuse_other_calendars(before.calendar_rules, after.calendar_rules, intent.origin)
    if active is not None and active is not before.active:
        after = after.switched(intent.origin, active=active)
    return None if after == before else Difference(Action.UPDATE, "job", job.id, before, after)


def _check_switches(jobs: Iterable[Difference], current: BulkState, intent: Intent) -> None:
    """Conflict if a job would be paused or resumed against what a higher rank has decided."""
    for _, _, id_, before, after in jobs:
        if not (isinstance(before, Job) and isinstance(after, Job)) or before.active is after.active:
            continue
        kind = HintKind.RESUME if after.active else HintKind.PAUSE
        live = [one for one in current.endpoints.values() if one.job_id == id_ and not one.archived]
        because = why_job_stays(before, live, kind, intent.origin, intent.now)
        if because is not None:
            raise Conflict(
                f"The job {id_} cannot be paused or resumed, because {because}; leave `active` out."
            )


def _endpoint(
    wanted: WantedEndpoint, current: BulkState, jobs: Mapping[str, Job], intent: Intent
) -> tuple[Difference, ChangedEndpoint] | None:
    (endpoint, enabled, path), by = wanted, intent.planning()
    endpoint = with_calendars_of(endpoint, jobs.get(endpoint.job_id))
    if (stored := current.endpoints.get(endpoint.id)) is None:
        new = part(path, lambda: plan_first_run(endpoint, **by))
        return Difference(Action.CREATE, "endpoint", new.id, None, new), ChangedEndpoint(new)
    part(path, lambda: refuse_id_of_schedule(stored))
    if stored.archived:
        back = _recreated(stored, part(path, lambda: plan_first_run(endpoint, **by)))
        return Difference(Action.REVIVE, "endpoint", back.id, stored, back), ChangedEndpoint(back)
    before = _following(stored, jobs, intent)
    amended = part(path, lambda: redefine(before, endpoint, **by))
    after = amended.endpoint if enabled is None else evolve(amended.endpoint, enabled=enabled)
    if after == before:
        return None
    return Difference(Action.UPDATE, "endpoint", after.id, before, after), amended._replace(endpoint=after)


def _check_changes(endpoints: Iterable[Difference], jobs: Mapping[str, Job], intent: Intent) -> None:
    """Conflict if an endpoint would be changed by one who may not change that."""
    for _, _, id_, before, after in endpoints:
        if not (isinstance(before, Endpoint) and isinstance(after, Endpoint)) or before.archived:
            continue
        changes = {name: getattr(after, name) for name in OF_ENDPOINT}
        job = jobs.get(after.job_id)
        into_active = job is None or job.active
        for because in why_not_changed(before, changes, intent.origin, into_active=into_active).values():
            raise Conflict(f"The endpoint {id_} cannot be changed like this, because {because}.")


def _with_switched_on(
    written: Sequence[ChangedEndpoint], current: BulkState, jobs: Mapping[str, Job], intent: Intent
) -> list[ChangedEndpoint]:
    """What is written, and all endpoints that are switched on with their jobs, or follow their calendars."""
    changed = {one.endpoint.id: one for one in written}
    for id_, before in current.endpoints.items():
        one = changed.get(id_, ChangedEndpoint(before))
        job, kept = jobs.get(one.endpoint.job_id), _following(one.endpoint, jobs, intent)
        after = evolve(kept, job_active=job is None or job.active)
        planned = plan_if_switched_on(before, after, **intent.planning())
        if planned is not after or kept is not one.endpoint:
            changed[id_] = one._replace(endpoint=planned)
    return list(changed.values())


def _following(endpoint: Endpoint, jobs: Mapping[str, Job], intent: Intent) -> Endpoint:
    """A live endpoint with the calendars that its job has after the change, planned anew if they differ."""
    job = jobs.get(endpoint.job_id)
    if job is None or endpoint.archived:
        return endpoint
    return follow_job(endpoint, job, **intent.planning()).endpoint


def _recreated(before: Endpoint, planned: Endpoint) -> Endpoint:
    """A new endpoint with the old one's history, and its run in flight, if any."""
    return evolve(planned, last_run_at=before.last_run_at, lease=before.lease, job_active=before.job_active)


def _removed_jobs(current: BulkState, intent: Intent) -> list[Job]:
    """Jobs that a file made and this one does not name; agent schedules stay."""
    if not intent.prune:
        return []
    kept = {*intent.jobs, SCHEDULES_JOB}
    return [job for job in current.jobs.values() if job.applied and job.id not in kept]


def _removed_endpoints(current: BulkState, intent: Intent) -> list[Endpoint]:
    """Live endpoints that are not named, of jobs that are named or deleted."""
    if not intent.prune:
        return []
    jobs = intent.jobs.keys() | {job.id for job in _removed_jobs(current, intent)}
    return [
        one
        for one in current.endpoints.values()
        if not one.archived and not is_schedule(one) and one.id not in intent.endpoints and one.job_id in jobs
    ]


def _route(wanted: WantedRoute, before: AlertRoute | None) -> Difference | None:
    after = changed_route(wanted, before)
    action = Action.CREATE if before is None else Action.UPDATE
    return None if after is None else Difference(action, "alert_route", after.id, before, after)


def _check_parents(decision: Decision, current: BulkState, intent: Intent) -> None:
    """Refuse endpoints of the file that depend on none that will exist, or on each other in a circle."""
    after = {one.endpoint.id: one.endpoint for one in decision.bulk_change.endpoints}
    present = {**intent.outside_parents, **current.endpoints, **after}
    before = {**intent.outside_parents, **current.endpoints}
    check_parents({id_: one.path for id_, one in intent.endpoints.items()}, present.values(), before=before)


def _rule(wanted: WantedRule, before: Rule | None, intent: Intent) -> Difference | None:
    after = changed_rule(wanted, before, origin=intent.origin)
    action = Action.CREATE if before is None else Action.UPDATE
    return None if after is None else Difference(action, "rule", after.id, before, after)


def _removed_rules(current: BulkState, intent: Intent) -> list[Rule]:
    """Rules that are not named, of jobs that are named or deleted."""
    if not intent.prune:
        return []
    jobs = frozenset(intent.jobs) | {job.id for job in _removed_jobs(current, intent)}
    return removed_rules(current, intent.rules, jobs=jobs)


def _deleted(kind: Kind, gone: Job | Endpoint | Rule | AlertRoute) -> Difference:
    return Difference(Action.DELETE, kind, gone.id, gone)


def _check_endpoint_limit(decision: Decision, current: BulkState, most: int | None) -> None:
    """Refuse to add endpoints beyond the limit; a tenant that is beyond it may still change and delete."""
    after = [one.endpoint for one in decision.bulk_change.endpoints]
    before = [current.endpoints[one.id] for one in after if one.id in current.endpoints]
    more = sum(one.live for one in after) - sum(one.live for one in before)
    live = current.elsewhere + sum(one.live for one in current.endpoints.values())
    if most is not None and more > 0 and live + more > most:
        raise LimitReached(f"Limit reached: {live + more} endpoints, and the limit is {most}.")


def _check_rules(decision: Decision, current: BulkState, intent: Intent) -> None:
    """Refuse rules about missing endpoints, and too many of them, as they will be after the change."""
    present = dict(current.endpoints) | {
        one.endpoint.id: one.endpoint for one in decision.bulk_change.endpoints
    }
    gone = frozenset(decision.bulk_change.removed_rules)
    stay = {id_: rule for id_, rule in current.rules.items() if id_ not in gone and id_ not in intent.rules}
    check_rules(intent.rules, [one for one in present.values() if not one.archived], stay=stay)
