"""The prompt dispatcher: a schedule that fires is a turn of its user's conversation."""

from dataclasses import replace
from datetime import UTC, datetime

from cadenza.domain.agents.conversation import ConversationKey
from cadenza.domain.agents.firing import conversation_of, said_by, target_of
from cadenza.domain.agents.schedule_request import spent_today, tomorrow
from cadenza.domain.errors import CadenzaError
from cadenza.domain.scheduling.run import Claim, Outcome, RunStatus
from cadenza.domain.scheduling.target import Json
from cadenza.domain.validation import milliseconds
from cadenza.engine.agents.conversation import Conversing, ConversingStore, Cue
from cadenza.ports.clock import Clock


class Firing:
    """Lets the agent answer a schedule; what it says is committed with the run, or not at all."""

    def __init__(self, *, conversing: Conversing, store: ConversingStore, clock: Clock) -> None:
        self._conversing = conversing
        self._store = store
        self._clock = clock

    async def execute(self, claim: Claim) -> Outcome:
        """Take the conversation's turn, tell the agent, and leave the turn to the commit of the run.

        Every attempt at one slot is the same turn: what an earlier one scheduled is
        not scheduled again, and its answer is kept once.
        """
        began = self._clock.now()
        try:
            outcome = await self._fired(claim, began)
        except CadenzaError as problem:
            outcome = Outcome(RunStatus.FAILURE, error=problem.message)
        took = (self._clock.now() - began) // milliseconds(1)
        return outcome._replace(duration_ms=max(0, took))

    async def _fired(self, claim: Claim, now: datetime) -> Outcome:
        key = conversation_of(claim)
        refused = await self._refused(key, now)
        if refused is not None:
            return Outcome(RunStatus.SKIPPED, reason=refused, opens_at=tomorrow(now))
        async with self._conversing.answered(key, _cue(claim, now)) as (reply, turn):
            if reply.error is not None:
                return Outcome(RunStatus.FAILURE, error=reply.error, turn=turn)
            fired = replace(turn, firing=claim.idempotency_key, schedule_id=claim.endpoint.id)
            response: Json = {"messages": len(turn.owed), "tokens": turn.tokens}
            return Outcome(RunStatus.SUCCESS, response=response, turn=fired)

    async def _refused(self, key: ConversationKey, now: datetime) -> str | None:
        """Why the user's schedules say nothing more today."""
        limits = (await self._store.tenant(key.tenant_id)).limits
        spent = await self._store.spent_by_user(key.user, now.astimezone(UTC).date())
        return spent_today(spent.fires, spent.tokens, limits=limits)


def _cue(claim: Claim, now: datetime) -> Cue:
    said, target = said_by(claim, now), target_of(claim)
    return Cue(
        turn_id=claim.idempotency_key,
        text=said.text,
        words=target.prompt,
        origin=said.origin,
        may_schedule=target.may_schedule,
    )
