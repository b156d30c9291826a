"""The prompt dispatcher: a schedule that fires is a turn of its user's conversation."""

from dataclasses import replace
from datetime import UTC, datetime

from cadenza.domain.checks import milliseconds
from cadenza.domain.conversation import (
    ConversationKey,
    Message,
    Origin,
    OriginKind,
    Role,
    Turn,
    scheduled_text,
)
from cadenza.domain.delivery import Subtitle
from cadenza.domain.errors import CadenzaError
from cadenza.domain.run import Claim, Outcome, RunStatus
from cadenza.domain.scheduling import spent_today, tomorrow
from cadenza.domain.target import Json, PromptTarget
from cadenza.engine.conversing import Conversing, ConversingStore, Cue
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
        not scheduled again, and its answer is kept once. When the last has failed, the
        user is told that much.
        """
        began = self._clock.now()
        try:
            outcome = await self._fired(claim, began)
        except CadenzaError as problem:
            outcome = Outcome(RunStatus.FAILURE, error=problem.message)
        if outcome.status is RunStatus.FAILURE and claim.attempt >= claim.endpoint.policy.max_attempts:
            turn = outcome.turn or Turn(
                id=claim.idempotency_key,
                conversation=_conversation(claim),
                began_at=began,
                ended_at=self._clock.now(),
            )
            outcome = outcome._replace(turn=_given_up(claim, turn))
        took = (self._clock.now() - began) // milliseconds(1)
        return outcome._replace(duration_ms=max(0, took))

    async def _fired(self, claim: Claim, now: datetime) -> Outcome:
        key = _conversation(claim)
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


def _target(claim: Claim) -> PromptTarget:
    target = claim.endpoint.target
    assert isinstance(target, PromptTarget), "nothing else speaks to an agent"
    return target


def _conversation(claim: Claim) -> ConversationKey:
    target = _target(claim)
    return ConversationKey(claim.endpoint.tenant_id, target.user_id, target.agent_id)


def _cue(claim: Claim, now: datetime) -> Cue:
    endpoint, target = claim.endpoint, _target(claim)
    is_late = now - claim.slot > milliseconds(endpoint.policy.misfire_grace_ms)
    return Cue(
        turn_id=claim.idempotency_key,
        text=scheduled_text(endpoint.name, target.prompt, claim.slot if is_late else None),
        words=target.prompt,
        origin=Origin(OriginKind.SCHEDULE, endpoint.id, endpoint.name, claim.slot),
        may_schedule=target.may_schedule,
    )


def _given_up(claim: Claim, turn: Turn) -> Turn:
    """The turn in which the user is told that there is no answer; why, is for the operator to read."""
    cue = _cue(claim, turn.began_at)
    tried = f": {claim.attempt} attempts failed" if claim.attempt > 1 else ""
    words = f"The scheduled task “{claim.endpoint.name}” could not be carried out{tried}."
    return replace(
        turn,
        messages=(
            Message(id=f"{turn.id}.0", role=Role.USER, text=cue.text, at=turn.began_at, origin=cue.origin),
            Message(id=f"{turn.id}.1", role=Role.AGENT, text=words, at=turn.ended_at, origin=cue.origin),
        ),
        owed=(Subtitle(words),),
        schedule_id=claim.endpoint.id,
        firing=f"{claim.idempotency_key}:failed",
    )
