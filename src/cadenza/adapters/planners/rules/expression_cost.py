"""An upper bound of an expression's run time, from its text and the size of its variables.

An evaluation cannot be interrupted, so one that might take too long is not started. The library copies
the value of every field it selects, and the list built so far for every element that `map` and `filter` add.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.planning.rules.context import VARIABLES

TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*)
    |(?P<text>[bB]?[rR][bB]?(?:\"{3}.*?\"{3}|'{3}.*?'{3}|"[^"\n]*"|'[^'\n]*')
        |[bB]?(?:\"{3}(?:\\.|.)*?\"{3}|'{3}(?:\\.|.)*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))
    |(?P<number>(?:0[xX][0-9A-Fa-f]+|[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?)[uU]?)
    |(?P<word>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<sign>==|!=|<=|>=|&&|\|\||.)""",
    re.VERBOSE | re.DOTALL,
)
LOOPS = frozenset({"map", "filter", "all", "exists", "exists_one"})
CONSTANTS = frozenset({"true", "false", "null"})


class Token(NamedTuple):
    """A word, an operator or a value, and the loops around it, the outermost first."""

    kind: str
    text: str
    inside: tuple[str, ...] = ()
    is_field: bool = False
    """Whether it follows a dot."""

    @property
    def is_constant(self) -> bool:
        """Whether it is a string, a number, true, false or null."""
        return self.kind in ("text", "number") or self.text in CONSTANTS


NO_TOKEN = Token("", "")


def tokens_of(expression: str) -> list[Token]:
    """All tokens of an expression that compiles."""
    found: list[Token] = []
    open_: list[str] = []
    for kind, text in _split(expression):
        before = found[-1] if found else NO_TOKEN
        if (kind, text) == ("sign", ")") and open_:
            open_.pop()
        inside = tuple(word for word in open_ if word)
        found.append(Token(kind, text, inside, is_field=before.text == "." and before.kind == "sign"))
        if (kind, text) == ("sign", "("):
            open_.append(before.text if before.kind == "word" and before.text in LOOPS else "")
    return found


def _split(expression: str) -> Iterator[tuple[str, str]]:
    for found in TOKEN.finditer(expression):
        if found.lastgroup not in (None, "space"):
            yield str(found.lastgroup), found.group()


COPYING = frozenset({"map", "filter"})
DEEPEST_LOOP = 2
MOST_PARTS = 20_000
LONGEST_PATTERN = 200
MOST_NS = 100_000_000
"""A tenth of a second."""
STEP_NS, PART_NS = 100, 100
"""One step; copying or comparing one part of a value."""
CHARACTERS_PER_STEP = 4_096
"""Reading this many characters takes about as long as one step."""
PATTERN_NS, PATTERN_CLASS_NS, PATTERN_CHARACTER_NS = 100_000, 500_000, 10_000
"""Compiling a pattern: the base cost, per character class, per character."""


class ValueSize(NamedTuple):
    """The size of a value."""

    parts: int = 0
    longest: int = 0
    """The number of elements in the longest list or map."""
    largest_element: int = 0
    """The number of parts of the largest list element."""
    text: int = 0
    """The length of the longest string."""


class ExpressionCost(NamedTuple):
    """The parts of an expression that determine its run time."""

    steps: int
    depth: int
    """How deep loops are nested."""
    loops: int
    copies: int
    """How many loops build lists."""
    reads_variables_in_loop: bool
    """Whether a loop reads variables besides its elements, and so may read everything for each element."""
    selects: int
    """How often a field or an element is selected."""
    compares: int
    """How often values are compared that may be large."""
    sums: int
    """Additions; each may double a string or a list."""
    listed: int
    """How many elements literal lists and maps have."""
    pattern_ns: int

    def is_affordable(self, size: ValueSize) -> bool:
        """Whether it may be evaluated on a value of this size."""
        return size.parts <= MOST_PARTS and self._most_ns(size) <= MOST_NS

    def _most_ns(self, size: ValueSize) -> float:
        growth = (1 + self.sums / (self.loops + 1)) ** (self.loops + 1)
        parts, length = growth * max(size.parts, 1), growth * max(size.longest, self.listed, 1)
        texts = 1 + growth * size.text / CHARACTERS_PER_STEP
        each = texts * (self.steps * STEP_NS + self.pattern_ns)
        if not self.depth:
            return each + parts * (self.selects + self.compares) * PART_NS
        touched = self.selects + self.compares
        if self.reads_variables_in_loop:
            moved = parts * (touched + self.copies * length)
            rounds: float = length**self.depth
            return rounds * (each + moved * PART_NS)
        # Nested loops go through the parts of their elements, and so through every part once.
        again: float = self.listed**self.depth
        moved = parts * (self.selects + self.copies * length) + parts * self.compares * max(
            size.largest_element, 1
        )
        return again * (parts * each + moved * PART_NS)


