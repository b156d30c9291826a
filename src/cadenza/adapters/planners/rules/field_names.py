"""Finds names and fields in an expression that its variables do not have.

The expression is parsed once more, since the library keeps its syntax tree to itself; each part is known by
the fields of what it comes to.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple, NoReturn

from cadenza.adapters.planners.rules.expression_cost import LOOPS, NO_TOKEN, Token
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.planning.rules.context import ANY_NAME, Fields, ListOf
from cadenza.domain.validation import quoted
from cadenza.domain.wording import nearest_first

OPERATORS = frozenset({"+", "-", "*", "/", "%", "<", ">", "<=", ">=", "==", "!=", "&&", "||", "in"})
PLAIN: Fields = {}
"""A text, a number, a boolean, a moment or null."""
LONGEST_NAME = 60
MOST_JOINS = 10_000
"""Fields that are put together for one expression; what comes after may have any."""


def unknown_field(tokens: Sequence[Token], known: Mapping[str, Fields]) -> str | None:
    """What is wrong with the first name or field that there never is, as a sentence about `when`."""
    try:
        _FieldReader(tokens, known).read()
    except InvalidRequest as problem:
        return problem.message
    return None


class _Part(NamedTuple):
    """A part of an expression: how it is called in a sentence, and the fields of what it comes to."""

    name: str
    fields: Fields


class _FieldReader:
    """Reads an expression that compiles, from left to right; InvalidRequest at the first unknown field."""

    def __init__(self, tokens: Sequence[Token], known: Mapping[str, Fields]) -> None:
        self._tokens = tokens
        self._place = 0
        self._known = dict(known)
        self._joins = 0

    def read(self) -> None:
        self._expression()
        if self._place < len(self._tokens):
            self._out_of_place()

    def _expression(self) -> Fields:
        """Operands with operators between them, or a choice between two expressions."""
        fields = self._operand().fields
        while self._next in OPERATORS:
            adds = self._take() == "+"
            other = self._operand().fields
            fields = self._either(fields, other) if adds else PLAIN
        if self._take_if("?"):
            fields = self._expression()
            self._expect(":")
            fields = self._either(fields, self._expression())
        return fields

    def _operand(self) -> _Part:
        if self._next in ("!", "-"):
            while self._next in ("!", "-"):
                self._take()
            return self._operand()._replace(fields=PLAIN)
        part = self._primary()
        while self._next in (".", "["):
            part = self._member(part) if self._take_if(".") else self._element(part)
        return part

    def _primary(self) -> _Part:
        token = self._token(0)
        if token.is_constant:
            return _Part(self._take(), PLAIN)
        if token.kind == "word":
            return self._call() if self._token(1).text == "(" else self._variable()
        if self._take_if("("):
            inner = self._expression()
            self._expect(")")
            return _Part("(…)", inner)
        if self._take_if("["):
            return _Part("[…]", ListOf(self._any_of(self._expressions("]"))))
        self._expect("{")
        return _Part("{…}", self._entries())

    def _variable(self) -> _Part:
        name = self._take()
        if name not in self._known:
            _refuse(f"when has no {quoted(name)}; it has {nearest_first(name, self._known)}.")
        return _Part(name, self._known[name])

    def _call(self) -> _Part:
        name = self._take()
        self._expect("(")
        given = self._any_of(self._expressions(")"))
        return _Part(f"{name}(…)", given if name == "dyn" else PLAIN)

    def _entries(self) -> Fields:
        fields: dict[str, Fields] = {}
        while not self._ends("}"):
            key = self._token(0)
            name = _literal(key) if key.kind == "text" and self._token(1).text == ":" else ANY_NAME
            self._expression()
            self._expect(":")
            fields[name] = self._either(fields.get(name, PLAIN), self._expression())
        return fields

    def _member(self, part: _Part) -> _Part:
        name = self._take()
        if not self._take_if("("):
            return _Part(f"{part.name}.{name}", _field(part, name))
        called = f"{part.name}.{name}(…)"
        if name not in LOOPS:
            self._expressions(")")
            return _Part(called, PLAIN)
        elements = part.fields.element if isinstance(part.fields, ListOf) else part.fields and PLAIN
        variable = self._take()
        self._expect(",")
        with self._knowing(variable, elements):
            result = self._expressions(")")[-1]
        if name == "map":
            return _Part(called, ListOf(result))
        return _Part(called, ListOf(elements) if name == "filter" else PLAIN)

    def _element(self, part: _Part) -> _Part:
        self._expect("[")
        key = self._token(0)
        is_name = key.kind == "text" and self._token(1).text == "]"
        self._expression()
        self._expect("]")
        if is_name:
            return _Part(f"{part.name}[{key.text[:LONGEST_NAME]}]", _field(part, _literal(key)))
        name = f"{part.name}[…]"
        if isinstance(part.fields, ListOf):
            return _Part(name, part.fields.element)
        if part.fields is not None and not part.fields:
            _refuse(f"when cannot read an element of {part.name}, which has none.")
        return _Part(name, part.fields and self._any_of(list(part.fields.values())))

    def _expressions(self, closing: str) -> list[Fields]:
        """Expressions with commas between them, up to a closing bracket."""
        found = []
        while not self._ends(closing):
            found.append(self._expression())
        return found

    def _any_of(self, alternatives: Sequence[Fields]) -> Fields:
        joined = PLAIN
        for fields in alternatives:
            joined = self._either(joined, fields)
        return joined

    def _either(self, one: Fields, other: Fields) -> Fields:
        """The fields that one of two values has; a plain value adds none."""
        self._joins += 1
        if one is None or other is None or self._joins > MOST_JOINS:
            return None
        if not one or not other:
            return one or other
        if isinstance(one, ListOf) and isinstance(other, ListOf):
            return ListOf(self._either(one.element, other.element))
        if isinstance(one, ListOf) or isinstance(other, ListOf):
            return None
        return {name: self._either(one.get(name, {}), other.get(name, {})) for name in {**one, **other}}

    @contextmanager
    def _knowing(self, variable: str, fields: Fields) -> Iterator[None]:
        """Know a variable while its loop is read."""
        before = self._known
        self._known = {**before, variable: fields}
        yield
        self._known = before

    @property
    def _next(self) -> str:
        token = self._token(0)
        return token.text if token.kind == "sign" or token.text == "in" else ""

    def _token(self, ahead: int) -> Token:
        place = self._place + ahead
        return self._tokens[place] if place < len(self._tokens) else NO_TOKEN

    def _take(self) -> str:
        self._place += 1
        return (
            self._tokens[self._place - 1].text if self._place <= len(self._tokens) else self._out_of_place()
        )

    def _take_if(self, sign: str) -> bool:
        is_next = self._next == sign
        self._place += is_next
        return is_next

    def _ends(self, closing: str) -> bool:
        """Whether a bracket closes here, after a comma or without one."""
        self._take_if(",")
        return self._take_if(closing)

    def _expect(self, sign: str) -> None:
        if not self._take_if(sign):
            self._out_of_place()

    def _out_of_place(self) -> NoReturn:
        _refuse(f"when cannot be read: {self._token(0).text[:LONGEST_NAME] or 'its end'} is out of place.")


def _literal(token: Token) -> str:
    return token.text.lstrip("rRbB").strip("\"'")


def _field(part: _Part, name: str) -> Fields:
    """The fields of a part's field; InvalidRequest if it has no such field."""
    fields, name = part.fields, name[:LONGEST_NAME]
    if fields is None:
        return None
    if isinstance(fields, ListOf):
        _refuse(
            f"when cannot read {name} of {part.name}, which is a list;"
            f" {part.name}[0] is its first element, {part.name}.exists(x, …) looks at each."
        )
    if not fields:
        _refuse(f"when cannot read {name} of {part.name}, which has no fields.")
    if name not in fields and ANY_NAME not in fields:
        _refuse(f"when finds no {name} in {part.name}; it has {nearest_first(name, fields)}.")
    return fields.get(name, fields.get(ANY_NAME))


def _refuse(sentence: str) -> NoReturn:
    raise InvalidRequest(sentence, "when")
