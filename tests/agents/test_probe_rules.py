"""The rule of what is new, in properties: nothing that changed is lost, and nothing is told twice."""

import json
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cadenza.adapters.planners.rules.expressions import PROBES, CelExpressions
from cadenza.domain.agents.probe import Novelty, ProbeMemory, memory_in, novelty, quoted_answer
from cadenza.domain.json_values import FoundValue, Json
from cadenza.domain.scheduling.target import CallableTarget, HttpTarget, Probe

CEL = CelExpressions(PROBES)
FUNCTION = Probe(CallableTarget("unread"))
HTTP = Probe(HttpTarget("https://example.com"))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
LOOKS = st.lists(st.tuples(st.integers(0, 2), st.booleans()), max_size=30)
"""What a probe answers in turn, and whether the agent could be told."""


def is_new(probe: Probe, answer: Json, before: FoundValue | None) -> Novelty:
    return novelty(probe, answer, before, holds=CEL.evaluate)


@given(LOOKS, st.sampled_from(["anything", "changed", "condition"]))
def test_what_was_not_told_stays_new_and_what_was_told_is_not(looks: list[Any], kind: str) -> None:
    probe = {
        "anything": FUNCTION,
        "changed": replace(FUNCTION, changed=("$.n",)),
        "condition": replace(FUNCTION, condition="response.body.n != previous.body.n"),
    }[kind]
    kept: Json = None
    told: list[int] = []
    for number, can_tell in looks:
        answer: Json = {"n": number}
        found = is_new(probe, answer, memory_in(kept, probe).before)
        if found.is_new and can_tell:
            told.append(number)
        if not found.is_new or can_tell:
            kept = json.loads(json.dumps(ProbeMemory(FoundValue(answer)).to_note(probe)))
    expected, last = list[int](), looks[0][0] if looks else 0
    for number, can_tell in looks:
        if number != last and can_tell:
            expected.append(number)
            last = number
    assert told == expected


@given(VALUES)
def test_the_first_answer_has_changed_in_nothing(answer: Json) -> None:
    for probe in (FUNCTION, HTTP, replace(FUNCTION, changed=("$.a", "$.b[0]"))):
        assert is_new(probe, answer, None) == Novelty(is_new=False)
        assert is_new(probe, answer, FoundValue(answer)) == Novelty(is_new=False)


@given(VALUES, VALUES)
def test_without_paths_any_change_of_json_is_new(one: Json, other: Json) -> None:
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert is_new(FUNCTION, one, FoundValue(other)).is_new is not same


@given(VALUES, VALUES)
def test_of_http_headers_and_sizes_do_not_count(body: Json, other: Json) -> None:
    before: dict[str, Json] = {"status": 200, "body": body, "headers": {"date": "one"}, "size": 1}
    after: dict[str, Json] = {"status": 200, "body": body, "headers": {"date": other}, "size": 2}
    assert not is_new(HTTP, after, FoundValue(before)).is_new
    assert is_new(HTTP, {**after, "status": 500}, FoundValue(before)).is_new


@given(VALUES)
def test_an_answer_of_another_probe_is_not_compared_with(answer: Json) -> None:
    other = replace(FUNCTION, target=CallableTarget("others"))
    note = ProbeMemory(FoundValue(answer)).to_note(FUNCTION)
    assert memory_in(note, FUNCTION).before == FoundValue(answer)
    assert memory_in(note, other) == ProbeMemory()
    assert memory_in(answer, FUNCTION) == ProbeMemory()


@given(st.text(max_size=300))
def test_a_quote_is_one_line_between_marks_that_are_not_in_it(text: str) -> None:
    lines = quoted_answer(FUNCTION, text).splitlines()
    mark = lines[-1]
    assert len(lines) == 6
    assert [number for number, line in enumerate(lines) if line == mark] == [3, 5]
    assert mark not in lines[4]
    assert lines[4].isprintable()
    assert json.loads(lines[4]) == text


def test_a_condition_reads_the_status_and_both_answers() -> None:
    probe = replace(
        HTTP, condition="status == 200 && response.body.n > previous.body.n && response.headers.x == '1'"
    )
    answer: dict[str, Json] = {"status": 200, "headers": {"x": "1"}, "body": {"n": 2}}
    assert is_new(probe, answer, FoundValue({"status": 500, "body": {"n": 1}})).is_new
    assert not is_new(probe, {**answer, "status": 201}, FoundValue(answer)).is_new
    problem = is_new(probe, answer, FoundValue({"status": 200})).problem
    assert problem == "its condition cannot be evaluated: body not found."
