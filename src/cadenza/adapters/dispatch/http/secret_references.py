"""Replaces references by secrets in requests, and masks secrets in responses."""

import json
from collections.abc import Iterable, Iterator, Mapping

from cadenza.adapters.dispatch.http.failure import ExchangeFailed, Failure
from cadenza.adapters.dispatch.http.secret_forms import secret_forms
from cadenza.domain.errors import CadenzaError
from cadenza.domain.http_request import REFERENCE
from cadenza.domain.json_values import Json
from cadenza.ports.secrets import SecretResolver

MASK = "[masked]"
BETWEEN = "\0"
"""Stands between words that are looked at together; no secret has it."""


class RevealedSecrets:
    """The secrets of one exchange: fills references, and masks the values."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values
        self._forms = secret_forms(frozenset(values.values()))

    def fill(self, text: str) -> str:
        """The text with references replaced by secrets."""
        return REFERENCE.sub(lambda found: self._values[found[1]], text) if "${" in text else text

    def fill_json(self, value: Json) -> Json:
        """The value with secrets in all its texts; names of fields stay as they are."""
        if isinstance(value, str):
            return self.fill(value)
        if isinstance(value, list):
            return [self.fill_json(part) for part in value]
        if isinstance(value, dict):
            return {name: self.fill_json(part) for name, part in value.items()}
        return value

    def finds_any(self, text: str) -> bool:
        """Whether a text contains a secret."""
        return self._forms is not None and bool(self._forms.spans(text))

    def mask(self, text: str, *, cut: bool = False) -> str:
        """The text with secrets masked; if it was cut, also the beginning of a secret at its end."""
        if self._forms is None:
            return text
        masked = _without(text, self._forms.spans(text))
        tail = self._forms.length_of_tail(masked) if cut else 0
        return masked[:-tail] + MASK if tail else masked

    def mask_json(self, value: Json) -> Json:
        """The value with secrets masked: in texts, names of fields, and digits of numbers.

        They are looked for once, in all words together: a document may have a hundred thousand.
        """
        if self._forms is None:
            return value
        together = BETWEEN.join(word.replace(BETWEEN, "?") for word in _words(value))
        masked = self.mask(together)
        return value if masked == together else _with_words(value, iter(masked.split(BETWEEN)))


def _words(value: Json) -> Iterator[str]:
    """The texts, names of fields and other values of a document, from the first to the last."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for part in value:
            yield from _words(part)
    elif isinstance(value, dict):
        for name, part in value.items():
            yield name
            yield from _words(part)
    else:
        yield json.dumps(value)


def _with_words(value: Json, words: Iterator[str]) -> Json:
    """The document with these words in the place of its own; a number that differs is masked whole."""
    if isinstance(value, str):
        return next(words)
    if isinstance(value, list):
        return [_with_words(part, words) for part in value]
    if isinstance(value, dict):
        return {next(words): _with_words(part, words) for part in value.values()}
    return value if next(words) == json.dumps(value) else MASK


def _without(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """A text with some of its parts masked."""
    kept, end = [], 0
    for start, next_end in spans:
        kept += [text[end:start], MASK]
        end = next_end
    return "".join([*kept, text[end:]])


NO_SECRETS = RevealedSecrets({})


async def reveal(references: Iterable[str], *, secrets: SecretResolver, tenant_id: str) -> RevealedSecrets:
    """Resolve all references; ExchangeFailed, which names the reference, if one cannot be resolved."""
    values = {}
    for reference in references:
        try:
            values[reference] = await secrets.reveal(tenant_id, reference)
            values[reference].encode()
        except CadenzaError as problem:
            raise _unrevealed(reference, problem.message) from None
        except UnicodeError:
            raise _unrevealed(reference, "It is not a text.") from None
    return RevealedSecrets(values) if values else NO_SECRETS


def _unrevealed(reference: str, reason: str) -> ExchangeFailed:
    return ExchangeFailed(Failure.SECRET, f"${{{reference}}} could not be revealed: {reason}")
