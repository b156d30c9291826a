"""Debug lines for every change of a stored next run, written once the change is committed."""

from collections.abc import Collection, Sequence
from contextvars import ContextVar
from datetime import datetime
from typing import Any, NamedTuple, cast

from cadenza.domain.agents.users import UserKey
from cadenza.domain.scheduling.abandon import OWN_ORIGIN
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.nudge import Nudge
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import Completion, ProcessDeath, Run
from cadenza.domain.scheduling.settle import SettledRun
from cadenza.domain.scheduling.steer import ChangedEndpoint, EndpointChange
from cadenza.domain.validation import iso
from cadenza.ports.agents import ChooseSchedule, ScheduleStore
from cadenza.ports.catalog import BulkChange, BulkScope, BulkState, Catalog, DecideBulkChange
from cadenza.ports.scheduling import EndpointStore, FunctionStore, Settle, SweepRules
from cadenza.ports.store import Store
from cadenza.ports.telemetry import Logger, endpoint_facts

ORIGIN: ContextVar[str] = ContextVar("origin", default=OWN_ORIGIN)
"""Who changes next runs in this task; the scheduler itself, unless it is told."""


def log_next_runs(store: Store, log: Logger) -> Store:
    """The store, with a line for every change of a next run if debug lines are wanted; else as it is."""
    if log.verbose:
        store.endpoints = cast("EndpointStore", _LoggedEndpoints(store.endpoints, log))
        store.catalog = cast("Catalog", _LoggedCatalog(store.catalog, log))
        store.functions = cast("FunctionStore", _LoggedFunctions(store.functions, log))
        store.schedules = cast("ScheduleStore", _LoggedSchedules(store.schedules, log))
    return store


class _Change(NamedTuple):
    before: Endpoint | None
    changed: ChangedEndpoint
    cause: str
    run_id: str | None = None


class _Changes:
    """The changes of one call of a store: of an endpoint that it decided about twice, the last counts."""

    def __init__(self, log: Logger) -> None:
        self._log = log
        self._changes: dict[EndpointKey, _Change] = {}

    def noting(self, change: EndpointChange, cause: str | None = None) -> EndpointChange:
        """The change, noted with its cause when it is made."""

        def noted(endpoint: Endpoint) -> ChangedEndpoint:
            changed = change(endpoint)
            self.note(_Change(endpoint, changed, cause or _cause(endpoint, changed)))
            return changed

        return noted

    def note(self, change: _Change) -> None:
        """Keep a change until it is committed."""
        self._changes[change.changed.endpoint.key] = change

    def note_settled(self, before: Endpoint, settled: SettledRun, cause: str) -> SettledRun:
        """Keep a settled run until it is committed."""
        self.note(_Change(before, ChangedEndpoint(settled.endpoint), cause, settled.run.id))
        return settled

    def drop(self, key: EndpointKey) -> None:
        """Forget a change that was not committed."""
        self._changes.pop(key, None)

    def write(self) -> None:
        """Log the changes, which are committed now."""
        for change in self._changes.values():
            _write(self._log, change)


def _cause(before: Endpoint, changed: ChangedEndpoint) -> str:
    after = changed.endpoint
    if changed.record is not None:
        return changed.record.kind.value
    if after.archived and not before.archived:
        return "archive"
    return "run-now" if after.next_source is Source.MANUAL and after != before else "amend"


def _write(log: Logger, change: _Change) -> None:
    before, changed, cause, run_id = change
    endpoint, record = changed.endpoint, changed.record
    origin = ORIGIN.get() if record is None else record.origin
    facts = {**endpoint_facts(endpoint, run_id), "cause": cause, "origin": origin}
    if record is not None:
        facts |= {"reason": record.reason, "not_applied": record.not_applied}
        if changed.nudge is not None:
            log.debug(_nudge_line(endpoint.id, changed.nudge, iso(record.written_at)), **facts)
    moved = before is None or (before.next_run_at, before.next_source) != (
        endpoint.next_run_at,
        endpoint.next_source,
    )
    if moved or record is not None or run_id is not None:
        was = {"before": before and _moment(before), "before_source": before and before.next_source.value}
        line = f"[governor] {endpoint.id}: next={_moment(endpoint)} source={endpoint.next_source}"
        log.debug(line, **facts, **was, next=_moment(endpoint), source=endpoint.next_source.value)


def _moment(endpoint: Endpoint) -> str:
    return iso(endpoint.next_run_at) if endpoint.next_run_at else "never"


