"""Looks at every commit about endpoints: leases, gates, and what steering left."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from tests.simulation.whole_system.connections import StoreCall
from tests.simulation.whole_system.databases import complete
from tests.simulation.whole_system.plan_checks import plan_violation, schedule_violation
from tests.simulation.whole_system.requested_run_checks import RequestedRuns
from tests.simulation.whole_system.simulated_world import SimulatedWorld

from cadenza.domain.agents.schedule_firing import FAILED
from cadenza.domain.monitoring.alert import about_endpoint
from cadenza.domain.scheduling.abandon import given_up
from cadenza.domain.scheduling.calendars.rules import NO_RULES
from cadenza.domain.scheduling.due import Start, closed_gate
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey, evolve
from cadenza.domain.scheduling.hint import INTERVAL, ONE_SHOT, rank_of
from cadenza.domain.scheduling.run import Claim, Run, RunStatus
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.operations.scheduling.acting_on_runs.open_runs import waiting_id

ReadEndpoint = Callable[[EndpointKey], Endpoint | None]
AMENDING = ("endpoints.amend", "endpoints.amend_with_open_run")
ALERT_FAILURES = 3
"""How many failures in a row raise an alert."""
KEPT = (
    "name",
    "target",
    "baseline",
    "guard",
    "policy",
    "labels",
    "enabled",
    "archived",
    "job_active",
    "hint_mode",
)
"""What no run changes."""


class LeaseChecks:
    """Knows who may hold which lease, by what was committed, and finds commits that do not respect it."""

    def __init__(self, world: SimulatedWorld, read: ReadEndpoint) -> None:
        self._world = world
        self._read = read
        self.leases: dict[EndpointKey, str] = {}
        """The run that holds the lease of each endpoint."""
        self._until: dict[EndpointKey, datetime] = {}
        self._tokens: dict[EndpointKey, str] = {}
        self._shared_until: dict[str, datetime] = {}
        """The end of each lease, by its token, as it was written last; also for a run that is settled."""
        self.closed: dict[str, Run] = {}
        """Each run as it was closed."""
        self.set_back_before: dict[str, int] = {}
        """How often a clock had been set back when each run was claimed."""
        self.alerts: dict[str, str] = {}
        """The alerts that must have been raised, by key, with the endpoint that each is about."""
        self.requests = RequestedRuns()
        self._watched = {
            "endpoints.claim_due": self._claim,
            "endpoints.start": self._start,
            "endpoints.renew": self._renew,
            "endpoints.finalize": self._finalize,
            "endpoints.sweep": self._sweep,
        }

    def execute(self, call: StoreCall) -> Any:
        """Execute a call, and look at what it did."""
        watch = self._watched.get(call.name)
        return complete(self.execute_within(call)) if watch is None else watch(call)

    async def execute_within(self, call: StoreCall) -> Any:
        """Execute a call that is part of a commit; steering is looked at."""
        if call.name not in AMENDING:
            return await call.method(*call.arguments, **call.named)
        before = self._read(call.arguments[0])
        changed: ChangedEndpoint = await call.method(*call.arguments, **call.named)
        if before is not None:
            self._check_ranks(call, before, changed.endpoint)
            self.requests.note_change(before, changed.endpoint)
        if changed.closed is not None:
            self._close_unbegun(call, changed.closed, before)
        return changed

    def waiting(self) -> list[str]:
        """The ids of requested runs that wait, as people see them in the list of open runs."""
        return [waiting_id(key.id, slot) for key, slot in self.requests.waiting]

    def _close_unbegun(self, call: StoreCall, run: Run, before: Endpoint | None) -> None:
        """A run that had not begun may be closed by whoever cancels it; its lease is over then."""
        key = EndpointKey(run.tenant_id, run.endpoint_id)
        if self.leases.get(key) != run.id:
            self._wrong(call, key, f"has run {run.id} cancelled, which has no lease")
        if run.started_at is not None:
            self._wrong(call, key, f"has run {run.id} cancelled over the head of its worker")
        self._close(call, run, before)

    def holds(self, claim: Claim) -> bool:
        """Whether a claim's lease is its own."""
        return self.leases.get(claim.key) == claim.run_id

    def _claim(self, call: StoreCall) -> Any:
        claims: list[Claim] = call.run()
        now = call.named["now"]
        for claim in claims:
            if claim.key in self.leases:
                self._wrong(call, claim.key, f"is claimed while run {self.leases[claim.key]} has its lease")
            self.leases[claim.key] = claim.run_id
            self._tokens[claim.key] = claim.token
            self._until[claim.key] = self._shared_until[claim.token] = claim.lease_until
            self.set_back_before[claim.run_id] = self._world.times_set_back
            row = self._read(claim.key)
            if claim.started_at is not None and row is not None:
                self._check_gate(call, row, now)
        return claims

    def _start(self, call: StoreCall) -> Any:
        answers = call.run()
        for answer in answers:
            if isinstance(answer, Start):
                row, at = self._read(answer.claim.key), answer.claim.started_at
                if not self.holds(answer.claim):
                    self._wrong(call, answer.claim.key, "is started without its lease")
                if row is not None and at is not None:
                    self._check_gate(call, row, at)
        return answers

    def _check_gate(self, call: StoreCall, row: Endpoint, now: datetime) -> None:
        """Every gate but calendars, by which a claim is skipped when it is about to be dispatched."""
        if (gate := closed_gate(evolve(row, calendar_rules=NO_RULES), now)) is not None:
            self._wrong(call, row.key, f"is started although it is {gate}")

    def _renew(self, call: StoreCall) -> Any:
        renewed: set[str] = call.run()
        claims, until = call.arguments
        for claim in claims:
            self._shared_until[claim.token] = until
            if claim.run_id in renewed:
                if not self.holds(claim):
                    self._wrong(call, claim.key, "has a lease renewed that was lost")
                self._until[claim.key] = until
        return renewed

    def _finalize(self, call: StoreCall) -> Any:
        completions = call.arguments[0]
        before = [self._read(completion.claim.key) for completion in completions]
        answers = call.run()
        for completion, answer, row in zip(completions, answers, before, strict=True):
            claim, held = completion.claim, self.holds(completion.claim)
            if (answer is not None) != held:
                words = (
                    "is settled without its lease" if answer is not None else "keeps a lease that is settled"
                )
                self._wrong(call, claim.key, f"{words}: run {claim.run_id}")
            if answer is None:
                continue
            self._close(call, answer.run, row)
            self._check_steering(call, row, claim.slot)
            now = self._world.clocks[call.process].now()
            if wrong_plan := plan_violation(answer.endpoint, answer.run, now):
                self._wrong(call, claim.key, wrong_plan)
            if row is not None and (moved := schedule_violation(row, answer.endpoint, answer.run, now)):
                self._wrong(call, claim.key, moved)
        return answers

    def _sweep(self, call: StoreCall) -> Any:
        before = {key: self._read(key) for key in list(self.leases)}
        now, settled = call.named["now"](), call.run()
        for one in settled:
            key, run = EndpointKey(one.run.tenant_id, one.run.endpoint_id), one.run
            if self.leases.get(key) != run.id:
                self._wrong(call, key, f"has run {run.id} swept, which has no lease")
            elif self._protected_until(key) > now:
                self._wrong(call, key, f"has run {run.id} swept, whose lease protects")
            self._close(call, run, before.get(key))
        return settled

    def _protected_until(self, key: EndpointKey) -> datetime:
        """The end of a lease, which what was claimed together may share."""
        return min(self._until[key], self._shared_until[self._tokens[key]])

    def _close(self, call: StoreCall, run: Run, before: Endpoint | None) -> None:
        key = EndpointKey(run.tenant_id, run.endpoint_id)
        if run.id in self.closed:
            self._wrong(call, key, f"has run {run.id} closed twice")
        self.closed[run.id] = run
        self.leases.pop(key, None)
        after = self._read(key)
        if before is not None and after is not None:
            self.requests.note_change(before, after)
            self._note_alert(run, before.failure_count, after)

    def _note_alert(self, run: Run, failures: int, after: Endpoint) -> None:
        """Which alert the end of a run must have raised."""
        prefix = f"{about_endpoint(run.tenant_id, run.endpoint_id)}{run.id}"
        if given_up(after):
            self.alerts[f"{prefix}:paused"] = after.id
        elif run.status in FAILED and failures + 1 == ALERT_FAILURES:
            self.alerts[f"{prefix}:begun"] = after.id
        elif run.status is RunStatus.SUCCESS and failures >= ALERT_FAILURES:
            self.alerts[f"{prefix}:over"] = after.id

    def _check_steering(self, call: StoreCall, before: Endpoint | None, slot: datetime) -> None:
        """What was steered while a run went on is there after it is settled."""
        after = None if before is None else self._read(before.key)
        if before is None or after is None:
            return
        changed = [name for name in KEPT if getattr(before, name) != getattr(after, name)]
        interval, one_shot = before.interval_hint, before.one_shot_hint
        now = self._world.clocks[call.process].now()
        if interval is not None and interval.fresh(now) and after.interval_hint != interval:
            changed.append("interval_hint")
        ahead = one_shot is not None and one_shot.fresh(now) and one_shot.at > max(now, slot)
        if ahead and after.one_shot_hint != one_shot:
            changed.append("one_shot_hint")
        if before.paused(now) and (after.paused_until is None or after.paused_until < before.paused_until):  # type: ignore[operator]
            changed.append("paused_until")
        if changed:
            self._wrong(call, before.key, f"loses {', '.join(changed)} when its run is settled")

    def _check_ranks(self, call: StoreCall, before: Endpoint, after: Endpoint) -> None:
        """No hint takes the place of one of a higher rank that is in force."""
        now = self._world.clocks[call.process].now()
        for what, origin, _ in before.in_force(now):
            name = {INTERVAL: "interval_hint", ONE_SHOT: "one_shot_hint"}.get(what)
            old, new = (getattr(before, name), getattr(after, name)) if name else (None, None)
            if new is not None and new != old and rank_of(new.origin) < rank_of(origin):
                self._wrong(call, before.key, f"has a hint of {origin} replaced by {new.origin}")

    def _wrong(self, call: StoreCall, key: EndpointKey, words: str) -> None:
        self._world.violation(f"{call.process.name} {call.name}: {key.id} {words}")
