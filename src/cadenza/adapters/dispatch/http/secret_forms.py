"""The forms in which a secret may come back: in other case, in JSON, HTML or a URL, as hex or as base64."""

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from html import escape
from typing import NamedTuple
from urllib.parse import quote, quote_plus, unquote, unquote_plus

SHORTEST_MASKED = 4
"""Shorter secrets are not masked: they would match in most texts."""
MOST_MIXED = 300
"""Longer secrets are found percent-encoded only in the ways in which libraries do it."""
QUOTES_IN_HTML = (("&quot;", "&#x27;"), ("&quot;", "&#039;"), ("&quot;", "&apos;"), ("&#34;", "&#39;"))
URL_SAFE = str.maketrans("+/", "-_")
Span = tuple[int, int]


class SecretForms(NamedTuple):
    """What to look for in a text. To look is a search for substrings, in time that grows with the text."""

    exact: tuple[str, ...]
    """Forms in which capital and small letters differ."""
    folded: tuple[str, ...]
    """Forms in small letters, looked for in the text in small letters."""
    mixed: tuple[str, ...]
    """Secrets in small letters of which any character may be percent-encoded."""

    def spans(self, text: str) -> list[Span]:
        """Where forms stand in a text, from left to right, without overlaps."""
        found = [*_occurrences(self.exact, text), *_occurrences(self.folded, _lower(text))]
        if "%" in text:
            found += [span for secret in self._percent_encoded(text) for span in _mixed_spans(secret, text)]
        return _merged(found)

    def _percent_encoded(self, text: str) -> list[str]:
        decoded = _lower(unquote(text))
        with_spaces = _lower(unquote_plus(text)) if "+" in text else decoded
        return [secret for secret in self.mixed if secret in decoded or secret in with_spaces]

    def length_of_tail(self, text: str) -> int:
        """How many characters at the end of a text are the beginning of a form; 0 if they are none."""
        tails = [_tail(form, text) for form in self.exact]
        lowered = _lower(text)
        return max(tails + [_tail(form, lowered) for form in self.folded])


@lru_cache(maxsize=256)
def secret_forms(values: frozenset[str]) -> SecretForms | None:
    """The forms of secrets; None if none is long enough."""
    wanted = {plain for value in values for plain in (value, value.removeprefix("whsec_"))}
    wanted = {value for value in wanted if len(value) >= SHORTEST_MASKED}
    if not wanted:
        return None
    exact = {form for value in wanted for form in _base64_forms(value.encode())} | wanted
    folded = {_lower(form) for value in wanted for form in _encoded(value)}
    mixed = {_lower(value) for value in wanted if len(value) <= MOST_MIXED}
    return SecretForms(tuple(exact), tuple(folded), tuple(mixed))


def _encoded(value: str) -> Iterator[str]:
    """Plain, in JSON, in HTML, in a URL, and as hex."""
    yield value
    yield from _in_json(value)
    yield from _in_html(value)
    yield from _in_url(value)
    yield value.encode().hex()


def _in_json(value: str) -> Iterator[str]:
    """With and without escaped letters and slashes."""
    for ascii_only in (True, False):
        spelled = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
        yield spelled
        yield spelled.replace("/", r"\/")


def _in_html(value: str) -> Iterator[str]:
    """With entities for what libraries escape, each in its own way, and for every character."""
    yield escape(value, quote=False)
    for double, single in QUOTES_IN_HTML:
        spelled = escape(value, quote=False).replace('"', double).replace("'", single)
        yield spelled
        yield spelled.encode("ascii", "xmlcharrefreplace").decode()
    yield "".join(f"&#{ord(letter)};" for letter in value)
    yield "".join(f"&#x{ord(letter):x};" for letter in value)


def _in_url(value: str) -> Iterator[str]:
    yield quote(value, safe="")
    yield quote(value)
    yield quote_plus(value)
    yield "".join(f"%{byte:02x}" for byte in value.encode())
    with suppress(UnicodeEncodeError):
        yield quote(value, safe="", encoding="latin-1", errors="strict")
        yield quote_plus(value, encoding="latin-1", errors="strict")


def _base64_forms(raw: bytes) -> Iterator[str]:
    """The whole, and the letters that depend on the secret alone, whatever stands before and after it."""
    yield b64encode(raw).decode()
    yield b64encode(raw).decode().translate(URL_SAFE)
    for before, unsure in ((0, 0), (1, 2), (2, 3)):
        encoded = b64encode(bytes(before) + raw).decode()
        form = encoded[unsure : (before + len(raw)) * 8 // 6]
        if len(form) >= SHORTEST_MASKED:
            yield form
            yield form.translate(URL_SAFE)


def _lower(text: str) -> str:
    """A text in small letters, of the same length: some letters would become two."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else "".join(map(_lower_letter, text))


def _lower_letter(letter: str) -> str:
    lowered = letter.lower()
    return lowered if len(lowered) == 1 else letter


def _occurrences(forms: Iterable[str], text: str) -> Iterator[Span]:
    for form in forms:
        start = text.find(form)
        while start >= 0:
            yield start, start + len(form)
            start = text.find(form, start + len(form))


def _mixed_spans(secret: str, text: str) -> Iterator[Span]:
    return (found.span() for found in _mixed_pattern(secret).finditer(text))


@lru_cache(maxsize=256)
def _mixed_pattern(secret: str) -> re.Pattern[str]:
    """Each character as it is or percent-encoded; atomic, so that no text takes more than one attempt."""
    parts = (f"(?>{_percent(letter)}|{_plain(letter)})" for letter in secret)
    return re.compile("".join(parts), re.IGNORECASE)


def _percent(letter: str) -> str:
    """Percent-encoded, as a capital or as a small letter."""
    spelled = {"".join(f"%{byte:02x}" for byte in case.encode()) for case in (letter, letter.upper())}
    return "|".join(sorted(spelled))


def _plain(letter: str) -> str:
    return r"[ +]" if letter == " " else re.escape(letter)


def _merged(spans: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _tail(form: str, text: str) -> int:
    """How many characters at the end of a text are the beginning of this form."""
    start = text.find(form[:SHORTEST_MASKED], max(0, len(text) - len(form) + 1))
    while start >= 0:
        if form.startswith(text[start:]):
            return len(text) - start
        start = text.find(form[:SHORTEST_MASKED], start + 1)
    return 0
