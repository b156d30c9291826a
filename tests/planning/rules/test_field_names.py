"""Fields that an expression names are those that an evaluation gets."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.surfaces.sentence_rules import broken_rules

from cadenza.adapters.planners.rules.expression_cost import tokens_of
from cadenza.adapters.planners.rules.expressions import FIELDS, SAMPLE_VARIABLES, CelExpressions
from cadenza.adapters.planners.rules.field_names import unknown_field
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.planning.rules.context import VARIABLES, ListOf, variable_fields

CEL = CelExpressions()
UNKNOWN_FIELDS = [
    ("endpoint.failurs > 1", "finds no failurs in endpoint; it has failures, "),
    ("has(endpoint.failurs)", "finds no failurs in endpoint; it has failures, "),
    ("response['statu'] == 200", "finds no statu in response; it has status, "),
    ("run.status.text == 'a'", "cannot read text of run.status, which has no fields"),
    ("recent[0].run.statsu == 'a'", "finds no statsu in recent[…].run; it has status, "),
    ("recent.exists(r, r.run.statsu == 'a')", "finds no statsu in r.run; it has status, "),
    ("recent.filter(r, r.run.attempt > 1).exists(x, x.respons.ok)", "finds no respons in x; it has "),
    ("siblings.cart.failure > 1", "finds no failure in siblings.cart; it has failures, "),
    ("siblings.exists(n, siblings[n].last.latency > 1)", "finds no latency in siblings[…].last; it has "),
    ("[endpoint].exists(e, e.failurs > 1)", "finds no failurs in e; it has failures, "),
    ("(true ? endpoint : endpoint).failurs > 1", "finds no failurs in (…); it has failures, "),
    ('{"a": endpoint}.a.failurs > 1', "finds no failurs in {…}.a; it has failures, "),
    ("recent.map(r, r.run).exists(x, x.sttus == 'x')", "finds no sttus in x; it has status, "),
    ("endpoint.labels.a.b == 1", "cannot read b of endpoint.labels.a, which has no fields"),
    ("response.headers['a'].b == 1", "cannot read b of response.headers['a'], which has no fields"),
    ("'text'.size().b == 1", "cannot read b of 'text'.size(…), which has no fields"),
    (
        "recent.failurez > 1",
        "cannot read failurez of recent, which is a list; recent[0] is its first element",
    ),
    ("recent['run'].attempt > 1", "cannot read run of recent, which is a list"),
    ("run.status[0] == 'a'", "cannot read an element of run.status, which has none"),
    ("{}.a == 1 && {}['a'] == 1", "cannot read a of {…}, which has no fields"),
    ("recent.exists(r, r.run.attempt > 1) && r.run.attempt > 1", "has no 'r'"),
    ("endpoint{a: 1} == 1", "cannot be read: { is out of place"),
]


@pytest.mark.parametrize(("expression", "sentence"), UNKNOWN_FIELDS)
def test_an_unknown_field_is_refused_with_the_nearest_first(expression: str, sentence: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        CEL.check(expression)
    assert sentence in refused.value.message
    assert broken_rules(refused.value.message) == []
    evaluation = CEL.evaluate(expression, SAMPLE_VARIABLES)
    assert not evaluation.holds


@pytest.mark.parametrize(
    "expression",
    [
        "endpoint.labels.team == 'web' && response.headers['x-cache'] == 'hit'",
        "response.body.failurs > 1 && response.body[0].x == 1",
        "recent.map(endpoint, endpoint.run.attempt).size() > 3",
        "recent.exists(r, has(r.response.body) && r.response.body.visitors > 4)",
        "siblings['any name'].last.body.x == 1 && siblings.cart.next_in_ms > 5",
        "{'failurs': 1}.failurs == 1 && now.getHours() > 3",
        "'endpoint.failurs' == 'a' // endpoint.failurs",
        "(response.ok ? endpoint : run).attempt > 1 || (response.ok ? recent : [])[0].run.attempt > 1",
        "{'a': endpoint, 'b': run}[run.status].failures > 1 && [response.body, endpoint].exists(x, x.y == 1)",
        "recent.map(r, r.run.attempt > 1, r.response)[0].ok && (recent + response.body)[0].any == 1",
        "siblings.filter(name, siblings[name].paused).exists(name, name == 'a') && .5 < 1e-3 + 0x1F",
        "-(endpoint.failures) < 1u || !(!endpoint.paused) && [[endpoint],][0][0].failures % 2 in [1, 2,]",
        "response.body.items.map(i, i.price)[0] > 1 && dyn(endpoint).labels['a'].startsWith('b')",
    ],
)
def test_what_may_be_there_is_taken(expression: str) -> None:
    CEL.check(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "response.status >",
        "run.status == 'x",
        "true ? 1",
        "recent.exists(1, true)",
        "run.status.matches('[')",
        "int('x') == 1",
        "timestamp('x') == now",
        "size(3) == 1",
        "nope(1)",
        "1",
        "#",
    ],
)
def test_what_the_library_complains_about_is_told_in_a_sentence(expression: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        CEL.check(expression)
    assert broken_rules(refused.value.message) == []
    trouble = CEL.evaluate(expression, SAMPLE_VARIABLES).trouble
    assert trouble is not None
    assert broken_rules(trouble) == []


def test_the_known_fields_are_those_of_the_evaluation() -> None:
    fields = variable_fields()
    assert tuple(fields) == VARIABLES
    for name in ("run", "endpoint"):
        assert fields[name] is not None
        assert dict(fields[name]).keys() == SAMPLE_VARIABLES[name].keys()  # type: ignore[arg-type]
    assert isinstance(fields["recent"], ListOf)


RECORDS = {
    "endpoint": "failures",
    "run": "is_new",
    "response": "latency_ms",
    "recent[0]": "run",
    "recent[size(recent) - 1].run": "attempt",
    "siblings.cart": "paused",
    "siblings['any name'].last": "ok",
}
AROUND_A_RECORD = (
    "(E)",
    "[E][0]",
    "[null, E][1]",
    "(response.ok ? E : E)",
    "(response.ok ? null : E)",
    "{'a': E}.a",
    "{'a': 1, run.status: E}[run.status]",
    "{'a': [{'b': E}]}['a'][0].b",
    "dyn(E)",
    "([] + [E])[0]",
    "[E].filter(x, true)[0]",
    "[E].map(x, x)[0]",
    "[E].map(x, {'b': x, 'c': [x]})[0].c[0]",
    "recent.map(x, true, E)[0]",
)
USES = (
    "E.F == 1",
    "has(E.F)",
    "E['F'] == 1",
    'E["F"].size() == 1',
    "response.ok || !(E.F)",
    "[E].exists(x, x.F == 1)",
    "[1, E.F] == [-E.F]",
    "{'a': E.F}.a == {E.F: 'a'}[1]",
    "string(E.F).contains('a') ? true : false",
    "response.ok ? E.F : true",
    "run.status in [E.F]",
    "recent[E.F].run.attempt > 1",
    "'a'.startsWith(E.F)",
    "avg([1, E.F]) > 1.0",
)


@given(
    st.sampled_from(sorted(RECORDS.items())),
    st.lists(st.sampled_from(AROUND_A_RECORD), max_size=6),
    st.data(),
)
def test_a_misspelt_field_is_refused_wherever_it_stands(
    record: tuple[str, str], around: list[str], data: st.DataObject
) -> None:
    expression, field = record
    for one in around:
        expression = one.replace("E", expression)
    use = data.draw(st.sampled_from(USES)).replace("E", expression)
    assert unknown_field(tokens_of(use.replace("F", field)), FIELDS) is None
    assert f"finds no {field}z in " in (unknown_field(tokens_of(use.replace("F", f"{field}z")), FIELDS) or "")


def test_no_expression_takes_long_to_look_through() -> None:
    nested = "[run]" + ".map(x,{'a':x,'b':x})" * 20
    began = time.process_time()
    assert unknown_field(tokens_of(f"({nested} + {nested})[0].a == 1"), FIELDS) is None
    assert time.process_time() - began < 1
