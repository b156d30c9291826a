"""Users, agents, messages and turns for the contracts about agents."""

from typing import Any

import pytest

from cadenza.domain.agents.conversation import ConversationKey, Message, Origin, OriginKind, Role, Turn
from cadenza.domain.agents.delivery import CanvasCommand, Delivery, Subtitle
from cadenza.domain.agents.schedule import POLICY
from cadenza.domain.agents.users import Agent, User, UserKey
from cadenza.domain.scheduling.baseline import Cron
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.target import PromptTarget
from cadenza.testing.builders import an_endpoint
from cadenza.testing.clock import NEW_YEAR
from cadenza.testing.contracts.harness import Bench, Contract

ANNA, BERT = UserKey("north", "anna"), UserKey("north", "bert")
NAMESAKE = UserKey("south", "anna")
TUTOR = ConversationKey("north", "anna", "tutor")
COACH = ConversationKey("north", "anna", "coach")


class ConversationFixture:
    """A store with users and agents, and turns to commit."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.store = bench.store

    async def add_users_and_agents(self) -> None:
        """Two users and two agents of one tenant, and a user and an agent of another with the same ids."""
        for user in (ANNA, BERT, NAMESAKE):
            await self.store.users.put_user(User(tenant_id=user.tenant_id, id=user.id, created_at=NEW_YEAR))
        for tenant_id, name in (("north", "tutor"), ("north", "coach"), ("south", "tutor")):
            await self.store.agents.put_agent(
                Agent(tenant_id=tenant_id, id=name, name=name, created_at=NEW_YEAR)
            )

    def turn(self, text: str, key: ConversationKey = TUTOR, **fields: Any) -> Turn:
        """A turn with a question, an answer, and a delivery of that answer."""
        now = self.bench.clock.now()
        given: dict[str, Any] = {
            "id": f"turn-{text}",
            "conversation": key,
            "began_at": now,
            "ended_at": now,
            "messages": (
                a_message(f"q-{text}", f"{text}?", now),
                a_message(text, f"{text}!", now, role=Role.AGENT),
            ),
            "to_deliver": (Subtitle(text),),
        }
        return Turn(**(given | fields))

    async def say(self, text: str, key: ConversationKey = TUTOR, **fields: Any) -> list[Delivery]:
        """Commit a turn."""
        deliveries = await self.store.conversations.commit_turn(self.turn(text, key, **fields))
        assert deliveries is not None, "the turn was not committed"
        return deliveries

    async def undelivered(self, user: UserKey = ANNA, **asked: Any) -> list[Delivery]:
        """A user's undelivered messages."""
        wanted: dict[str, Any] = {"after": 0, "limit": 100}
        return await self.store.deliveries.undelivered(user, **(wanted | asked))

    async def texts(self, key: ConversationKey = TUTOR, limit: int = 100) -> list[str]:
        """The texts of the conversation's context."""
        return [message.text for message in await self.store.conversations.context(key, limit)]


class AgentContract(Contract):
    """A contract about agents."""

    @pytest.fixture
    def talk(self, bench: Bench) -> ConversationFixture:
        return ConversationFixture(bench)


def a_message(message_id: str, text: str, at: Any = NEW_YEAR, **fields: Any) -> Message:
    """A message."""
    return Message(**({"id": message_id, "role": Role.USER, "text": text, "at": at} | fields))


def a_schedule(schedule_id: str = "sched-aaaaa", user: UserKey = ANNA, **fields: Any) -> Endpoint:
    """An agent schedule that is due now, and every day."""
    given: dict[str, Any] = {
        "id": schedule_id,
        "name": schedule_id,
        "tenant_id": user.tenant_id,
        "job_id": "agenda",
        "target": PromptTarget("tutor", user.id, "Go on."),
        "baseline": Cron("0 9 * * *"),
        "policy": POLICY,
    }
    return an_endpoint(**(given | fields))


FULL = Message(
    id="full",
    role=Role.TOOL,
    text="äöü \N{SNOWMAN}\n[SCHEDULED: x] y",
    at=NEW_YEAR.replace(microsecond=123_456),
    origin=Origin(OriginKind.SCHEDULE, "sched-aaaaa", "Say hello", NEW_YEAR),
    parts={"calls": [{"tool": "create_schedule", "n": 1.5}], "none": None},
)
MINE, YOURS = "mine", "yours"
"""Tokens of turns."""
COMMAND = CanvasCommand({"draw": ["line", 1, 2.5, None, {"ä": True}]})
