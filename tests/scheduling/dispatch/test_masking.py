"""Secrets are masked in whatever form they come back."""

import base64
import json
from collections.abc import Callable
from html import escape
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cadenza.adapters.dispatch.http.secret_forms import SecretForms
from cadenza.adapters.dispatch.http.secret_references import MASK, RevealedSecrets

SECRETS = st.text(st.characters(codec="utf-8"), min_size=4, max_size=60)
AROUND = st.binary(max_size=7)


def masked(text: str, *secrets: str) -> str:
    return RevealedSecrets({f"secret:{number}": one for number, one in enumerate(secrets)}).mask(text)


def percent(text: str) -> str:
    """Every byte percent-encoded."""
    return "".join(f"%{byte:02X}" for byte in text.encode())


FORMS: list[Callable[[str], str]] = [
    str,
    str.upper,
    str.lower,
    str.swapcase,
    quote,
    quote_plus,
    percent,
    lambda text: percent(text).lower(),
    lambda text: quote(text, safe=""),
    lambda text: text[:5] + percent(text[5:9]) + text[9:],
    lambda text: json.dumps(text)[1:-1],
    lambda text: text.encode().hex(),
    lambda text: text.encode().hex().upper(),
    lambda text: json.dumps(text)[1:-1].replace("/", r"\/"),
    lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    lambda text: json.dumps(text, ensure_ascii=False)[1:-1].replace("/", r"\/"),
    escape,
    lambda text: escape(text, quote=False),
    lambda text: escape(text).replace("&#x27;", "&#039;"),
    lambda text: escape(text).replace("&#x27;", "&#39;").replace("&quot;", "&#34;"),
    lambda text: escape(text).encode("ascii", "xmlcharrefreplace").decode(),
    lambda text: "".join(f"&#{ord(letter)};" for letter in text),
    lambda text: "".join(f"&#x{ord(letter):X};" for letter in text),
    lambda text: quote(text, safe="", encoding="latin-1"),
    lambda text: quote_plus(text, encoding="latin-1"),
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("secret", ["hunter2-xyz/ +%&", "correct horse", "\"käse\" <b/> 'brot'"])
def test_a_secret_is_masked_in_every_form(secret: str, form: Callable[[str], str]) -> None:
    assert masked(f"a {form(secret)}, b", secret) == f"a {MASK}, b"


@given(SECRETS, AROUND, AROUND)
def test_a_secret_in_base64_is_masked_whatever_stands_around_it(
    secret: str, before: bytes, after: bytes
) -> None:
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        text = encode(before + secret.encode() + after).decode()
        found = masked(text, secret)
        left, mask, right = found.partition(MASK)
        assert mask
        assert len(left) <= len(before) * 8 // 6 + 1
        assert len(right.rstrip("=")) <= len(after) * 8 // 6 + 2


@given(SECRETS, st.data())
def test_a_secret_is_masked_whichever_of_its_characters_are_percent_encoded(
    secret: str, data: st.DataObject
) -> None:
    encoded = "".join(percent(one) if data.draw(st.booleans()) else one for one in secret)
    if "%" not in secret:  # Where a secret has percent signs itself, there are several readings.
        assert masked(f"<{encoded}>", secret) == f"<{MASK}>"


@given(st.text(max_size=60))
def test_what_has_no_secret_stays_as_it_is(text: str) -> None:
    if "hunter2" not in text.lower():
        assert masked(text, "hunter2-hunter2") == text


@pytest.mark.parametrize("form", [str, str.upper, quote, lambda text: text.encode().hex()])
def test_a_form_that_was_cut_off_is_masked_to_its_beginning(form: Callable[[str], str]) -> None:
    secret = "correct horse/battery"
    whole = form(secret)
    revealed = RevealedSecrets({"secret:A": secret})
    for kept in range(4, len(whole)):
        assert revealed.mask(f"ab{whole[:kept]}", cut=True) == f"ab{MASK}"


def test_short_secrets_and_none_mask_nothing() -> None:
    assert masked("abc 616263", "abc") == "abc 616263"
    assert masked("abc") == "abc"


@pytest.mark.parametrize("secret", ["%" * 40 + "x", "%25" * 20 + "x", "+ " * 30 + "x", "a" * 500 + "b"])
def test_no_text_makes_masking_try_again_and_again(secret: str) -> None:
    for text in (secret[:-1] * 50, percent(secret[:-1]) * 50, "%25" * 20_000, "+" * 60_000):
        assert secret not in masked(text, secret)


SECRET = "hunter2-xyz"
WORDS = st.sampled_from(
    [SECRET, f"a {SECRET} b", SECRET.upper(), percent(SECRET), "hunter2", "-xyz", "", "?"]
)
DOCUMENTS = st.recursive(
    WORDS | st.integers() | st.none() | st.booleans() | st.just(4_711_4711),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=20,
)


def masked_one_by_one(value: Any, revealed: RevealedSecrets) -> Any:
    """What becomes of a document if each word is looked at alone."""
    if isinstance(value, str):
        return revealed.mask(value)
    if isinstance(value, list):
        return [masked_one_by_one(part, revealed) for part in value]
    if isinstance(value, dict):
        return {revealed.mask(name): masked_one_by_one(part, revealed) for name, part in value.items()}
    return MASK if revealed.finds_any(json.dumps(value)) else value


@given(DOCUMENTS)
def test_words_of_a_document_are_masked_together_as_they_are_alone(document: Any) -> None:
    revealed = RevealedSecrets({"secret:one": SECRET, "secret:two": "47114711"})
    assert revealed.mask_json(document) == masked_one_by_one(document, revealed)


def test_a_document_with_many_words_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[str] = []
    spans = SecretForms.spans

    def counted(forms: SecretForms, text: str) -> list[tuple[int, int]]:
        looks.append(text)
        return spans(forms, text)

    monkeypatch.setattr(SecretForms, "spans", counted)
    document: Any = [{"a": "b"}] * 1_000 + [{"a": SECRET}]
    masked = RevealedSecrets({"secret:one": SECRET}).mask_json(document)
    assert masked == [{"a": "b"}] * 1_000 + [{"a": MASK}]
    assert len(looks) == 1
