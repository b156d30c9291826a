"""Configuration files, read strictly and with their lines."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.operation_fixtures import ApplicationFixture

from cadenza.domain import validation
from cadenza.domain.errors import InvalidRequest
from cadenza.operations.config import file as config_file
from cadenza.operations.config.file import ConfigFile
from cadenza.operations.config.schemas import ConfigDocument, ConfigEndpoint, ConfigJob
from cadenza.operations.config.yaml_writer import span
from cadenza.operations.scheduling.schemas import GuardShape, PlanningShape, PolicyShape

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "cadenza.yaml"
YAML = re.compile(r"^```yaml\n(.*?)^```", re.MULTILINE | re.DOTALL)
DOCUMENTS = ("docs/how-to/config-as-code.md", "docs/reference/config.md")
EXAMPLES = [example for name in DOCUMENTS for example in YAML.findall((ROOT / name).read_text())]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("-17", -17),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ("true", True),
        ("null", None),
        ("", None),
        ("no", "no"),
        ("on", "on"),
        ("12:30", "12:30"),
        ("2030-01-31T12:00:00Z", "2030-01-31T12:00:00Z"),
        ("1_000", "1_000"),
        ("'1'", "1"),
        ('"true"', "true"),
        ("9" * 30, 10**30 - 1),
        ("[a, {b: 1}]", ["a", {"b": 1}]),
        ("|\n  two\n  lines\n", "two\nlines\n"),
    ],
)
def test_values_are_those_of_yaml_1_2(text: str, value: Any) -> None:
    assert ConfigFile(f"key: {text}").document == {"key": value}


def test_json_is_read_too() -> None:
    assert ConfigFile('{"version": 1, "jobs": [{"id": "a", "active": false}]}').document == {
        "version": 1,
        "jobs": [{"id": "a", "active": False}],
    }


def test_what_repeats_can_be_said_once() -> None:
    text = "jobs:\n- guard: &usual {min: 20s}\n- guard: *usual\n"
    assert ConfigFile(text).document == {"jobs": [{"guard": {"min": "20s"}}, {"guard": {"min": "20s"}}]}


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a: 1\nb: 2\na: 3\n", "Line 3 repeats a"),
        ("a: {b: 1, b: 2}", "Line 1 repeats b"),
        ("a: [1, 2\nb: 3", "Line 2 cannot be read"),
        ("a: 1\n\tb: 2", "Line 2 cannot be read"),
        ("a: \x00", "cannot be read"),
        ("a: !!python/object:os.system {}", "Line 1 has a tag"),
        ("a: !secret TOKEN", "Line 1 has a tag"),
        ("? [1]\n: 2", "Line 1 has a key that is not text"),
        ("a: 1\n---\nb: 2", "one document, not several"),
        ("- a", "must begin with"),
        ("text", "must begin with"),
        ("", "must begin with"),
        ("# nothing", "must begin with"),
        ("a: *nobody", "Line 1"),
        ("a: &a [*a]", "Line 1 refers to a, which is not finished before it"),
        ("a: " + "[" * 100_000, "Line 1 is nested more than 80 levels deep"),
        (BOMB, "there are more than 500,000 values"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(text: str, sentence: str) -> None:
    with pytest.raises(InvalidRequest, match=sentence):
        ConfigFile(text)


def test_a_file_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config_file, "LARGEST", 10)
    with pytest.raises(InvalidRequest, match="11 characters; the maximum is 10"):
        ConfigFile("a: 12345678")


async def test_faults_are_told_with_their_lines(app: ApplicationFixture) -> None:
    text = (
        "version: 1\n"
        "jobs:\n"
        "  - id: checkout\n"
        "    colour: red\n"
        "    endpoints:\n"
        "      - id: traffic\n"
        "        target: https://example.com\n"
        "        baseline: every now and then\n"
        "      - target: https://example.com\n"
        "        baseline: every 1m\n"
        "        rules: [a]\n"
    )
    file = ConfigFile(text)
    with pytest.raises(InvalidRequest) as refused:
        await app.ask("apply_config", **file.document)
    located = file.located(refused.value)
    lines = {
        "jobs.0.colour": 4,
        "jobs.0.endpoints.0.baseline": 8,
        "jobs.0.endpoints.1.id": 9,
        "jobs.0.endpoints.1.rules": 11,
    }
    assert {fault.field for fault in located.faults} == lines.keys()
    for fault in located.faults:
        assert fault.message.startswith(f"line {lines[fault.field]}: {fault.field} ")
        assert fault.message in located.message


def test_what_has_no_place_in_the_file_keeps_its_words() -> None:
    problem = InvalidRequest("Say it differently.")
    assert ConfigFile("version: 1").located(problem) is problem


async def test_the_example_can_be_applied(app: ApplicationFixture) -> None:
    file = ConfigFile(EXAMPLE.read_text())
    answer = await app.ask("apply_config", **file.document)
    assert answer["counts"]["create"] == 5
    assert (await app.ask("apply_config", **file.document))["changes"] == []


@pytest.mark.parametrize("example", EXAMPLES)
async def test_what_the_documents_show_can_be_applied(app: ApplicationFixture, example: str) -> None:
    assert (await app.ask("apply_config", **ConfigFile(example).document))["counts"]["create"] > 1


def test_the_reference_has_every_key() -> None:
    reference = (ROOT / "docs/reference/config.md").read_text()
    shapes = (ConfigDocument, ConfigJob, ConfigEndpoint, GuardShape, PolicyShape, PlanningShape)
    keys = {key for shape in shapes for key in shape.model_fields}
    assert {key for key in keys if f"`{key}`" not in reference} == set()


@given(st.integers(1, 10**11))
def test_spans_are_written_as_they_are_read(span_ms: int) -> None:
    assert validation.parse_duration_ms("span", span(span_ms)) == span_ms
