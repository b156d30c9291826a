"""The firing of a schedule: its message to the agent, and the turn that tells its user of a failure."""

from dataclasses import replace
from datetime import datetime

from cadenza.domain.agents.conversation import (
    ConversationKey,
    Message,
    Origin,
    OriginKind,
    Role,
    Turn,
    scheduled_text,
)
from cadenza.domain.agents.delivery import Subtitle
from cadenza.domain.scheduling.baseline import Once
from cadenza.domain.scheduling.run import Claim, Completion, RunStatus
from cadenza.domain.scheduling.target import PromptTarget
from cadenza.domain.validation import milliseconds


def prompt_target_of(claim: Claim) -> PromptTarget:
    """The target of a schedule's claim."""
    target = claim.endpoint.target
    assert isinstance(target, PromptTarget), "only schedules have a conversation"
    return target


def conversation_of(claim: Claim) -> ConversationKey:
    """The conversation of a schedule's claim."""
    target = prompt_target_of(claim)
    return ConversationKey(claim.endpoint.tenant_id, target.user_id, target.agent_id)


def scheduled_message(claim: Claim, at: datetime) -> Message:
    """The schedule's message to the agent; a late one also says when it was due."""
    endpoint = claim.endpoint
    is_late = at - claim.slot > milliseconds(endpoint.policy.misfire_grace_ms)
    return Message(
        id=f"{claim.idempotency_key}.0",
        role=Role.USER,
        text=scheduled_text(endpoint.name, prompt_target_of(claim).prompt, claim.slot if is_late else None),
        at=at,
        origin=Origin(OriginKind.SCHEDULE, endpoint.id, endpoint.name, claim.slot),
    )


FAILED = (RunStatus.FAILURE, RunStatus.TIMEOUT, RunStatus.ABANDONED)


def turn_of(completion: Completion, *, verdict: bool) -> Turn | None:
    """The turn of a run in a conversation: its own, or the notice that a schedule failed for good."""
    failed = verdict and completion.outcome.status in FAILED
    if failed and isinstance(completion.claim.endpoint.target, PromptTarget):
        return failure_turn(completion)
    return completion.outcome.turn


def failure_turn(completion: Completion) -> Turn:
    """The turn that tells the user of a failed firing; its reason is for the operator alone.

    It counts the tokens of the last attempt, and releases a turn lock that the attempt may still hold.
    """
    claim, outcome, finished_at = completion
    began = claim.started_at or claim.claimed_at
    text = f"The scheduled task “{claim.endpoint.name}” could not be carried out{_attempts(completion)}"
    prompt = scheduled_message(claim, began)
    answer = replace(prompt, id=f"{claim.idempotency_key}.1", role=Role.AGENT, text=text, at=finished_at)
    turn = outcome.turn or Turn(
        id=claim.idempotency_key,
        conversation=conversation_of(claim),
        began_at=began,
        ended_at=finished_at,
        token=claim.idempotency_key,
    )
    return replace(
        turn,
        messages=(prompt, answer),
        to_deliver=(Subtitle(text),),
        schedule_id=claim.endpoint.id,
        firing=f"{claim.idempotency_key}:failed",
    )


def _attempts(completion: Completion) -> str:
    claim, outcome, _ = completion
    attempts = f": {claim.attempt} attempts failed" if claim.attempt > 1 else ""
    stays_paused = outcome.status is RunStatus.ABANDONED and not isinstance(claim.endpoint.baseline, Once)
    return f"{attempts}. It is paused: resume it, or delete it." if stays_paused else f"{attempts}."
