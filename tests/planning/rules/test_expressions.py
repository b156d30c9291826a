"""Conditions: read when written, told without harm, and never for long."""

import subprocess
import sys
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cadenza.adapters.planners.rules.expression_cost import MOST_PARTS, cost_of, size_of, tokens_of
from cadenza.adapters.planners.rules.expressions import SAMPLE_VARIABLES, CelExpressions
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.planning.rules.incidents import Evaluation
from cadenza.domain.planning.rules.rule import LONGEST_WHEN
from cadenza.ports.planning import Expressions

CEL: Expressions = CelExpressions()
MUCH_TOO_LONG_S = 2.0
"""A machine with other things to do may take its time; what is not bounded takes hours."""


def seen(body: Any = None, **more: Any) -> dict[str, Any]:
    response = SAMPLE_VARIABLES["response"] if body is None else SAMPLE_VARIABLES["response"] | {"body": body}
    return SAMPLE_VARIABLES | {"response": response} | more


def holds(expression: str, body: Any = None, **more: Any) -> bool | None:
    return CEL.evaluate(expression, seen(body, **more)).holds


def refused(expression: str) -> str:
    with pytest.raises(InvalidRequest) as problem:
        CEL.check(expression)
    assert problem.value.field == "when"
    assert CEL.evaluate(expression, SAMPLE_VARIABLES).holds is None
    return problem.value.message


RECENT = [{"response": {"latency_ms": ms, "body": {"x": ms / 2}}, "run": {}} for ms in (900, 700, 200)]


@pytest.mark.parametrize(
    ("expression", "more"),
    [
        ("response.status == 200 && response.ok", {}),
        ("response.body.traffic >= 6000", {"body": {"traffic": 6000}}),
        ("response.body.items[0].price < 9.5", {"body": {"items": [{"price": 9}]}}),
        ("response.body['odd name'] == 'x'", {"body": {"odd name": "x"}}),
        ("response.body.contains('down')", {"body": "it is down"}),
        ("response.body.matches('^it (is|was) down$')", {"body": "it was down"}),
        ("has(response.body.error)", {"body": {"error": None}}),
        ("'error' in response.body", {"body": {"error": 1}}),
        ("response.headers['retry-after'] == '5' || true", {}),
        ("run.status in ['failure', 'success'] && run.late_ms < 100 && run.attempt == 1", {}),
        ("size(recent) == 3 && recent[0].response.latency_ms > 800", {"recent": RECENT}),
        ("avg(recent.map(r, r.response.latency_ms)) == 600.0", {"recent": RECENT}),
        ("max(recent.map(r, r.response.body.x)) == 450.0", {"recent": RECENT}),
        ("min(recent.map(r, r.response.latency_ms)) == 200", {"recent": RECENT}),
        ("sum(recent.map(r, r.response.latency_ms)) == 1800", {"recent": RECENT}),
        ("recent.exists(r, r.response.latency_ms > 800)", {"recent": RECENT}),
        ("!recent.all(r, r.response.latency_ms > 800)", {"recent": RECENT}),
        ("size(recent.filter(r, r.response.latency_ms > 500)) == 2", {"recent": RECENT}),
        ("siblings.cache.paused", {"siblings": {"cache": {"paused": True}}}),
        ("siblings.all(name, siblings[name].failures == 0)", {"siblings": {"a": {"failures": 0}}}),
        ("endpoint.interval_ms == 60000 && endpoint.failures == 0 && !endpoint.paused", {}),
        ("now >= timestamp('2025-01-01T00:00:00Z') && now.getHours() == 0", {}),
        ("now - timestamp('2024-12-31T23:00:00Z') == duration('1h')", {}),
        ("true // what follows is a remark", {}),
        ("response.status == 200 ?\n  response.ok :\n  false", {}),
    ],
)
def test_an_expression_is_taken_and_holds(expression: str, more: dict[str, Any]) -> None:
    CEL.check(expression)
    assert CEL.evaluate(expression, seen(**more)) == Evaluation(holds=True)


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("response.status >", "cannot be read at line 1, column 18"),
        ("response.ok &&\n  ) true", "cannot be read at line 2, column 3"),
        ("true) || (true", "cannot be read at line 1, column 5"),
        ("[1, 2", "cannot be read at line 1"),
        ("", "cannot be read"),
        ("'open", "cannot be read"),
        ("respons.ok", "has no 'respons'; it has response, "),
        ("recent.all(r, x.ok)", "has no 'x'"),
        ("open('/etc/passwd') == ''", "has no 'open'"),
        ("__import__('os') == 1", "has no '__import__'"),
        ("response.ok.__class__() == 1", "has no '__class__'"),
        ("response.body.size().repeat(5) == ''", "has no 'repeat'"),
        ("response.status", "must come to true or false"),
        ("1 + 1", "must come to true or false"),
        ("'yes'", "must come to true or false"),
        ("recent", "must come to true or false"),
        ("response.status > 'a'", "must come to true or false"),
        ("duration('soon') > duration('1s')", "cannot be evaluated"),
        ("x" * (LONGEST_WHEN + 1), f"may have {LONGEST_WHEN} characters"),
        ("recent.all(a, recent.all(b, recent.all(c, true)))", "two deep"),
        ("recent.map(a, recent.map(b, 1)) == []", "no map inside of another"),
        ("recent.all // remark\n (a, recent.all(b, recent.all(c, true)))", "two deep"),
        ("response.body.matches(response.headers.etag)", "written out"),
        ("response.body.matches('a' + 'b')", "written out"),
        ("response.body.matches('(a{500}){500}')", "written out"),
        ("response.body.matches('" + "a" * 200 + "')", "written out"),
    ],
)
def test_what_cannot_be_told_is_refused_when_it_is_written_with_its_place(expression: str, told: str) -> None:
    assert told in refused(expression)


