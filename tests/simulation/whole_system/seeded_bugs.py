"""Bugs that are put into the product on purpose: locks, fences, orders and retries that do not hold."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

from pytest import MonkeyPatch  # noqa: PT013 - the only name of it
from tests.simulation.whole_system.fault_plan import Fault
from tests.simulation.whole_system.seeded_bug import SeededBug

from cadenza.adapters.access import quota
from cadenza.adapters.stores.memory import tables
from cadenza.adapters.stores.memory.access import keys_tenants
from cadenza.adapters.stores.memory.agents import conversations
from cadenza.adapters.stores.memory.scheduling import endpoints
from cadenza.domain.agents.delivery import Delivery
from cadenza.domain.errors import Unavailable
from cadenza.domain.scheduling import abandon, due, hint, settle
from cadenza.domain.scheduling.endpoint import evolve
from cadenza.engine.agents import delivery_stream
from cadenza.engine.monitoring import alert_delivery
from cadenza.engine.worker import clock_check, held_claims, leases, start, sweeper
from cadenza.engine.worker import settle as settler
from cadenza.operations import idempotency


def _finalize_without_token(patch: MonkeyPatch) -> None:
    patch.setattr(endpoints.MemoryEndpoints, "_holds", lambda self, held: held.key in self._tables.endpoints)


def _sweep_without_fence(patch: MonkeyPatch) -> None:
    original = abandon.sweep_at
    patch.setattr(tables, "sweep_at", lambda one: one.next_run_at if one.lease else original(one))


def _claim_keeps_rows_due(patch: MonkeyPatch) -> None:
    original = due.claimable_at
    patch.setattr(tables, "claimable_at", lambda one: one.next_run_at if one.lease else original(one))


def _settle_rows_as_claimed(patch: MonkeyPatch) -> None:
    original = settler.SettleRule.__call__
    patch.setattr(
        settler.SettleRule,
        "__call__",
        lambda self, _, completion: original(self, completion.claim.endpoint, completion),
    )


def _delivered_before_acknowledged(patch: MonkeyPatch) -> None:
    original = delivery_stream.DeliveryStream._sending

    async def acknowledge(self: Any, seq: int) -> None:
        with suppress(Unavailable):
            await self._store.acknowledge(self.user, seq)

    def sending(self: Any, page: list[Delivery]) -> list[Delivery]:
        asyncio.ensure_future(acknowledge(self, page[-1].seq))  # noqa: RUF006 - it need not end
        return original(self, page)

    patch.setattr(delivery_stream.DeliveryStream, "_sending", sending)


def _alert_outside_the_commit(patch: MonkeyPatch) -> None:
    patch.setattr(endpoints, "alerts_of", lambda _: [])


def _pause_ignored_at_start(patch: MonkeyPatch) -> None:
    original = due.recheck

    def recheck(endpoint: Any, held: Any, now: Any) -> Any:
        open_gate = evolve(
            endpoint, paused_until=None, next_run_at=min(endpoint.next_run_at or now, held.due_at)
        )
        return original(open_gate, held, now)

    patch.setattr(start, "recheck", recheck)


def _renews_what_was_lost(patch: MonkeyPatch) -> None:
    async def renew(self: Any, claims: Any, lease_until: Any) -> set[str]:
        return {one.run_id for one in claims}

    patch.setattr(endpoints.MemoryEndpoints, "renew", renew)


def _reply_kept_after_the_action(patch: MonkeyPatch) -> None:
    async def keep_reply(
        self: Any, tenant_id: str, key: str, begun: Any, *, answer: Any, stale_before: Any
    ) -> Any:
        await answer()

    patch.setattr(keys_tenants.MemoryReplies, "keep_reply", keep_reply)


def _action_and_reply_are_two_commits(patch: MonkeyPatch) -> None:
    patch.setattr(idempotency.KeptReply, "keep", idempotency.KeptReply.reserve)


def _replies_forgotten_soon(patch: MonkeyPatch) -> None:
    original = keys_tenants.MemoryReplies._taken

    def taken(self: Any, place: Any, stale_before: Any) -> Any:
        reply = original(self, place, stale_before)
        oldest = stale_before + idempotency.STALE_AFTER - timedelta(seconds=2)
        return None if reply is None or reply.began_at < oldest else reply

    patch.setattr(keys_tenants.MemoryReplies, "_taken", taken)


def _retry_is_another_slot(patch: MonkeyPatch) -> None:
    original = settle._keep_slot_open

    def keep(endpoint: Any, held: Any, now: Any, again: Any = None) -> Any:
        kept = original(endpoint, held, now, again)
        return kept._replace(endpoint=evolve(kept.endpoint, open_slot=None))

    patch.setattr(settle, "_keep_slot_open", keep)


def _turn_apart_from_its_run(patch: MonkeyPatch) -> None:
    patch.setattr(endpoints, "turns_of", lambda _: [])


def _turn_committed_twice(patch: MonkeyPatch) -> None:
    original = conversations.write_turn

    def write_turn(tables: Any, turn: Any) -> Any:
        original(tables, replace(turn, firing=None))
        return original(tables, turn)

    patch.setattr(endpoints, "write_turn", write_turn)


def _sweeper_does_nothing(patch: MonkeyPatch) -> None:
    async def nothing(_: object) -> list[object]:
        return []

    patch.setattr(sweeper.Sweeper, "sweep", nothing)


def _abandoned_slot_is_over(patch: MonkeyPatch) -> None:
    original = settle._abandoned
    patch.setattr(settle, "_abandoned", lambda *given: original(*given)._replace(verdict=True))


def _lost_leases_run_on(patch: MonkeyPatch) -> None:
    patch.setattr(held_claims.HeldClaims, "_is_protected", lambda *_: True)
    patch.setattr(leases.LeaseRenewer, "_stop_expiring", lambda _: None)


def _clock_never_checked(patch: MonkeyPatch) -> None:
    async def look(_: object) -> bool:
        return True

    patch.setattr(clock_check.ClockCheck, "look", look)


def _leases_by_own_clock(patch: MonkeyPatch) -> None:
    patch.setattr(clock_check.ClockCheck, "lease_now", lambda self: self._clock.now())


def _alert_sent_once(patch: MonkeyPatch) -> None:
    patch.setattr(alert_delivery, "retry_delay_ms", lambda _: None)


def _runs_not_charged(patch: MonkeyPatch) -> None:
    patch.setattr(endpoints, "charge_runs", lambda *_: None)


def _quota_not_asked(patch: MonkeyPatch) -> None:
    patch.setattr(quota.QuotaCounter, "allows", lambda *_: True)


def _lower_rank_wins(patch: MonkeyPatch) -> None:
    patch.setattr(hint, "rank_of", lambda _: hint.Rank.PERSON)


BUGS = (
    SeededBug("finalize does not look at the token", _finalize_without_token),
    SeededBug("a sweep does not look at when a lease ends", _sweep_without_fence),
    SeededBug("a claim leaves its rows due", _claim_keeps_rows_due),
    SeededBug("a run is settled on the row as it was claimed", _settle_rows_as_claimed),
    SeededBug(
        "a message counts as delivered before it is acknowledged",
        _delivered_before_acknowledged,
        lambda one: one.has_agents,
        seed=67,
    ),
    SeededBug("the alert of a run is not in its commit", _alert_outside_the_commit),
    SeededBug(
        "a pause is ignored at the second look",
        _pause_ignored_at_start,
        lambda one: one.has_api and bool(one.worker_settings.claim_ahead_ms),
    ),
    SeededBug("a lease that was lost is renewed", _renews_what_was_lost),
    SeededBug("the reply to a request is not kept with what was done", _reply_kept_after_the_action),
    SeededBug(
        "what a request does and its reply are two commits",
        _action_and_reply_are_two_commits,
        lambda one: one.has_api and not one.has_agents,
        seed=99,
    ),
    SeededBug(
        "a reply is forgotten after two seconds",
        _replies_forgotten_soon,
        lambda one: one.has_api and not one.has_agents,
    ),
    SeededBug("a retry is another slot", _retry_is_another_slot, in_every_store=True),
    SeededBug("a turn is not committed with its run", _turn_apart_from_its_run),
    SeededBug("a turn is committed twice", _turn_committed_twice),
    SeededBug("nothing is swept", _sweeper_does_nothing, in_every_store=True),
    SeededBug("an abandoned slot is over", _abandoned_slot_is_over, in_every_store=True),
    SeededBug(
        "runs go on without their lease",
        _lost_leases_run_on,
        lambda one: Fault.FREEZE in one.faults or Fault.OUTAGE in one.faults,
        seed=44,
    ),
    SeededBug(
        "the clock is never checked",
        _clock_never_checked,
        lambda one: Fault.CLOCK_STEP in one.faults,
        seed=84,
    ),
    SeededBug(
        "leases are counted from a clock that was set back",
        _leases_by_own_clock,
        lambda one: Fault.CLOCK_STEP in one.faults and one.workers > 1,
        rare=True,
        seed=73,
    ),
    SeededBug("an alert is sent once, arrived or not", _alert_sent_once, seed=45),
    SeededBug("runs are not charged", _runs_not_charged),
    SeededBug("the quota is not asked", _quota_not_asked, lambda one: one.runs_per_month is not None),
    SeededBug("a lower rank replaces a hint of a higher one", _lower_rank_wins, lambda one: one.has_api),
)
