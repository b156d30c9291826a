"""What its owner may call a success: statuses, and a path into the answer."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cadenza.adapters.dispatch.http.exchange import same
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.json_values import follow_path
from cadenza.domain.scheduling.target import HttpTarget

URL = "https://example.org/"


def refused_field(**fields: Any) -> str | None:
    with pytest.raises(InvalidRequest) as refused:
        HttpTarget(URL, **fields)
    return refused.value.field


@pytest.mark.parametrize(
    "statuses", [[], ["600"], ["2x"], ["99"], ["300-200"], ["200,201"], "2xx", [None], [True], None]
)
def test_statuses_that_mean_nothing_are_refused(statuses: Any) -> None:
    assert refused_field(success_statuses=statuses) == "success_statuses"


@given(st.integers(100, 599))
def test_statuses_ranges_and_classes_count(status: int) -> None:
    assert HttpTarget(URL).succeeds(status) == (200 <= status < 300)
    assert HttpTarget(URL, success_statuses=("204", "300-399", "5XX")).succeeds(status) == (
        status == 204 or 300 <= status < 400 or status >= 500
    )


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("$", {"a": {"b c": [1, {"ü": None}]}, "": "empty"}),
        ("$.a['b c'][0]", 1),
        ('$.a["b c"][-1].ü', None),
        ("$['']", "empty"),
    ],
)
def test_a_path_leads_to_one_place(path: str, found: Any) -> None:
    document: Any = {"a": {"b c": [1, {"ü": None}]}, "": "empty"}
    HttpTarget(URL, success_path=path)
    there = follow_path(path, document)
    assert there is not None
    assert there.value == found


@pytest.mark.parametrize(
    "path", ["$.b", "$.a.b", "$.a[0]", "$.a['b c'][2]", "$.a['b c'][-3]", "$.a['b c'].length"]
)
def test_a_path_may_lead_nowhere(path: str) -> None:
    assert follow_path(HttpTarget(URL, success_path=path).success_path or "", {"a": {"b c": [1, 2]}}) is None


@pytest.mark.parametrize(
    "path",
    [
        "",
        "a",
        "$a",
        "$.",
        "$..a",
        "$.*",
        "$[*]",
        "$[01]",
        "$[-0]",
        "$[1:2]",
        "$['a]",
        "$[?@.a]",
        "$.1",
        "$ .a",
        1,
        "$" + ".a" * 2_000,
    ],
)
def test_a_path_that_cannot_be_read_is_refused(path: Any) -> None:
    assert refused_field(success_path=path) == "success_path"


@given(st.text(max_size=60))
def test_any_text_is_a_path_or_refused(path: str) -> None:
    for text in (path, f"${path}", f"$.{path}", f"$['{path}']"):
        try:
            HttpTarget(URL, success_path=text)
        except InvalidRequest:
            continue
        follow_path(text, {"a": [1]})


def test_values_need_a_path() -> None:
    assert refused_field(success_values=[1]) == "success_values"
    assert refused_field(success_path="$", success_values=[object()]) == "success_values"
    assert refused_field(success_path="$", success_values=["x" * 9_000]) == "success_values"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=2),
        lambda part: st.lists(part, max_size=2) | st.dictionaries(st.text(max_size=1), part, max_size=2),
        max_leaves=5,
    ),
    st.data(),
)
def test_values_are_the_same_when_their_json_is(one: Any, data: Any) -> None:
    other = data.draw(st.just(one) | st.booleans() | st.integers(-1, 1))
    assert same(one, other) == (json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True))
    assert same(1, 1.0)
