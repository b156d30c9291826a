"""All checks at the end of a seed, when everything has come to rest."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tests.simulation.whole_system.actions import TENANT
from tests.simulation.whole_system.calendar_checks import closure_violations
from tests.simulation.whole_system.daily_checks import daily_violations
from tests.simulation.whole_system.databases import complete
from tests.simulation.whole_system.debt_checks import (
    alert_violations,
    answer_violations,
    delivery_violations,
    firing_violations,
)
from tests.simulation.whole_system.request_checks import request_violations
from tests.simulation.whole_system.requested_run_checks import cancel_violations, request_run_violations
from tests.simulation.whole_system.run_checks import SeenRuns, run_violations

from cadenza.domain.access.tenant import CHARGED, month_of
from cadenza.domain.agents.conversation import ConversationKey
from cadenza.domain.agents.users import UserKey
from cadenza.domain.monitoring.alert import AlertKind
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.domain.scheduling.target import PromptTarget
from cadenza.ports.catalog import EndpointFilter, Page

if TYPE_CHECKING:
    from tests.simulation.whole_system.simulation import Simulation

EVERYTHING = Page(1_000)
WITH_DELETED = EndpointFilter(archived=None)


def final_violations(simulation: "Simulation") -> Iterator[str]:
    """Everything that is not as promised."""
    yield from _of_endpoints(simulation)
    yield from _of_quotas(simulation)
    yield from _of_alerts(simulation)
    yield from _of_users(simulation)
    yield from _of_days(simulation)
    yield from _of_people(simulation)


def _of_endpoints(simulation: "Simulation") -> Iterator[str]:
    store, now = simulation.store, simulation.world.now()
    deliveries = [one for user_id in simulation.clients for one in _deliveries(simulation, user_id)]
    for endpoint in complete(store.catalog.find(TENANT, wanted=WITH_DELETED, page=EVERYTHING)):
        runs = complete(store.runs.runs(endpoint.key, EVERYTHING))[::-1]
        is_prompt = isinstance(endpoint.target, PromptTarget)
        dispatched = simulation.targets.dispatched.copy()
        if is_prompt:
            dispatched.update({run.id: 1 for run in runs if run.started_at is not None})
            yield from firing_violations(endpoint, runs, deliveries)
        seen = SeenRuns(dispatched, simulation.leases.closed, simulation.leases.set_back_before)
        yield from run_violations(endpoint, runs, seen=seen, now=now)
        was_set_back = simulation.world.times_set_back > 0
        closures = closure_violations(endpoint, runs, was_set_back=was_set_back)
        yield from (f"{endpoint.id}: {words}" for words in closures)
        requested = request_run_violations(
            endpoint, runs, simulation.leases.requests, set_back_before=simulation.leases.set_back_before
        )
        yield from (f"{endpoint.id}: {words}" for words in requested)


def _of_quotas(simulation: "Simulation") -> Iterator[str]:
    store, month = simulation.store, month_of(simulation.world.now())
    spent = complete(store.tenants.quota_usage([TENANT], month))[TENANT].spent.runs
    closed = simulation.leases.closed.values()
    owed = sum(run.started_at is not None and run.status in CHARGED for run in closed)
    if spent != owed:
        yield f"{spent} runs are charged, and {owed} were dispatched"
    limit = simulation.scenario.runs_per_month
    endpoints = complete(store.catalog.find(TENANT, wanted=WITH_DELETED, page=EVERYTHING))
    most_at_once = simulation.processes.starts * len(endpoints)
    if limit is not None and owed > limit + most_at_once:
        yield f"{owed} runs where {limit} are allowed, and {most_at_once} may be under way"


def _of_alerts(simulation: "Simulation") -> Iterator[str]:
    found = complete(simulation.store.alerts.newest_alerts(TENANT, 1_000))
    stored = {alert.key for alert in found if alert.kind is AlertKind.ENDPOINT}
    had_faults = bool(simulation.scenario.faults)
    received, expected = simulation.roles.receiver.received, simulation.leases.alerts
    deleted = {
        endpoint_id
        for endpoint_id in set(expected.values())
        if complete(simulation.store.endpoints.get(EndpointKey(TENANT, endpoint_id))).archived
    }
    yield from alert_violations(
        stored,
        expected,
        received,
        deleted=deleted,
        had_faults=had_faults,
        was_set_back=simulation.world.times_set_back > 0,
    )


def _deliveries(simulation: "Simulation", user_id: str) -> list:  # type: ignore[type-arg]
    user = UserKey(TENANT, user_id)
    return complete(simulation.store.deliveries.deliveries(user, after=0, limit=1_000))


def _of_users(simulation: "Simulation") -> Iterator[str]:
    for user_id, client in simulation.clients.items():
        found = _deliveries(simulation, user_id)
        key = ConversationKey(TENANT, user_id, "helper")
        messages = complete(simulation.store.conversations.messages(key, EVERYTHING))
        now_s = simulation.world.loop.time()
        wrong = [*delivery_violations(found, client, now_s), *answer_violations(messages, client)]
        yield from (f"{user_id}: {words}" for words in wrong)


def _of_days(simulation: "Simulation") -> Iterator[str]:
    for user_id, cutoff in simulation.first_cutoffs.items():
        yield from daily_violations(
            simulation.daily_rows(UserKey(TENANT, user_id)),
            simulation.roles.daily_target,
            now=simulation.world.now(),
            first_cutoff=cutoff,
            had_faults=bool(simulation.scenario.faults),
        )


def _of_people(simulation: "Simulation") -> Iterator[str]:
    store = simulation.store
    endpoints = complete(store.catalog.find(TENANT, wanted=WITH_DELETED, page=EVERYTHING))
    yield from cancel_violations(simulation.people.actions.requests, simulation.leases.closed)
    yield from request_violations(
        simulation.people.actions.requests,
        simulation.requests.carried_out,
        endpoints=endpoints,
        history={one.id: complete(store.runs.hints(one.key, EVERYTHING)) for one in endpoints},
    )
