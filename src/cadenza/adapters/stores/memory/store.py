"""Endpoints, runs and hints in dictionaries, behind the same promises as any database."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from threading import RLock

from cadenza.adapters.stores.common import missing, raised_in, turns_in
from cadenza.adapters.stores.memory.catalog import MemoryCatalog
from cadenza.adapters.stores.memory.daily import MemoryDaily
from cadenza.adapters.stores.memory.due_index import Agenda, in_turns
from cadenza.adapters.stores.memory.idempotency import MemoryReplies
from cadenza.adapters.stores.memory.keys import MemoryKeys
from cadenza.adapters.stores.memory.rules import MemoryRules
from cadenza.adapters.stores.memory.sessions import MemorySessions
from cadenza.adapters.stores.memory.slo_alerts import MemoryWatch
from cadenza.adapters.stores.memory.statistics import MemoryDailyFigures, MemoryFigures
from cadenza.adapters.stores.memory.tenants import MemoryTenants
from cadenza.adapters.stores.memory.users_agents import MemoryPeople
from cadenza.adapters.stores.memory.wakeup import Belfry, MemoryBell
from cadenza.domain.agents.users import UserKey
from cadenza.domain.planning.rules.rule import Rule
from cadenza.domain.scheduling.abandon import sweep_at
from cadenza.domain.scheduling.due import Cancel, Recheck, claim, claimable_at
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey, Job, Lease, evolve
from cadenza.domain.scheduling.run import Claim, Completion, Run, SkippedSlot, open_run, skipped_run
from cadenza.domain.scheduling.settle import SettledRun
from cadenza.domain.scheduling.steer import ChangedEndpoint, EndpointChange, HintRecord
from cadenza.ports.catalog import ANY, FIRST_PAGE, Admission, Page
from cadenza.ports.ids import Ids
from cadenza.ports.store import Decide, Retention, Settle, Sweeping


class MemoryStore(
    MemoryCatalog,
    MemoryRules,
    MemoryFigures,
    MemoryPeople,
    MemoryDaily,
    MemoryDailyFigures,
    MemoryKeys,
    MemorySessions,
    MemoryTenants,
    MemoryReplies,
    MemoryWatch,
):
    """Every method does its work without an await and under a lock, so it is one commit."""

    def __init__(self, ids: Ids) -> None:
        super().__init__()
        self._ids = ids
        self._lock = RLock()
        self._endpoints: dict[EndpointKey, Endpoint] = {}
        self._rank: dict[EndpointKey, int] = {}
        self._due, self._sweeps = Agenda(), Agenda()
        self._runs: dict[EndpointKey, dict[str, Run]] = defaultdict(dict)
        self._hints: dict[EndpointKey, list[HintRecord]] = defaultdict(list)
        self._jobs: dict[tuple[str, str], Job] = {}
        self._rules: dict[tuple[str, str], Rule] = {}
        self._belfry = Belfry()

    async def add(self, endpoint: Endpoint, admission: Admission = ANY) -> None:
        with self._lock:
            self._admit(endpoint, admission)
            self._keep(endpoint)

    async def get(self, key: EndpointKey) -> Endpoint:
        with self._lock:
            return self._get(key)

    async def amend(self, key: EndpointKey, change: EndpointChange) -> ChangedEndpoint:
        with self._lock:
            return self._write(change(self._get(key)))

    async def claim_due(
        self, *, now: datetime, within: timedelta, lease_until: datetime, limit: int
    ) -> list[Claim]:
        with self._lock:
            ready = list(self._due.take_until(now + within))
            chosen = {entry[2] for entry in in_turns(ready, limit)}
            for moment, rank, key in ready:
                if key not in chosen:
                    self._due.put(key, moment, rank)
            token = self._ids.new()
            return [
                self._lease(self._endpoints[key], Lease(token, self._ids.new(), lease_until), now)
                for _, _, key in ready
                if key in chosen
            ]

    async def start(self, claims: Sequence[Claim], decide: Decide) -> list[Recheck | None]:
        with self._lock:
            return [self._recheck(held, decide) for held in claims]

    async def renew(self, claims: Sequence[Claim], lease_until: datetime) -> set[str]:
        with self._lock:
            held = [held for held in claims if self._holds(held)]
            for one in held:
                endpoint = self._endpoints[one.key]
                self._put(evolve(endpoint, lease=Lease(one.token, one.run_id, lease_until)))
            return {one.run_id for one in held}

    async def finalize(self, completions: Sequence[Completion], settle: Settle) -> list[SettledRun | None]:
        with self._lock:
            settled = [
                settle(self._endpoints[completion.claim.key], completion)
                if self._holds(completion.claim)
                else None
                for completion in completions
            ]
            for one in settled:
                if one is not None:
                    self._close(one)
            self._count_runs(one for one in settled if one is not None)
            self._speak_all(settled)
            return settled

    async def sweep(self, *, now: datetime, limit: int, sweeping: Sweeping) -> list[SettledRun]:
        abandoned = []
        with self._lock:
            keys = [entry[2] for _, entry in zip(range(limit), self._sweeps.take_until(now), strict=False)]
            for key in keys:
                endpoint = self._endpoints[key]
                if endpoint.lease is not None:
                    settled = sweeping.abandon(endpoint, self._runs[key][endpoint.lease.run_id])
                    self._close(settled)
                    abandoned.append(settled)
                else:
                    tidied = sweeping.tidy(endpoint)
                    self._put(tidied.endpoint, tidied.skipped)
            self._count_runs(abandoned)
            self._speak_all(abandoned)
            if abandoned:
                self._belfry.ring()
        return abandoned

    async def next_due(self) -> datetime | None:
        with self._lock:
            return self._due.first()

    def listen(self) -> MemoryBell:
        return self._belfry.listen()

    async def run(self, tenant_id: str, run_id: str) -> Run:
        with self._lock:
            for key, runs in self._runs.items():
                if key.tenant_id == tenant_id and run_id in runs:
                    return runs[run_id]
        raise missing("run", run_id)

    async def runs(self, key: EndpointKey, page: Page = FIRST_PAGE) -> list[Run]:
        with self._lock:
            newest_first = list(reversed(self._runs[key].values())) if key in self._runs else []
        ids = [run.id for run in newest_first]
        start = ids.index(page.after) + 1 if page.after in ids else 0
        return newest_first[start : start + page.limit]

    async def hints(self, key: EndpointKey, page: Page = FIRST_PAGE) -> list[HintRecord]:
        with self._lock:
            start = int(page.after or 0)
            return self._hints.get(key, [])[::-1][start : start + page.limit]

    async def keep_history(self, retention: Retention, now: datetime) -> int:
        with self._lock:
            closed = sorted(
                (run.finished_at, run.id, key)
                for key, runs in self._runs.items()
                for run in runs.values()
                if run.finished_at is not None
            )
            kept = len(closed) if retention.max_count is None else retention.max_count
            gone = [
                (key, run_id)
                for place, (finished_at, run_id, key) in enumerate(closed)
                if (retention.max_age is not None and finished_at < now - retention.max_age)
                or place < len(closed) - kept
            ]
            for key, run_id in gone:
                del self._runs[key][run_id]
            return len(gone)

    def _forget_user(self, user: UserKey) -> None:
        super()._forget_user(user)
        self._forget_daily(user)
        self._forget_replies_of(user)

    def _drop(self, key: EndpointKey) -> None:
        super()._drop(key)
        self._forget_thoughts(key)
        self._forget_alerts_of(key)

    def _get(self, key: EndpointKey) -> Endpoint:
        try:
            return self._endpoints[key]
        except KeyError:
            raise missing("endpoint", key.id) from None

    def _put(self, endpoint: Endpoint, passed: Sequence[SkippedSlot] = ()) -> None:
        key = endpoint.key
        self._endpoints[key] = endpoint
        self._due.put(key, claimable_at(endpoint), self._rank[key])
        self._sweeps.put(key, sweep_at(endpoint), self._rank[key])
        for slot in passed:
            self._put_run(skipped_run(endpoint, slot, self._ids.new()))

    def _put_run(self, run: Run) -> None:
        self._runs[EndpointKey(run.tenant_id, run.endpoint_id)][run.id] = run
        self._feed(run)

    def _lease(self, endpoint: Endpoint, lease: Lease, now: datetime) -> Claim:
        claimed = claim(endpoint, lease, now)
        self._put(claimed.endpoint)
        self._put_run(open_run(claimed))
        return claimed

    def _recheck(self, held: Claim, decide: Decide) -> Recheck | None:
        if not self._holds(held):
            return None
        answer = decide(self._endpoints[held.key], held)
        if not isinstance(answer, Cancel):
            self._put_run(open_run(answer.claim))
        return answer

    def _holds(self, held: Claim) -> bool:
        endpoint = self._endpoints.get(held.key)
        lease = endpoint.lease if endpoint is not None else None
        return lease is not None and (lease.token, lease.run_id) == (held.token, held.run_id)

    def _speak_all(self, settled: Sequence[SettledRun | None]) -> None:
        """What runs leave beside themselves: turns, and alerts."""
        for turn in turns_in(settled):
            self._speak(turn)
        for raised in raised_in(settled):
            self._raise(raised)

    def _close(self, settled: SettledRun) -> None:
        self._put(settled.endpoint, settled.skipped)
        self._put_run(settled.run)
