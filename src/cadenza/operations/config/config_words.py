"""Words that people write in files in the place of those of REST."""

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import Field, create_model

from cadenza.domain.durations import span_ms
from cadenza.domain.errors import InvalidRequest
from cadenza.operations.scheduling.schemas import Shape

IF_SAID = Field(default=None, exclude_if=lambda value: value is None)


def in_milliseconds(words: Mapping[str, str]) -> Callable[[Any], Any]:
    """Put milliseconds in the place of spans such as 20s or 1h30m."""

    def read(value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        given = dict(value)
        for word in words.keys() & given.keys():
            if words[word] in given:
                raise ValueError(f"takes {word} or {words[word]}, not both")
            given[words[word]] = milliseconds_of(word, given.pop(word))
        return given

    return read


def milliseconds_of(word: str, value: Any) -> int:
    """A span in milliseconds, or what is wrong with it."""
    try:
        return span_ms(word, value)
    except InvalidRequest as problem:
        raise ValueError(problem.message) from None


def spoken(name: str, base: type[Shape], words: Mapping[str, str]) -> type[Shape]:
    """A shape as a schema shows it: with the spans that may stand for its fields."""
    span = Field(default=None, description="A span such as 500ms, 20s, 5m or 1h30m.")
    own = base.model_fields
    fields: dict[str, Any] = {
        field: (own[field].annotation, None)
        for field in words.values()
        if field in own and own[field].is_required()
    }
    fields |= {word: (str | None, span) for word, field in words.items() if field in own}
    return create_model(name, __base__=base, **fields)