def cost_of(tokens: Sequence[Token]) -> ExpressionCost:
    """The cost of an expression that compiles; InvalidRequest if it is too high for any value."""
    depth = max((len(token.inside) for token in tokens), default=0)
    if depth > DEEPEST_LOOP or any(token.inside.count("map") > 1 for token in tokens):
        raise InvalidRequest("when may have loops two deep, and no map inside of another.", "when")
    signs = [token.text for token in tokens if token.kind == "sign"]
    loops = [token.text for token in tokens if token.kind == "word" and token.text in LOOPS]
    return ExpressionCost(
        steps=len(tokens),
        depth=depth,
        loops=len(loops),
        copies=sum(word in COPYING for word in loops),
        reads_variables_in_loop=any(
            bool(token.inside) and token.kind == "word" and token.text in VARIABLES and not token.is_field
            for token in tokens
        ),
        selects=signs.count(".") + signs.count("["),
        compares=_compares(tokens),
        sums=signs.count("+"),
        listed=_listed(tokens),
        pattern_ns=_pattern_ns(tokens),
    )


def size_of(value: Any) -> ValueSize:
    """The size of a value; one that is too large is not measured to the end."""
    longest = largest_element = text = parts = 0

    def count_parts(one: Any) -> int:
        nonlocal longest, largest_element, text, parts
        parts += 1
        if isinstance(one, str):
            text = max(text, len(one))
        if not isinstance(one, dict | list) or parts > MOST_PARTS:
            return 1
        longest = max(longest, len(one))
        held = one.values() if isinstance(one, dict) else one
        inside = [count_parts(part) for part in islice(held, MOST_PARTS)]
        if isinstance(one, list):
            largest_element = max([largest_element, *inside])
        return 1 + sum(inside)

    count_parts(value)
    return ValueSize(max(parts, longest), longest, largest_element, text)


def _listed(tokens: Sequence[Token]) -> int:
    """An upper bound of literal elements: the commas plus one, if there is a literal list or map."""
    pairs = zip([NO_TOKEN, *tokens], tokens, strict=False)
    has_literal_collection = any(
        token.kind == "sign"
        and (
            token.text == "{"
            or (token.text == "[" and before.kind != "word" and before.text not in (")", "]"))
        )
        for before, token in pairs
    )
    return (
        1 + sum(token.text == "," and token.kind == "sign" for token in tokens)
        if has_literal_collection
        else 1
    )


def _compares(tokens: Sequence[Token]) -> int:
    """How often values are compared that may be large; comparisons with a constant are not counted."""
    around = zip([NO_TOKEN, *tokens], tokens, [*tokens[1:], NO_TOKEN], strict=False)
    return sum(
        sign.text == "in" or (sign.text in ("==", "!=") and not (left.is_constant or right.is_constant))
        for left, sign, right in around
    )


def _pattern_ns(tokens: Sequence[Token]) -> int:
    """The cost of patterns; each must be a literal, so that no response can supply a costly one."""
    total_ns = 0
    for place, token in enumerate(tokens):
        if token.kind == "word" and token.text == "matches":
            opened, pattern, closed = [*tokens[place + 1 : place + 4], *[NO_TOKEN] * 3][:3]
            is_literal_pattern = (opened.text, pattern.kind, closed.text) == ("(", "text", ")")
            if not is_literal_pattern or len(pattern.text) > LONGEST_PATTERN or "{" in pattern.text:
                raise InvalidRequest(
                    "matches takes a pattern that is written out, such as x.matches('^5[0-9]+'): without {},"
                    f" and at most {LONGEST_PATTERN} characters long.",
                    "when",
                )
            classes = pattern.text.count("\\") + pattern.text.count("(?")
            total_ns += PATTERN_NS + PATTERN_CLASS_NS * classes + PATTERN_CHARACTER_NS * len(pattern.text)
    return total_ns
