"""`cadenza sim replay`: recorded runs from the store, and policies by their names."""

import asyncio
from collections.abc import Sequence

from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.null import NoLog
from cadenza.domain.agents.schedule_protection import is_schedule
from cadenza.domain.errors import InvalidRequest, NotFound
from cadenza.domain.scheduling.baseline import Every, Once
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.run import Run
from cadenza.domain.validation import parse_duration_ms, quoted
from cadenza.ports.catalog import EndpointFilter, Page
from cadenza.ports.planning import Planner
from cadenza.ports.scheduling import RunFilter
from cadenza.ports.store import Store
from cadenza.roots.clients.choice import choose_database, print_note, where_else
from cadenza.roots.clients.local import missing_file
from cadenza.roots.settings import DEFAULT_TENANT, read_settings
from cadenza.roots.wiring.simulation_planners import learning, rule_planner_factory, rules_in
from cadenza.roots.wiring.stores import open_store
from cadenza.sim.adaptive_policies import AimdPlanner, BackoffPlanner
from cadenza.sim.replay.replay import (
    FEWEST_RUNS,
    RecordedHistory,
    ReplayPolicy,
    ReplayReport,
    recorded_history,
    replay,
)
from cadenza.surfaces.cli.launchers import ReplayRequest

MOST_ENDPOINTS = 100
MOST_RUNS = 50_000
PAGE = 500
POLICIES = "baseline, fixed:30s, backoff, aimd, learned and rules:FILE"


def launch(wish: ReplayRequest) -> ReplayReport:
    """Replay what is recorded in the database of the settings."""
    if not FEWEST_RUNS <= wish.most <= MOST_RUNS:
        raise InvalidRequest(f"--most must be a whole number from {FEWEST_RUNS:,} to {MOST_RUNS:,}.", "most")
    policies = [policy_named(word, wish.tenant or DEFAULT_TENANT) for word in wish.policies]
    return asyncio.run(_replayed(wish, policies))


def policy_named(word: str, tenant_id: str = DEFAULT_TENANT) -> ReplayPolicy:
    """A policy by the word for it."""
    name, _, rest = word.partition(":")
    match name, bool(rest):
        case "baseline", False:
            return ReplayPolicy(name=word)
        case "fixed", True:
            return ReplayPolicy(name=word, baseline=Every(parse_duration_ms("policy", rest)))
        case "backoff", False:
            return ReplayPolicy(name=word, make_planners=_backoff)
        case "aimd", False:
            return ReplayPolicy(name=word, make_planners=_aimd)
        case "learned", False:
            return ReplayPolicy(name=word, make_planners=learning)
        case "rules", True:
            return ReplayPolicy(name=word, make_planners=rule_planner_factory(rules_in(rest, tenant_id)))
        case _:
            raise InvalidRequest(f"{quoted(word)} is not a policy; available are {POLICIES}.", "policy")


async def _replayed(wish: ReplayRequest, policies: Sequence[ReplayPolicy]) -> ReplayReport:
    _, settings, note = choose_database(read_settings())
    if note is not None:
        print_note(note)
    missing = missing_file(settings)
    if missing is not None:
        raise NotFound(f"Database {missing} not found: {where_else(settings)}.")
    async with open_store(settings, ids=TimeOrderedIds(), log=NoLog()) as store:
        records = await read_records(store, wish)
    return await replay(records, policies)


async def read_records(store: Store, wish: ReplayRequest) -> list[RecordedHistory]:
    """What is recorded of the endpoints that are meant; NotFound if that is too little to compare."""
    meant = await _meant(store, wish)
    steerable = [one for one in meant if not isinstance(one.baseline, Once) and not is_schedule(one)]
    found = [recorded_history(one, await _runs(store, one, wish)) for one in steerable]
    records = [one for one in found if one is not None]
    if not records:
        raise NotFound("Not enough recorded runs to replay: at least two are needed.")
    return records


async def _meant(store: Store, wish: ReplayRequest) -> list[Endpoint]:
    tenant_id = wish.tenant or DEFAULT_TENANT
    if wish.endpoint is not None:
        return [await _named(store, tenant_id, wish.endpoint)]
    wanted = EndpointFilter(job_id=wish.job)
    endpoints = await store.catalog.find(tenant_id, wanted=wanted, page=Page(MOST_ENDPOINTS + 1))
    if not endpoints:
        raise NotFound(f"Job {quoted(wish.job)} not found, or it has no endpoints.")
    if len(endpoints) > MOST_ENDPOINTS:
        raise InvalidRequest(f"A replay takes at most {MOST_ENDPOINTS} endpoints; name one.", "job")
    return endpoints


async def _named(store: Store, tenant_id: str, word: str) -> Endpoint:
    """The endpoint with this id, or else the only one with this name."""
    try:
        return await store.endpoints.get(EndpointKey(tenant_id, word))
    except NotFound:
        after, found = None, []
        while page := await store.catalog.find(tenant_id, page=Page(PAGE, after)):
            found += [one for one in page if one.name == word]
            after = page[-1].id
        if len(found) != 1:
            many = "no endpoint" if not found else "more than one endpoint"
            raise NotFound(f"There is {many} {quoted(word)}; give an id.") from None
        return found[0]


async def _runs(store: Store, endpoint: Endpoint, wish: ReplayRequest) -> list[Run]:
    """Its newest runs, as many as are wanted, since the moment that is wanted."""
    wanted = RunFilter(endpoint_id=endpoint.id, since=wish.since)
    runs: list[Run] = []
    after: str | None = None
    while len(runs) < wish.most:
        limit = min(PAGE, wish.most - len(runs))
        found = await store.runs.find_runs(endpoint.tenant_id, wanted=wanted, page=Page(limit, after))
        runs += found.runs
        after = found.after
        if after is None:
            break
    return runs


async def _backoff(_: Store) -> Sequence[Planner]:
    return [BackoffPlanner()]


async def _aimd(_: Store) -> Sequence[Planner]:
    return [AimdPlanner()]