def _nudge_line(endpoint_id: str, nudge: Nudge, now: str) -> str:
    word = "nudge" if nudge.applied else "nudge-skip"
    before = iso(nudge.before) if nudge.before else "never"
    return f"[{word}] {endpoint_id}: before={before} candidate={iso(nudge.candidate)} now={now}"


class _Logged:
    """A store whose other methods are those of the store behind it."""

    def __init__(self, inner: Any, log: Logger) -> None:
        self._inner = inner
        self._log = log

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class _LoggedEndpoints(_Logged):
    async def add(self, endpoint: Endpoint, *admission: Any) -> None:
        await self._inner.add(endpoint, *admission)
        _write(self._log, _Change(None, ChangedEndpoint(endpoint), "create"))

    async def amend(self, key: EndpointKey, change: EndpointChange) -> ChangedEndpoint:
        changes = _Changes(self._log)
        amended: ChangedEndpoint = await self._inner.amend(key, changes.noting(change))
        changes.write()
        return amended

    async def amend_ahead(
        self, moment: datetime, change: EndpointChange, **page: Any
    ) -> list[ChangedEndpoint]:
        changes = _Changes(self._log)
        amended: list[ChangedEndpoint] = await self._inner.amend_ahead(
            moment, changes.noting(change, "clock"), **page
        )
        changes.write()
        return amended

    async def finalize(self, completions: Sequence[Completion], settle: Settle) -> list[SettledRun | None]:
        changes = _Changes(self._log)

        def noted(endpoint: Endpoint, completion: Completion) -> SettledRun:
            return changes.note_settled(endpoint, settle(endpoint, completion), "settle")

        answers: list[SettledRun | None] = await self._inner.finalize(completions, noted)
        for completion, answer in zip(completions, answers, strict=True):
            if answer is None:
                changes.drop(completion.claim.key)
        changes.write()
        return answers

    async def sweep(self, *, rules: SweepRules, **limits: Any) -> list[SettledRun]:
        changes = _Changes(self._log)

        def abandon(endpoint: Endpoint, run: Run, death: ProcessDeath) -> SettledRun:
            return changes.note_settled(endpoint, rules.abandon(endpoint, run, death), "abandon")

        noted = SweepRules(abandon, changes.noting(rules.tidy, "expire"))
        abandoned: list[SettledRun] = await self._inner.sweep(rules=noted, **limits)
        changes.write()
        return abandoned


class _LoggedFunctions(_Logged):
    async def declare(
        self, names: Collection[str], *, now: datetime, bring_back: EndpointChange
    ) -> list[ChangedEndpoint]:
        changes = _Changes(self._log)
        back: list[ChangedEndpoint] = await self._inner.declare(
            names, now=now, bring_back=changes.noting(bring_back, "declare")
        )
        changes.write()
        return back

    async def retire(self, *, retire: EndpointChange, **limits: Any) -> list[ChangedEndpoint]:
        changes = _Changes(self._log)
        retired: list[ChangedEndpoint] = await self._inner.retire(
            retire=changes.noting(retire, "retire"), **limits
        )
        changes.write()
        return retired


class _LoggedCatalog(_Logged):
    async def amend_all(self, tenant_id: str, change: EndpointChange, **which: Any) -> list[ChangedEndpoint]:
        changes = _Changes(self._log)
        amended: list[ChangedEndpoint] = await self._inner.amend_all(
            tenant_id, changes.noting(change), **which
        )
        changes.write()
        return amended

    async def remove_job(self, tenant_id: str, job_id: str, archive: EndpointChange) -> int:
        changes = _Changes(self._log)
        count: int = await self._inner.remove_job(tenant_id, job_id, changes.noting(archive))
        changes.write()
        return count

    async def change_in_bulk(self, tenant_id: str, scope: BulkScope, decide: DecideBulkChange) -> BulkChange:
        changes = _Changes(self._log)

        def noted(state: BulkState) -> BulkChange:
            decided = decide(state)
            for one in decided.endpoints:
                before = state.endpoints.get(one.endpoint.id)
                cause = "create" if before is None else _cause(before, one)
                changes.note(_Change(before, one, cause))
            return decided

        written: BulkChange = await self._inner.change_in_bulk(tenant_id, scope, noted)
        changes.write()
        return written


class _LoggedSchedules(_Logged):
    async def add_schedule(self, user: UserKey, decide: ChooseSchedule) -> Endpoint:
        changes = _Changes(self._log)

        def noted(active: Sequence[Endpoint]) -> Endpoint:
            chosen = decide(active)
            if chosen not in active:
                changes.note(_Change(None, ChangedEndpoint(chosen), "create"))
            return chosen

        schedule: Endpoint = await self._inner.add_schedule(user, noted)
        changes.write()
        return schedule
