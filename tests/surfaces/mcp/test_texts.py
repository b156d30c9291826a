"""What agents read first is true."""

import json
import re

import pytest

from cadenza.domain.scheduling.plan import Source
from cadenza.operations.table import BY_NAME
from cadenza.surfaces.mcp.texts import INSTRUCTIONS, TEXTS
from cadenza.surfaces.mcp.tools import OFFERED

A_TOOL = re.compile(
    r"\b(?:list|get|explain|propose|pause|clear|run|test|create|update|delete|apply)_[a-z_]+\b"
)
EXAMPLE = re.compile(r"```json\n(.*?)```", re.DOTALL)


@pytest.mark.parametrize("text", [INSTRUCTIONS, *(one.body for one in TEXTS.values())])
def test_tools_that_are_named_are_offered(text: str) -> None:
    assert set(A_TOOL.findall(text)) <= OFFERED.keys()


def test_every_tool_is_told_under_its_scope() -> None:
    scope, call = "", {}
    for line in TEXTS["tools"].body.splitlines():
        if line.startswith("## "):
            scope = line.removeprefix("## ")
        elif line.startswith("- "):
            call[line.split("`")[1]] = scope
    assert call == {name: str(operation.scope) for name, (operation, _) in OFFERED.items()}


def test_every_source_is_in_the_glossary() -> None:
    assert set(Source) <= set(re.findall(r"`([a-z-]+)`", TEXTS["glossary"].body))


def test_examples_of_steering_are_understood() -> None:
    tools = ("propose_interval", "propose_next_time")
    examples = EXAMPLE.findall(TEXTS["steering"].body)
    for name, example in zip(tools, examples, strict=True):
        BY_NAME[name].command.model_validate(json.loads(example))


def test_the_table_of_steering_names_every_argument() -> None:
    rows = [line for line in TEXTS["steering"].body.splitlines() if line.startswith("| `")]
    named = {row.split("`")[1]: set(re.findall(r"`(\w+)`", row.split("|")[2])) for row in rows}
    for name, arguments in named.items():
        assert arguments == BY_NAME[name].schema["properties"].keys() - {"endpoint_id"}
    assert named.keys() == {"propose_interval", "propose_next_time", "pause_until"}


@pytest.mark.parametrize("uri", re.findall(r"cadenza://\S+?(?=[,.\s])", INSTRUCTIONS))
def test_the_instructions_lead_somewhere(uri: str) -> None:
    assert uri.removeprefix("cadenza://docs/") in TEXTS
