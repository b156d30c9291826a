"""Endpoints, their claims and their runs."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice

from cadenza.adapters.stores.common import (
    alerts_of,
    already_exists,
    is_ahead,
    notes_of_probes,
    turns_of,
)
from cadenza.adapters.stores.memory.access.keys_tenants import charge_runs
from cadenza.adapters.stores.memory.access.limits import take_within_limits
from cadenza.adapters.stores.memory.agents.conversations import write_turn
from cadenza.adapters.stores.memory.monitoring.slo_alerts import write_alert
from cadenza.adapters.stores.memory.tables import MemoryTables
from cadenza.adapters.stores.wakeup import EventWakeup
from cadenza.domain.access.places import NO_BOUNDS, ClaimShares
from cadenza.domain.access.tenant import too_many
from cadenza.domain.agents.probe import NOTES_OWNER
from cadenza.domain.scheduling.abandon import is_suspect
from cadenza.domain.scheduling.due import Cancel, Recheck, claim
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey, Lease, evolve
from cadenza.domain.scheduling.run import UNKNOWN_DEATH, Claim, Completion, ProcessDeath, open_run
from cadenza.domain.scheduling.settle import SettledRun
from cadenza.domain.scheduling.steer import ChangedEndpoint, EndpointChange
from cadenza.ports.catalog import ANY, Admission
from cadenza.ports.scheduling import (
    Now,
    OpenRunChange,
    RecheckClaim,
    Settle,
    SweepRules,
)


class MemoryEndpoints:
    """Endpoints, their claims and the commits that open and close their runs."""

    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables
        self._lock = tables.lock

    async def add(self, endpoint: Endpoint, admission: Admission = ANY) -> None:
        with self._lock:
            self._admit(endpoint, admission)
            self._tables.add_endpoint(endpoint)

    async def get(self, key: EndpointKey) -> Endpoint:
        with self._lock:
            return self._tables.endpoint(key)

    async def amend(self, key: EndpointKey, change: EndpointChange) -> ChangedEndpoint:
        with self._lock:
            return self._tables.amend_endpoint(change(self._tables.endpoint(key)))

    async def amend_with_open_run(self, key: EndpointKey, change: OpenRunChange) -> ChangedEndpoint:
        with self._lock:
            endpoint = self._tables.endpoint(key)
            lease = endpoint.lease
            open_run = None if lease is None else self._tables.runs[key][lease.run_id]
            return self._tables.amend_endpoint(change(endpoint, open_run))

    async def to_cancel(self, claims: Sequence[Claim]) -> set[str]:
        with self._lock:
            held = [one for one in claims if self._holds(one)]
            return {one.run_id for one in held if self._tables.endpoints[one.key].cancel_request is not None}

    async def amend_ahead(
        self, moment: datetime, change: EndpointChange, *, after: EndpointKey | None, limit: int
    ) -> list[ChangedEndpoint]:
        with self._lock:
            keys = sorted(
                one.key
                for one in self._tables.endpoints.values()
                if (after is None or one.key > after) and is_ahead(one, moment)
            )
            return [self._tables.amend_endpoint(change(self._tables.endpoint(key))) for key in keys[:limit]]

    async def claim_due(
        self,
        *,
        now: datetime,
        within: timedelta,
        lease_until: datetime,
        limit: int,
        bounds: Mapping[str, int] = NO_BOUNDS,
        can_run: Collection[str] | None = None,
        holder: str | None = None,
    ) -> list[Claim]:
        with self._lock:
            within_limits = take_within_limits(self._tables, now, can_run, ClaimShares(limit, bounds))
            others = ClaimShares(limit - len(within_limits), bounds)
            plain = dict.fromkeys(self._tables.due.take_until(now + within, can_run, others))
            token = self._tables.ids.new()
            chosen = within_limits | plain
            if chosen:
                self._tables.holders[token] = holder or token
            claims = [
                self._lease(
                    self._tables.endpoints[key], Lease(token, self._tables.ids.new(), lease_until), now
                )
                for key in chosen
            ]
            if not within_limits:
                return claims
            return [one._replace(held_back_by=chosen[one.key]) for one in claims]

    async def start(self, claims: Sequence[Claim], decide: RecheckClaim) -> list[Recheck | None]:
        with self._lock:
            return [self._recheck(held, decide) for held in claims]

    async def renew(self, claims: Sequence[Claim], lease_until: datetime) -> set[str]:
        with self._lock:
            held = [held for held in claims if self._holds(held)]
            for one in held:
                self._tables.deaths.pop(one.token, None)
                endpoint = self._tables.endpoints[one.key]
                self._tables.put_endpoint(evolve(endpoint, lease=Lease(one.token, one.run_id, lease_until)))
            return {one.run_id for one in held}

    async def finalize(self, completions: Sequence[Completion], settle: Settle) -> list[SettledRun | None]:
        with self._lock:
            settled = [
                settle(self._tables.endpoints[completion.claim.key], completion)
                if self._holds(completion.claim)
                else None
                for completion in completions
            ]
            for one in settled:
                if one is not None:
                    self._close(one)
            self._write_effects(settled)
            return settled

    async def sweep(self, *, now: Now, limit: int, rules: SweepRules) -> list[SettledRun]:
        abandoned = []
        with self._lock:
            keys = [
                entry[2]
                for _, entry in zip(range(limit), self._tables.sweeps.take_until(now()), strict=False)
            ]
            if any(self._tables.endpoints[key].lease for key in keys):
                _note_deaths(self._tables, keys)
            for key in keys:
                endpoint = self._tables.endpoints[key]
                if endpoint.lease is not None:
                    death = self._tables.deaths.get(endpoint.lease.token, UNKNOWN_DEATH)
                    settled = rules.abandon(endpoint, self._tables.runs[key][endpoint.lease.run_id], death)
                    self._close(settled)
                    abandoned.append(settled)
                else:
                    tidied = rules.tidy(endpoint)
                    self._tables.put_endpoint(tidied.endpoint, tidied.skipped)
            self._write_effects(abandoned)
            if abandoned:
                self._tables.wakeups.notify(one.run.tenant_id for one in abandoned)
        return abandoned

    async def next_due(
        self, can_run: Collection[str] | None = None, *, without: Collection[str] = ()
    ) -> datetime | None:
        with self._lock:
            return self._tables.due.first(can_run, without)

    async def database_time(self) -> None:
        return None

    def listen(self) -> EventWakeup:
        return self._tables.wakeups.listen()

    def _admit(self, endpoint: Endpoint, admission: Admission) -> None:
        """Refuse a new endpoint that may not be added."""
        if admission.known_job:
            self._tables.job(endpoint.tenant_id, endpoint.job_id)
        if endpoint.key in self._tables.endpoints:
            raise already_exists("endpoint", endpoint.id)
        if admission.most is None or not endpoint.live:
            return
        others = (one for one in self._tables.endpoints.values() if one.tenant_id == endpoint.tenant_id)
        live = islice((one for one in others if one.live), admission.most)
        if len(list(live)) >= admission.most:
            raise too_many(admission.most)

    def _lease(self, endpoint: Endpoint, lease: Lease, now: datetime) -> Claim:
        claimed = claim(endpoint, lease, now)
        self._tables.put_endpoint(claimed.endpoint)
        self._tables.put_run(open_run(claimed))
        return claimed

    def _recheck(self, held: Claim, decide: RecheckClaim) -> Recheck | None:
        if not self._holds(held):
            return None
        answer = decide(self._tables.endpoints[held.key], held)
        if not isinstance(answer, Cancel):
            self._tables.put_run(open_run(answer.claim))
        return answer

    def _holds(self, held: Claim) -> bool:
        endpoint = self._tables.endpoints.get(held.key)
        lease = endpoint.lease if endpoint is not None else None
        return lease is not None and (lease.token, lease.run_id) == (held.token, held.run_id)

    def _write_effects(self, settled: Sequence[SettledRun | None]) -> None:
        """Charge the runs to their tenants, and write what they left: turns, alerts, answers of probes."""
        charge_runs(self._tables, (one for one in settled if one is not None))
        for turn in turns_of(settled):
            write_turn(self._tables, turn)
        for raised in alerts_of(settled):
            write_alert(self._tables, raised)
        for one in settled:
            if one is not None and one.paced:
                self._tables.hints[one.endpoint.key].extend(one.paced)
        for key, note, taken_at in notes_of_probes(settled):
            self._tables.notes[NOTES_OWNER, key] = (json.dumps(note), taken_at)

    def _close(self, settled: SettledRun) -> None:
        self._tables.put_endpoint(settled.endpoint, settled.skipped)
        self._tables.put_run(settled.run)


def _note_deaths(tables: MemoryTables, keys: Iterable[EndpointKey]) -> None:
    """Note what the holders of these endpoints' leases have in flight, once for all their leases."""
    leased = [one for one in tables.endpoints.values() if one.lease is not None]
    tokens = {one.lease.token for one in leased if one.lease}
    tables.holders = {token: holder for token, holder in tables.holders.items() if token in tokens}
    tables.deaths = {token: death for token, death in tables.deaths.items() if token in tokens}
    in_flight: dict[str | None, list[Endpoint]] = defaultdict(list)
    for one in leased:
        if one.lease and tables.runs[one.key][one.lease.run_id].started_at is not None:
            in_flight[tables.holders.get(one.lease.token)].append(one)
    dying = {tables.holders.get(one.lease.token) for one in map(tables.endpoint, keys) if one.lease}
    for token, holder in tables.holders.items():
        if holder in dying and in_flight[holder]:
            death = ProcessDeath(len(in_flight[holder]), sum(map(is_suspect, in_flight[holder])))
            tables.deaths.setdefault(token, death)
