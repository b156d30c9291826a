"""A schedule that fires: what it says in its conversation, and what its user is told if nobody answers."""

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


def target_of(claim: Claim) -> PromptTarget:
    """Who is told what when it fires."""
    target = claim.endpoint.target
    assert isinstance(target, PromptTarget), "nothing else speaks to an agent"
    return target


def conversation_of(claim: Claim) -> ConversationKey:
    """Where it is said."""
    target = target_of(claim)
    return ConversationKey(claim.endpoint.tenant_id, target.user_id, target.agent_id)


def said_by(claim: Claim, at: datetime) -> Message:
    """What the schedule says; one that is late also says when it was due."""
    endpoint = claim.endpoint
    is_late = at - claim.slot > milliseconds(endpoint.policy.misfire_grace_ms)
    return Message(
        id=f"{claim.idempotency_key}.0",
        role=Role.USER,
        text=scheduled_text(endpoint.name, target_of(claim).prompt, claim.slot if is_late else None),
        at=at,
        origin=Origin(OriginKind.SCHEDULE, endpoint.id, endpoint.name, claim.slot),
    )


def given_up(completion: Completion) -> Turn:
    """The turn in which the user is told that there is no answer; why, is for the operator to read.

    What the last attempt has spent is counted, and the right to speak that it may have left behind ends.
    """
    claim, outcome, finished_at = completion
    began = claim.started_at or claim.claimed_at
    words = f"The scheduled task “{claim.endpoint.name}” could not be carried out{_tried(completion)}"
    asked = said_by(claim, began)
    answer = replace(asked, id=f"{claim.idempotency_key}.1", role=Role.AGENT, text=words, at=finished_at)
    turn = outcome.turn or Turn(
        id=claim.idempotency_key,
        conversation=conversation_of(claim),
        began_at=began,
        ended_at=finished_at,
        token=claim.idempotency_key,
    )
    return replace(
        turn,
        messages=(asked, answer),
        owed=(Subtitle(words),),
        schedule_id=claim.endpoint.id,
        firing=f"{claim.idempotency_key}:failed",
    )


def _tried(completion: Completion) -> str:
    claim, outcome, _ = completion
    tried = f": {claim.attempt} attempts failed" if claim.attempt > 1 else ""
    stays_paused = outcome.status is RunStatus.ABANDONED and not isinstance(claim.endpoint.baseline, Once)
    return f"{tried}. It is paused until somebody resumes it." if stays_paused else f"{tried}."
