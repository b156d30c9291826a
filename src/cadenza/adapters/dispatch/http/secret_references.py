"""Replaces references by secrets in requests, and masks secrets in responses."""

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from urllib.parse import quote, quote_plus

from cadenza.adapters.dispatch.http.failure import ExchangeFailed, Failure
from cadenza.domain.errors import CadenzaError
from cadenza.domain.json_values import Json
from cadenza.domain.scheduling.target import REFERENCE
from cadenza.ports.secrets import SecretResolver

SHORTEST_MASKED = 4
"""Shorter secrets are not masked: they would match in most texts."""
MASK = "[masked]"


class RevealedSecrets:
    """The secrets of one exchange: fills references, and masks the values."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values
        forms = {form for value in values.values() for form in _forms(value)}
        self._forms = sorted(forms, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, self._forms))) if forms else None

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
        return self._pattern is not None and self._pattern.search(text) is not None

    def mask(self, text: str, *, cut: bool = False) -> str:
        """The text with secrets masked; if it was cut, also the beginning of a secret at its end."""
        if self._pattern is None:
            return text
        masked = self._pattern.sub(MASK, text)
        return self._without_tail(masked) if cut else masked

    def mask_json(self, value: Json) -> Json:
        """The value with secrets masked: in texts, names of fields, and digits of numbers."""
        if self._pattern is None:
            return value
        if isinstance(value, str):
            return self.mask(value)
        if isinstance(value, list):
            return [self.mask_json(part) for part in value]
        if isinstance(value, dict):
            return {self.mask(name): self.mask_json(part) for name, part in value.items()}
        return MASK if self.finds_any(json.dumps(value)) else value

    def _without_tail(self, text: str) -> str:
        for form in self._forms:
            for length in range(min(len(form) - 1, len(text)), SHORTEST_MASKED - 1, -1):
                if text.endswith(form[:length]):
                    return text[:-length] + MASK
        return text


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


def _forms(value: str) -> set[str]:
    """The forms in which a secret may come back: plain, in JSON, in a URL, in base64."""
    if len(value) < SHORTEST_MASKED:
        return set()
    plain = value.removeprefix("whsec_")
    forms = {value, plain, json.dumps(value)[1:-1], quote(value, safe=""), quote(value), quote_plus(value)}
    forms.add(b64encode(value.encode()).decode())
    return {form for form in forms if len(form) >= SHORTEST_MASKED}