@pytest.mark.parametrize(
    ("expression", "body", "trouble"),
    [
        ("response.body.traffic > 1", {}, "traffic not found."),
        ("response.body.traffic > 1", None, "body not found."),
        ("response.body.a.b.c == 1", {"a": {}}, "b not found."),
        ("response.body[3] == 1", [1], "A list is shorter than that."),
        ("siblings.nobody.paused", None, "nobody not found."),
        ("response.body > 1", "text", "Some of it cannot be compared"),
        ("response.body > 1", True, "Some of it cannot be compared"),
        ("response.body", [], "does not come to true or false"),
        ("int(response.body) > 1", "x", "int cannot take"),
        ("1 / response.body == 1", 0, "It divides by zero"),
        ("avg(recent.map(r, r.response.latency_ms)) > 1.0", None, "Some of it cannot be compared"),
        ("max(response.body) > 1", ["a"], "Some of it cannot be compared"),
        ("max(response.body) > 1", {"a": 1}, "Some of it cannot be compared"),
    ],
)
def test_what_is_not_there_does_not_match_and_says_so(expression: str, body: Any, trouble: str) -> None:
    CEL.check(expression)
    verdict = CEL.evaluate(expression, seen(body, recent=[]))
    assert verdict.holds is None
    assert trouble in (verdict.trouble or "")


def test_whatever_can_be_said_of_the_known_part_decides() -> None:
    assert holds("response.ok || response.body.x > 1") is True
    assert holds("response.body.x > 1 || response.ok") is True
    assert holds("!response.ok && response.body.x > 1") is False
    assert holds("has(response.body) && response.body.x > 1") is False


NUMBERS = list(range(18_000))
DEEP: Any = "x"
for _ in range(60):
    DEEP = [DEEP]
HEAVY = [
    ("response.body.exists(x, response.body == response.body && false)", NUMBERS),
    ("response.body.exists(x, response.body.exists(y, x + y < 0))", NUMBERS),
    ("response.body.exists(x, response.body.exists(y, [x] == [y] && false))", NUMBERS[:2_000]),
    ("response.body.map(x, x * 2) == []", NUMBERS),
    ("response.body.filter(x, x >= 0) == []", NUMBERS),
    ("response.body.all(x, (response.body + response.body + response.body).all(y, y >= 0))", NUMBERS[:900]),
    ("response.body.exists(x, x in response.body && false)", NUMBERS),
    ("size(response.body.map(x, x)) == 1", [{f"k{n}": n for n in range(10)} for _ in range(1_500)]),
    ("size(response.body.filter(x, true)) == 1", [["x" * 100] * 9 for _ in range(1_900)]),
    ("size(response.body.map(x, response.body.filter(y, true))) == 1", NUMBERS[:60]),
    ("response.body.map(x, response.body) == response.body.map(x, response.body)", NUMBERS[:3_000]),
    ("response.body.exists(x, x.matches('(\\\\w+\\\\s?)+$'))", ["word " * 40] * 2_000),
    ("response.body.exists(x, x.contains('z'))", ["y" * 100_000] * 200),
    ("[1, 2, 3, 4, 5, 6, 7, 8].map(a, response.body + response.body + response.body) == []", "x" * 262_144),
    ("[response.body + response.body].map(a, a + a).map(b, b + b).map(c, c + c)[0] == 'x'", "x" * 262_144),
    ("response.body.matches('(x+x+)+y')", "x" * 262_144),
    ("response.body.contains('y')", "x" * 262_144),
    ("response.body.exists(x, x == 17999)", NUMBERS),
    ("size(response.body) > 1", NUMBERS * 20),
    ("response.body == 1", DEEP),
]


