"""Which model answers: the agent's own, if it may have it, the usual one, or none."""

import pytest
from tests.agents.agent_fixtures import HELPER, AgentFixture

from cadenza.adapters.agents.by_model import RuntimeByModel
from cadenza.domain.agents.delivery import Subtitle
from cadenza.domain.agents.users import Agent
from cadenza.domain.errors import InvalidRequest, Unavailable
from cadenza.ports.agents import AgentRuntime, CallTool, Prompt, Reply
from cadenza.roots.settings import Settings
from cadenza.roots.settings import allowed_models as models

ALLOWED = "test:model"
USUAL = "test:usual"


class Named:
    """Says its name, and the model that it was asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    async def process_prompt(self, prompt: Prompt, call: CallTool) -> Reply:
        return Reply([Subtitle(f"{self._name} {prompt.agent.model}")])


def by_model(default_model: str | None = None) -> RuntimeByModel:
    def open_llm() -> AgentRuntime:
        return Named("llm")

    return RuntimeByModel(
        offline=Named("offline"),
        open_llm=open_llm,
        default_model=default_model,
        allowed=models_of(default_model, ALLOWED),
    )


def models_of(default_model: str | None, *others: str) -> frozenset[str]:
    return models(Settings(llm_model=default_model, llm_models=others))


@pytest.mark.parametrize(
    ("model", "default_model", "answer"),
    [
        (None, None, "offline None"),
        (None, USUAL, "llm None"),
        ("offline", USUAL, "offline offline"),
        (ALLOWED, None, f"llm {ALLOWED}"),
        (USUAL, USUAL, f"llm {USUAL}"),
    ],
    ids=["none", "the usual", "offline all the same", "its own", "the usual by name"],
)
async def test_every_agent_is_answered_by_its_own(
    model: str | None, default_model: str | None, answer: str
) -> None:
    agents = await AgentFixture(by_model(default_model)).open()
    await agents.store.agents.put_agent(Agent(id=HELPER, name="Helper", tenant_id="north", model=model))
    assert await agents.say("hello") == answer


async def test_a_model_that_agents_may_not_have_is_refused_in_one_sentence() -> None:
    agents = await AgentFixture().open()
    refusal = "is not among the models that agents may have here .test:model.: CADENZA_LLM_MODELS names them"
    with pytest.raises(InvalidRequest, match=refusal) as refused:
        await agents.ask("put_agent", agent_id=HELPER, name="Helper", model="dear:model")
    assert refused.value.faults[0].field == "model"
    assert (await agents.ask("get_agent", agent_id=HELPER))["model"] is None
    for model in (ALLOWED, "offline", None):
        assert (await agents.ask("put_agent", agent_id=HELPER, name="Helper", model=model))["model"] == model


async def test_a_model_that_is_allowed_no_more_is_not_asked() -> None:
    agents = await AgentFixture(by_model()).open()
    await agents.store.agents.put_agent(
        Agent(id=HELPER, name="Helper", tenant_id="north", model="dear:model")
    )
    with pytest.raises(Unavailable, match="is not among the models that agents may have here"):
        await agents.say("hello")


def test_the_model_of_the_settings_may_be_named_and_no_other_unless_it_is_listed() -> None:
    assert models(Settings()) == frozenset()
    assert models_of(USUAL) == {USUAL}
    assert models_of(USUAL, ALLOWED) == {USUAL, ALLOWED}
