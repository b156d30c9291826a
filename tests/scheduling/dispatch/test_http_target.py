"""An HTTP target is checked when it is made; what cannot be sent cannot be said."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.http_request import METHODS
from cadenza.domain.scheduling.target import HttpTarget

URL = "https://example.org/"


def refused_field(**fields: Any) -> str | None:
    with pytest.raises(InvalidRequest) as refused:
        HttpTarget(**({"url": URL} | fields))
    assert refused.value.message.endswith(".")
    return refused.value.field


def test_the_first_four_fields_are_positional() -> None:
    target = HttpTarget(URL, "POST", {"X-Name": "value"}, {"key": [1, None, True]})
    assert (target.url, target.method, target.headers, target.body) == (
        URL,
        "POST",
        {"X-Name": "value"},
        {"key": [1, None, True]},
    )


def test_lists_and_tuples_are_the_same_target() -> None:
    written: dict[str, Any] = {"success_statuses": ["2xx", 304], "success_path": "$.a", "success_values": [1]}
    assert HttpTarget(URL, **written) == HttpTarget(
        URL, success_statuses=("2xx", "304"), success_path="$.a", success_values=(1,)
    )


@pytest.mark.parametrize("method", METHODS)
def test_methods_are_written_in_capitals(method: str) -> None:
    assert HttpTarget(URL, method.lower()).method == method


@pytest.mark.parametrize("method", ["TRACE", "CONNECT", "", "GET ", "G\r\nET", None, 1])
def test_other_methods_are_refused(method: Any) -> None:
    assert refused_field(method=method) == "method"


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.org/",
        "file:///etc/passwd",
        "http+unix://socket/",
        "example.org",
        "http://",
        "http:///path",
        "http://:80/",
        "http://user@example.org/",
        "http://user:password@example.org/",
        "http://example.org:0/",
        "http://example.org:99999/",
        "http://example.org:x/",
        "http://[::1/",
        "http://exa mple.org/",
        "http://example.org/\r\nX: y",
        "http://example.org/\t",
        "http://example.org/\0",
        "http://example.org\\@evil.example/",
        "http://example.org/\ud800",
        "http://example.org/${secret:KEY}",
        "http://example.org/" + "a" * 2_048,
        None,
        ["http://example.org/"],
    ],
)
def test_a_url_that_leads_nowhere_good_is_refused(url: Any) -> None:
    assert refused_field(url=url) == "url"


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org",
        "HTTPS://EXAMPLE.org:8443/a?b=c#d",
        "http://[2001:db8::1]:80/",
        "http://bücher.example/ü",
    ],
)
def test_other_urls_are_taken(url: str) -> None:
    assert HttpTarget(url).url == url


@pytest.mark.parametrize(
    "name",
    [
        "Host",
        "content-length",
        "Transfer-Encoding",
        "CONNECTION",
        "Keep-Alive",
        "TE",
        "Trailer",
        "Upgrade",
        "Expect",
        "Proxy-Authorization",
        "Idempotency-Key",
        "webhook-id",
        "Webhook-Signature",
        "Cadenza-Run-Id",
        "",
        "two words",
        "näme",
        "a:b",
        "a\nb",
    ],
)
def test_headers_that_are_managed_or_no_headers_are_refused(name: str) -> None:
    assert refused_field(headers={name: "x"}) == "headers"


@pytest.mark.parametrize(
    "value", ["a\r\nb", "a\nb", "a\rb", "a\0b", "\x7f", "\x85", "\ud800", "x" * 8_193, 1, None]
)
def test_header_values_that_are_no_line_are_refused(value: Any) -> None:
    assert refused_field(headers={"X-Name": value}) == "headers"


def test_headers_are_few_and_named_once() -> None:
    assert refused_field(headers={f"X-{number}": "" for number in range(65)}) == "headers"
    assert refused_field(headers={"X-Name": "a", "x-name": "b"}) == "headers"
    assert refused_field(headers=["X-Name"]) == "headers"
    assert len(HttpTarget(URL, headers={f"X-{number}": "é\t" for number in range(64)}).headers) == 64


@given(st.text(), st.text())
def test_no_header_can_end_its_line(name: str, value: str) -> None:
    try:
        target = HttpTarget(URL, headers={name: value})
    except InvalidRequest:
        return
    assert not set("\r\n\0") & set("".join([*target.headers, *target.headers.values()]))


@pytest.mark.parametrize(
    "body",
    [
        "x" * 262_144,
        {"a": object()},
        {1: "x"},
        {"a": float("nan")},
        [float("inf")],
        2**64,
        "\ud800",
        {"\udfff": 1},
        (1, 2),
        b"bytes",
        "${secret:}",
        {"a": ["${env:two words}"]},
        "${secret:" + "x" * 200 + "}",
    ],
)
def test_bodies_that_cannot_be_sent_are_refused(body: Any) -> None:
    assert refused_field(body=body) == "body"


def test_a_body_that_is_too_deep_is_refused() -> None:
    deep: Any = []
    for _ in range(2_000):
        deep = [deep]
    assert refused_field(body=deep) == "body"


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**63), 2**63 - 1)
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(),
        lambda part: st.lists(part, max_size=3) | st.dictionaries(st.text(), part, max_size=3),
        max_leaves=10,
    )
)
def test_json_is_taken_as_it_is(body: Any) -> None:
    assert HttpTarget(URL, body=body).body == body


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("capture_bytes", -1),
        ("capture_bytes", 262_145),
        ("capture_bytes", True),
        ("max_redirects", 6),
        ("max_redirects", -1),
        ("capture_headers", ["Set-Cookie"]),
        ("capture_headers", ["a b"]),
        ("capture_headers", "etag"),
        ("capture_headers", ["x"] * 33),
        ("signing", ["plain-key"]),
        ("signing", ["x${secret:KEY}"]),
        ("signing", ["${secret:KEY}"] * 5),
        ("signing", "${secret:KEY}"),
        ("headers", {"X": "".join(f"${{secret:K{number}}}" for number in range(33))}),
    ],
)
def test_other_limits_are_kept(field: str, value: Any) -> None:
    assert refused_field(**{field: value}) == field


def test_references_are_found_wherever_they_stand() -> None:
    target = HttpTarget(
        URL,
        headers={"A": "Bearer ${secret:ONE}", "B": "${env:TWO}${env:TWO}"},
        body={"a": ["x ${secret:three.3-x}", {"${secret:NAME}": 1}]},
        signing=("${secret:KEY}",),
    )
    assert target.references() == {"secret:ONE", "env:TWO", "secret:three.3-x", "secret:KEY"}
