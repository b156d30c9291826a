"""The prompt dispatcher: each firing of a schedule is a turn of its user's conversation."""

from dataclasses import replace
from datetime import UTC, datetime

from cadenza.domain.agents.conversation import ConversationKey, Turn
from cadenza.domain.agents.schedule_firing import conversation_of, prompt_target_of, scheduled_message
from cadenza.domain.agents.schedule_request import daily_limit_reached, tomorrow
from cadenza.domain.errors import CadenzaError
from cadenza.domain.job_failure import ErrorClass
from cadenza.domain.json_values import Json
from cadenza.domain.scheduling.run import Claim, Outcome, RunStatus
from cadenza.domain.validation import milliseconds
from cadenza.engine.agents.conversation import Conversations, TurnInput
from cadenza.engine.agents.own_schedule_tools import OwnScheduleTools
from cadenza.ports.clock import Clock, CronCalculator
from cadenza.ports.store import Store


class PromptDispatcher:
    """Has the agent answer a schedule's prompt; the turn is committed with the run, or not at all."""

    def __init__(
        self, *, conversations: Conversations, store: Store, clock: Clock, cron: CronCalculator
    ) -> None:
        self._conversations = conversations
        self._store = store
        self._clock = clock
        self._cron = cron

    async def execute(self, claim: Claim) -> Outcome:
        """Run the turn; its commit is left to the run, which the outcome carries it to.

        Every attempt at one slot is the same turn: a retry does not create its schedules
        again, and its answer is stored once.
        """
        began = self._clock.now()
        try:
            outcome = await self._run_turn(claim, began)
        except CadenzaError as problem:
            outcome = Outcome(RunStatus.FAILURE, error=problem.message)
        took = (self._clock.now() - began) // milliseconds(1)
        return outcome._replace(duration_ms=max(0, took))

    async def _run_turn(self, claim: Claim, now: datetime) -> Outcome:
        key = conversation_of(claim)
        limit = await self._reached_limit(key, now)
        if limit is not None:
            return Outcome(RunStatus.SKIPPED, reason=limit, opens_at=tomorrow(now))
        own = OwnScheduleTools(claim, store=self._store.endpoints, clock=self._clock, cron=self._cron)
        turn_input = _turn_input(claim, now)._replace(own_schedule=own)
        async with self._conversations.run_turn(key, turn_input) as (reply, turn, record):
            if reply.error is not None:
                return Outcome(RunStatus.FAILURE, error=reply.error, turn=turn, error_class=ErrorClass.LLM)
            fired = _fired_turn(turn, claim, own)
            return Outcome(RunStatus.SUCCESS, response=_response(fired, own, record), turn=fired)

    async def _reached_limit(self, key: ConversationKey, now: datetime) -> str | None:
        """The daily limit that the user's schedules have reached, as a sentence; None if there is none."""
        limits = (await self._store.tenants.tenant(key.tenant_id)).limits
        spent = await self._store.users.usage_of_user(key.user, now.astimezone(UTC).date())
        return daily_limit_reached(spent.fires, spent.tokens, limits=limits)


def _fired_turn(turn: Turn, claim: Claim, own: OwnScheduleTools) -> Turn:
    """The turn of a firing; one with nothing to report leaves no messages, which would fill the context."""
    if own.is_silent:
        turn = replace(turn, messages=(), to_deliver=())
    firing, schedule_id = claim.idempotency_key, claim.endpoint.id
    return replace(turn, firing=firing, schedule_id=schedule_id, pacing=own.pacing)


def _response(turn: Turn, own: OwnScheduleTools, record: Json) -> Json:
    """What the run keeps of its turn; one with nothing to report leaves its calls here alone."""
    response: dict[str, Json] = {"messages": len(turn.to_deliver), "tokens": turn.tokens}
    if not own.is_silent:
        return response
    calls = record.get("calls") if isinstance(record, dict) else None
    return response | {"nothing_to_report": True, "reason": own.silent_reason, "calls": calls}


def _turn_input(claim: Claim, now: datetime) -> TurnInput:
    said, target = scheduled_message(claim, now), prompt_target_of(claim)
    return TurnInput(
        turn_id=claim.idempotency_key,
        text=said.text,
        words=target.prompt,
        origin=said.origin,
        may_schedule=target.may_schedule,
    )
