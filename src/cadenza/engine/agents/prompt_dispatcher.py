"""The prompt dispatcher: each firing of a schedule is a turn of its user's conversation."""

from dataclasses import replace
from datetime import UTC, datetime

from cadenza.domain.access.tenant import Limits
from cadenza.domain.agents.conversation import ConversationKey, Turn
from cadenza.domain.agents.schedule_firing import conversation_of, prompt_target_of, scheduled_message
from cadenza.domain.agents.schedule_request import daily_limit_reached, tomorrow
from cadenza.domain.agents.wake_value import Spending
from cadenza.domain.errors import CadenzaError
from cadenza.domain.job_failure import ErrorClass
from cadenza.domain.json_values import Json
from cadenza.domain.scheduling.run import Claim, Outcome, RunStatus
from cadenza.domain.validation import milliseconds
from cadenza.engine.agents.conversation import Conversations, TurnInput
from cadenza.engine.agents.own_schedule_tools import OwnScheduleTools
from cadenza.engine.agents.probing import Probing, Sight
from cadenza.ports.agents import AgentUsage
from cadenza.ports.clock import Clock, CronCalculator
from cadenza.ports.store import Store


class PromptDispatcher:
    """Has the agent answer a schedule's prompt; the turn is committed with the run, or not at all."""

    def __init__(
        self,
        *,
        conversations: Conversations,
        probing: Probing,
        store: Store,
        clock: Clock,
        cron: CronCalculator,
    ) -> None:
        self._conversations = conversations
        self._probing = probing
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
            outcome = await self._fire(claim, began)
        except CadenzaError as problem:
            outcome = Outcome(RunStatus.FAILURE, error=problem.message)
        took = (self._clock.now() - began) // milliseconds(1)
        return outcome._replace(duration_ms=max(0, took))

    async def _fire(self, claim: Claim, now: datetime) -> Outcome:
        """The turn; with a probe, only if what it answers is new."""
        key, probe = conversation_of(claim), prompt_target_of(claim).probe
        limits, spent = await self._limits_and_usage(key, now)
        limit = daily_limit_reached(spent.fires, spent.tokens, limits=limits)
        if limit is not None:
            return Outcome(RunStatus.SKIPPED, reason=limit, opens_at=tomorrow(now))
        if probe is None:
            return await self._run_turn(key, claim, _turn_input(claim, now))
        spending = Spending(limits.schedule_tokens_per_day, spent.tokens, now)
        sight = await self._probing.look(claim, probe, spending)
        return sight if isinstance(sight, Outcome) else await self._tell(key, claim, now, sight)

    async def _tell(self, key: ConversationKey, claim: Claim, now: datetime, sight: Sight) -> Outcome:
        """The turn that is told what its probe saw; that is kept with the run if the agent answered."""
        try:
            outcome = await self._run_turn(key, claim, _turn_input(claim, now)._replace(quote=sight.quote))
        except CadenzaError as problem:
            return Outcome(RunStatus.FAILURE, error=problem.message, response=sight.response)
        own, turn = outcome.response if isinstance(outcome.response, dict) else {}, outcome.turn
        outcome = outcome._replace(response={**own, **sight.response})
        if outcome.status is not RunStatus.SUCCESS or turn is None:
            return outcome
        return outcome._replace(seen=sight.note_after(messages=len(turn.to_deliver), tokens=turn.tokens))

    async def _run_turn(self, key: ConversationKey, claim: Claim, turn_input: TurnInput) -> Outcome:
        own = OwnScheduleTools(claim, store=self._store.endpoints, clock=self._clock, cron=self._cron)
        with_tools = turn_input._replace(own_schedule=own)
        async with self._conversations.run_turn(key, with_tools) as (reply, turn, record):
            if reply.error is not None:
                return Outcome(RunStatus.FAILURE, error=reply.error, turn=turn, error_class=ErrorClass.LLM)
            fired = _fired_turn(turn, claim, own)
            return Outcome(RunStatus.SUCCESS, response=_response(fired, own, record), turn=fired)

    async def _limits_and_usage(self, key: ConversationKey, now: datetime) -> tuple[Limits, AgentUsage]:
        """What the user's schedules may do in a day, and have done today."""
        limits = (await self._store.tenants.tenant(key.tenant_id)).limits
        return limits, await self._store.users.usage_of_user(key.user, now.astimezone(UTC).date())


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
