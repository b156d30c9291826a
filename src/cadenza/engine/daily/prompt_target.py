"""Daily runs of a prompt: an agent answers it, and its answer is delivered to the user."""

from dataclasses import replace
from datetime import date

from cadenza.domain.agents.conversation import ConversationKey, Origin, OriginKind, scheduled_text
from cadenza.domain.daily.keys import DAILY
from cadenza.domain.daily.user import DONE, DailyRunResult
from cadenza.domain.errors import CadenzaError
from cadenza.domain.job_failure import ErrorClass
from cadenza.engine.agents.conversation import Conversations, TurnInput
from cadenza.ports.agents import ConversationStore


class PromptTargetRunner:
    """Has one agent answer one prompt in each user's conversation, once a day."""

    def __init__(
        self,
        *,
        conversations: Conversations,
        store: ConversationStore,
        agent_id: str,
        prompt: str,
        programme_id: str = DAILY,
    ) -> None:
        self._conversations = conversations
        self._store = store
        self._agent_id = agent_id
        self._prompt = prompt
        self._name = programme_id
        self._of_programme = DAILY if programme_id == DAILY else f"{DAILY}:{programme_id}"

    async def run(self, user_id: str, service_date: date, *, tenant_id: str) -> DailyRunResult:
        """Have the agent answer; each day's answer is stored and delivered once, however many retries."""
        key = ConversationKey(tenant_id, user_id, self._agent_id)
        try:
            return await self._run_turn(key, f"{self._of_programme}:{service_date.isoformat()}")
        except CadenzaError as problem:
            return DailyRunResult(problem.message, ErrorClass.UNKNOWN)

    async def _run_turn(self, key: ConversationKey, firing: str) -> DailyRunResult:
        turn_input = TurnInput(
            turn_id=f"{key.user_id}:{firing}",
            text=scheduled_text(self._name, self._prompt),
            words=self._prompt,
            origin=Origin(OriginKind.DAILY, name=self._name),
            may_schedule=False,
        )
        async with self._conversations.run_turn(key, turn_input) as (reply, turn, _):
            if reply.error is not None:
                await self._store.commit_turn(turn)
                return DailyRunResult(reply.error, ErrorClass.LLM)
            if await self._store.commit_turn(replace(turn, firing=firing)) is None:
                return DailyRunResult("another turn has begun meanwhile", ErrorClass.UNKNOWN)
        return DONE
