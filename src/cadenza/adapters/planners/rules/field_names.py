"""Finds fields that an expression names and its variables do not have."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from cadenza.adapters.planners.rules.expression_cost import NO_TOKEN, Token
from cadenza.domain.planning.rules.context import ANY_NAME, Fields, ListOf
from cadenza.domain.wording import nearest_first

BRACKETS = {"(": ")", "[": "]", "{": "}"}
LONGEST_NAME = 60


class LoopVariable(NamedTuple):
    """The name that a loop gives to its elements, their fields, and the tokens within the loop."""

    name: str
    fields: Fields
    start: int
    end: int


def unknown_field(tokens: Sequence[Token], known: Mapping[str, Fields]) -> str | None:
    """What is wrong with the first field that a variable does not have, as a sentence about `when`."""
    loops: list[LoopVariable] = []
    for place, token in enumerate(tokens):
        is_name = token.kind == "word" and not token.is_field and _text(tokens, place + 1) != "("
        around = [one.fields for one in loops if one.name == token.text and one.start <= place < one.end]
        wrong = _follow(tokens, place, (around or [known.get(token.text)])[-1], loops) if is_name else None
        if wrong is not None:
            return wrong
    return None


def _follow(tokens: Sequence[Token], place: int, fields: Fields, loops: list[LoopVariable]) -> str | None:
    """Follow a name through its fields, elements and loops; what is wrong on the way."""
    path = tokens[place].text
    for step in _steps(tokens, place + 1):
        if fields is None:
            return None
        if step.is_call:
            loops.append(LoopVariable(_text(tokens, step.start), _looped(fields), step.start, step.end))
            fields = fields if step.name == "filter" else None
            continue
        if isinstance(fields, ListOf) or step.name is None:
            fields = fields.element if isinstance(fields, ListOf) else fields.get(ANY_NAME)
            path += "[…]"
            continue
        if step.name not in fields and ANY_NAME not in fields:
            return _sentence(path, step.name, fields)
        fields = fields.get(step.name, fields.get(ANY_NAME))
        path += f".{step.name}"
    return None


class Step(NamedTuple):
    """A field, an index or a call behind a name; an index that is computed has no name."""

    name: str | None
    start: int
    end: int
    is_call: bool = False


def _steps(tokens: Sequence[Token], place: int) -> Iterator[Step]:
    while True:
        sign, name = _text(tokens, place), _text(tokens, place + 1)
        if sign == "[":
            end = _closing(tokens, place)
            literal = tokens[place + 1].kind == "text" and end == place + 2
            yield Step(name.strip("\"'") if literal else None, place, end)
            place = end + 1
        elif sign == "." and _text(tokens, place + 2) == "(":
            end = _closing(tokens, place + 2)
            yield Step(name, place + 3, end, is_call=True)
            place = end + 1
        elif sign == "." and tokens[place + 1].kind == "word":
            yield Step(name, place, place + 1)
            place += 2
        else:
            return


def _looped(fields: Fields) -> Fields:
    """The fields of what a loop goes over: a list's elements, or the names in a mapping."""
    return fields.element if isinstance(fields, ListOf) else {}


def _text(tokens: Sequence[Token], place: int) -> str:
    return (tokens[place] if place < len(tokens) else NO_TOKEN).text


def _closing(tokens: Sequence[Token], opening: int) -> int:
    depth = 0
    for place in range(opening, len(tokens)):
        if tokens[place].kind == "sign":
            depth += (tokens[place].text in BRACKETS) - (tokens[place].text in BRACKETS.values())
        if depth == 0:
            return place
    return len(tokens)


def _sentence(path: str, name: str, fields: Mapping[str, Fields]) -> str:
    if not fields:
        return f"when cannot read {name[:LONGEST_NAME]} of {path}, which has no fields."
    return f"when finds no {name[:LONGEST_NAME]} in {path}; it has {nearest_first(name, fields)}."
