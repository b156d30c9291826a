"""What a model says, whatever it is, can be kept, read again and sent."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.agents.agent_fixtures import ADA, TENANT, AgentFixture
from tests.agents.scripted_agent import Behaviour, ScriptedAgent, reply

from cadenza.adapters.null import NoLog
from cadenza.adapters.stores.memory import MemoryStore
from cadenza.domain.agents.users import UserKey
from cadenza.domain.errors import InvalidRequest
from cadenza.ports.agents import CallTool, Prompt, Reply
from cadenza.ports.store import Store
from cadenza.roots.settings import Settings
from cadenza.roots.wiring.stores import open_store
from cadenza.surfaces.websocket import frames
from cadenza.testing.fakes import FakeIds

LONE = "half \ud83d a sign"
DEEP: Any = {"down": None}
for _ in range(500):
    DEEP = {"down": DEEP}


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    if request.param == "memory":
        yield MemoryStore(FakeIds("run"))
        return
    settings = Settings(database_url=f"sqlite:///{tmp_path / 'cadenza.db'}")
    async with open_store(settings, ids=FakeIds("run"), log=NoLog()) as opened:
        yield opened


def drawing(command: Any) -> Behaviour:
    async def draws(_: Prompt, call: CallTool) -> Reply:
        with pytest.raises(InvalidRequest, match="command must be"):
            await call("send_canvas_command", {"command": command})
        return reply("drawn")

    return draws


async def framed(agents: AgentFixture) -> list[dict[str, Any]]:
    """What a socket of ada is sent."""
    sent = await agents.store.deliveries.deliveries(UserKey(TENANT, ADA), after=0, limit=100)
    return [orjson.loads(frames.delivered(one)) for one in sent]


@pytest.mark.parametrize("text", [LONE, "nul \0 inside", "\N{GRINNING FACE}"], ids=["half", "nul", "whole"])
async def test_any_words_can_be_kept_and_sent(store: Store, text: str) -> None:
    agents = await AgentFixture(ScriptedAgent(reply(text), reply(text)), store=store).open()
    await agents.say("hi")
    await agents.schedule()
    await agents.fire()
    sent = await framed(agents)
    assert [one["type"] for one in sent] == ["subtitle", "subtitle"]
    assert all(one["text"].replace("?", "").split() for one in sent)
    if text != LONE:
        assert {one["text"] for one in sent} <= {text, text.replace("\0", "\N{REPLACEMENT CHARACTER}")}


@pytest.mark.parametrize(
    "command",
    [{"text": LONE}, {LONE: 1}, {"count": 2**64}, {"share": float("nan")}, DEEP],
    ids=["half", "half-name", "huge", "nan", "deep"],
)
async def test_a_canvas_command_that_cannot_be_sent_is_refused(command: Any) -> None:
    agents = await AgentFixture(ScriptedAgent(drawing(command))).open()
    await agents.say("draw")
    assert [one["type"] for one in await framed(agents)] == ["subtitle"]
