"""Fields that an expression names are those that an evaluation gets."""

import pytest
from tests.surfaces.sentence_rules import broken_rules

from cadenza.adapters.planners.rules.expressions import SAMPLE_VARIABLES, CelExpressions
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
