"""What the documents say of rules is true."""

import re
from pathlib import Path

import pytest
from tests.operation_fixtures import ApplicationFixture

from cadenza.adapters.planners.rules.expressions import FUNCTIONS, HELPERS
from cadenza.domain.planning.rules.context import VARIABLES, rule_variables
from cadenza.domain.planning.rules.rule import STEPS
from cadenza.operations.config.file import ConfigFile
from cadenza.operations.config.rule_words import ESCALATION, RULE, STEP, RuleWords
from cadenza.operations.planning.rules import CreateRule
from cadenza.testing.builders import an_endpoint
from cadenza.testing.clock import NEW_YEAR

ROOT = Path(__file__).parents[3]
YAML = re.compile(r"^```yaml\n(.*?)^```", re.MULTILINE | re.DOTALL)
REFERENCE = (ROOT / "docs/reference/rules.md").read_text()
EXAMPLES = [
    (name, example)
    for name in ("docs/how-to/rules.md", "docs/reference/config.md")
    for example in YAML.findall((ROOT / name).read_text())
    if "rules:" in example
]


@pytest.mark.parametrize(("name", "example"), EXAMPLES, ids=[name for name, _ in EXAMPLES])
async def test_every_example_can_be_applied(app: ApplicationFixture, name: str, example: str) -> None:
    await app.ask("apply_config", **ConfigFile(example).document)
    for rule in await app.store.rules.rules("default"):
        assert (await app.ask("get_rule", rule_id=rule.id))["name"] == rule.name
    assert (await app.ask("apply_config", **ConfigFile(example).document, prune=True))["changes"] == []


def test_there_are_examples() -> None:
    assert {name for name, _ in EXAMPLES} == {"docs/how-to/rules.md", "docs/reference/config.md"}


@pytest.mark.parametrize(
    "words",
    [
        CreateRule.model_fields,
        RuleWords.model_fields,
        STEPS,
        VARIABLES,
        HELPERS,
        {**STEP, **RULE, **ESCALATION, "ttl": "ttlMinutes"},
        {*STEP.values(), "ttlMinutes", "reason"},
        rule_variables(an_endpoint(), NEW_YEAR)["endpoint"],
        ["ok", "latency_ms", "status", "headers", "body", "late_ms", "attempt", "source", "is_new", "last"],
        ["size", "contains", "startsWith", "endsWith", "matches", "timestamp", "duration", "getHours"],
    ],
    ids=lambda words: str(sorted(words)[:2]),
)
def test_the_reference_has_every_word(words: list[str]) -> None:
    assert {word for word in words if f"`{word}`" not in REFERENCE} == set()
    assert {"getHours", "matches"} <= FUNCTIONS