@pytest.mark.parametrize(("expression", "body"), HEAVY, ids=[expression[:40] for expression, _ in HEAVY])
def test_no_answer_however_large_makes_it_take_long(expression: str, body: Any) -> None:
    CEL.check(expression)
    began = time.process_time()
    CEL.evaluate(expression, seen(body))
    assert time.process_time() - began < MUCH_TOO_LONG_S


def test_what_would_take_too_long_does_not_match_and_says_so() -> None:
    slow = "response.body.exists(x, response.body.exists(y, x + y < 0))"
    assert CEL.evaluate(slow, seen(NUMBERS)) == Evaluation(
        None, "It would take too long on answers as large as these."
    )
    assert holds(slow, NUMBERS[:20]) is False


@pytest.mark.parametrize(
    "expression",
    [
        "recent.exists(r, r.response.body.items.exists(i, i.state == 'bad'))",
        "avg(recent.map(r, r.response.latency_ms)) > 5.0 && recent.all(r, r.response.ok)",
        "response.body.items.exists(i, i.price + i.tax > 100)",
    ],
)
def test_what_people_write_is_not_too_much_for_what_endpoints_answer(expression: str) -> None:
    items = [{"state": "good", "price": n, "tax": 1, "name": f"item {n}"} for n in range(40)]
    answer = {"ok": True, "latency_ms": 7, "body": {"items": items}}
    assert holds(expression, recent=[{"response": answer}] * 20, response=answer) is not None


def test_a_value_is_measured_without_going_through_all_of_what_is_too_large() -> None:
    assert size_of([{"a": "xyz", "b": [1, 2, 3]}]) == (7, 3, 6, 3)
    assert size_of([[0] * 10_000_000]).parts > MOST_PARTS


def depth(expression: str) -> int:
    return cost_of(tokens_of(expression)).depth


def test_words_in_texts_and_remarks_are_no_loops() -> None:
    assert depth("response.body.all == '.map(x.map(y' // .exists(") == 0
    assert depth("r'\\'.size() == 1 && recent.all(r, true)") == 1
    assert depth("'''a'b''' == \"\"\"a\"b\"\"\" && recent.all(r, recent.all(q, true))") == 2


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
TRIED = (
    "response.body > 5",
    "response.body.a.b == 'x' || size(response.body) > 2",
    "response.body.exists(x, x == 1)",
    "avg(response.body) > 1.0",
    "response.body.contains('a') || response.body.matches('a+')",
    "string(response.body) == '' || int(response.body) == 1",
    "timestamp(response.body) > now || duration(response.body) > duration('1s')",
)


@settings(max_examples=150)
@given(JSON, st.sampled_from(TRIED))
def test_hostile_answers_stay_data(body: Any, expression: str) -> None:
    verdict = CEL.evaluate(expression, seen(body))
    assert verdict.holds in (True, False, None)
    assert (verdict.trouble is not None) == (verdict.holds is None)


ALPHABET = st.sampled_from(
    [
        *"()[]{}.,?:!&|+-*/%<>='\"\\ \n",
        "response",
        "recent",
        "now",
        "map",
        "exists",
        "1",
        "x",
        "matches",
        "//",
    ]
)


@settings(max_examples=300)
@given(st.lists(ALPHABET, max_size=40).map("".join))
def test_whatever_is_written_is_taken_or_refused(expression: str) -> None:
    try:
        CEL.check(expression)
    except InvalidRequest as problem:
        assert problem.field == "when"  # noqa: PT017 - Mostly it is refused; sometimes it is not.
    assert CEL.evaluate(expression, SAMPLE_VARIABLES).holds in (True, False, None)


def test_the_library_comes_without_its_command_line_and_others_may_import_it() -> None:
    program = (
        "import sys; from cadenza.adapters.planners.rules.expressions import CelExpressions;"
        "CelExpressions().check('response.ok');"
        "assert 'prompt_toolkit' not in sys.modules and 'typer' not in sys.modules;"
        "import cel; print(cel.evaluate('1 + 1'))"
    )
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (finished.stdout, finished.returncode) == ("2\n", 0), finished.stderr
