"""How long an expression may take, told from its text and the size of what it sees, before it is evaluated.

An evaluation cannot be interrupted, so what might take too long does not begin. The library copies what
a field leads to, and what a list holds so far with every element that `map` and `filter` add.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.planning.rules.context import NAMES

TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*)
    |(?P<text>[bB]?[rR][bB]?(?:\"{3}.*?\"{3}|'{3}.*?'{3}|"[^"\n]*"|'[^'\n]*')
        |[bB]?(?:\"{3}(?:\\.|.)*?\"{3}|'{3}(?:\\.|.)*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))
    |(?P<number>[0-9][0-9A-Za-z.]*(?:(?<=[eE])[-+][0-9]+)?)
    |(?P<word>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<sign>==|!=|<=|>=|&&|\|\||.)""",
    re.VERBOSE | re.DOTALL,
)
LOOPS = frozenset({"map", "filter", "all", "exists", "exists_one"})
CONSTANTS = frozenset({"true", "false", "null"})


class Token(NamedTuple):
    """A word, a sign or a value, and the loops that it stands in, the outermost first."""

    kind: str
    text: str
    inside: tuple[str, ...] = ()
    is_field: bool = False
    """Does it follow a dot?"""

    @property
    def is_constant(self) -> bool:
        """Is it a text, a number, or one of few words?"""
        return self.kind in ("text", "number") or self.text in CONSTANTS


NO_TOKEN = Token("", "")


def tokens_of(expression: str) -> list[Token]:
    """All tokens of an expression that can be read."""
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


def bound_names(tokens: Sequence[Token]) -> set[str]:
    """The names that loops give to their elements."""
    triples = zip(tokens, tokens[1:], tokens[2:], strict=False)
    return {name.text for loop, opened, name in triples if loop.text in LOOPS and opened.text == "("}


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
A_STEP_NS, A_PART_NS = 100, 100
"""To take a step; to copy or compare a part of a value."""
A_TEXT = 4_096
"""To go through so many characters takes about as long as a step."""
A_PATTERN_NS, A_CLASS_NS, A_CHARACTER_NS = 100_000, 500_000, 10_000
"""To prepare a pattern: at all, for each class such as a digit, for each character."""


class Size(NamedTuple):
    """How large a value is."""

    parts: int = 0
    longest: int = 0
    """The number of elements in the longest list or map."""
    heaviest: int = 0
    """The parts of the largest element of a list."""
    text: int = 0
    """The length of the longest text."""


class Weight(NamedTuple):
    """What makes an expression slow."""

    steps: int
    depth: int
    """How deep loops stand in loops."""
    loops: int
    copies: int
    """How many loops build lists."""
    looks_beyond: bool
    """Whether a loop looks at more than its elements, so that it may look at all again for each of them."""
    selects: int
    """How often a part of a value is chosen."""
    compares: int
    """How often something is compared that may be large."""
    sums: int
    """Each may double a text or a list."""
    listed: int
    """How many elements are written out."""
    pattern_ns: int

    def bearable(self, size: Size) -> bool:
        """May it be evaluated on something of this size?"""
        return size.parts <= MOST_PARTS and self._most_ns(size) <= MOST_NS

    def _most_ns(self, size: Size) -> float:
        growth = (1 + self.sums / (self.loops + 1)) ** (self.loops + 1)
        parts, length = growth * max(size.parts, 1), growth * max(size.longest, self.listed, 1)
        texts = 1 + growth * size.text / A_TEXT
        each = texts * (self.steps * A_STEP_NS + self.pattern_ns)
        if not self.depth:
            return each + parts * (self.selects + self.compares) * A_PART_NS
        touched = self.selects + self.compares
        if self.looks_beyond:
            moved = parts * (touched + self.copies * length)
            rounds: float = length**self.depth
            return rounds * (each + moved * A_PART_NS)
        # Loops in loops go through parts of their elements, and so through every part once.
        again: float = self.listed**self.depth
        moved = parts * (self.selects + self.copies * length) + parts * self.compares * max(size.heaviest, 1)
        return again * (parts * each + moved * A_PART_NS)


def weigh(tokens: Sequence[Token]) -> Weight:
    """The weight of an expression that can be read; InvalidRequest if it is too much in any case."""
    depth = max((len(token.inside) for token in tokens), default=0)
    if depth > DEEPEST_LOOP or any(token.inside.count("map") > 1 for token in tokens):
        raise InvalidRequest("when may have loops two deep, and no map inside of another.", "when")
    signs = [token.text for token in tokens if token.kind == "sign"]
    loops = [token.text for token in tokens if token.kind == "word" and token.text in LOOPS]
    return Weight(
        steps=len(tokens),
        depth=depth,
        loops=len(loops),
        copies=sum(word in COPYING for word in loops),
        looks_beyond=any(
            bool(token.inside) and token.kind == "word" and token.text in NAMES and not token.is_field
            for token in tokens
        ),
        selects=signs.count(".") + signs.count("["),
        compares=_compares(tokens),
        sums=signs.count("+"),
        listed=_listed(tokens),
        pattern_ns=_pattern_ns(tokens),
    )


def measure(value: Any) -> Size:
    """How large a value is; what is too large is not measured to the end."""
    longest = heaviest = text = parts = 0

    def weighed(one: Any) -> int:
        nonlocal longest, heaviest, text, parts
        parts += 1
        if isinstance(one, str):
            text = max(text, len(one))
        if not isinstance(one, dict | list) or parts > MOST_PARTS:
            return 1
        longest = max(longest, len(one))
        held = one.values() if isinstance(one, dict) else one
        inside = [weighed(part) for part in islice(held, MOST_PARTS)]
        if isinstance(one, list):
            heaviest = max([heaviest, *inside])
        return 1 + sum(inside)

    weighed(value)
    return Size(max(parts, longest), longest, heaviest, text)


def _listed(tokens: Sequence[Token]) -> int:
    """One more than there are commas, if a list or a map is written out."""
    pairs = zip([NO_TOKEN, *tokens], tokens, strict=False)
    written = any(
        token.kind == "sign"
        and (
            token.text == "{"
            or (token.text == "[" and before.kind != "word" and before.text not in (")", "]"))
        )
        for before, token in pairs
    )
    return 1 + sum(token.text == "," and token.kind == "sign" for token in tokens) if written else 1


def _compares(tokens: Sequence[Token]) -> int:
    """How often something is compared that may be large; what is compared with a constant is not."""
    around = zip([NO_TOKEN, *tokens], tokens, [*tokens[1:], NO_TOKEN], strict=False)
    return sum(
        sign.text == "in" or (sign.text in ("==", "!=") and not (left.is_constant or right.is_constant))
        for left, sign, right in around
    )


def _pattern_ns(tokens: Sequence[Token]) -> int:
    """What patterns cost; each must be written out, so that no response can bring a costly one."""
    spent = 0
    for place, token in enumerate(tokens):
        if token.kind == "word" and token.text == "matches":
            opened, pattern, closed = [*tokens[place + 1 : place + 4], *[NO_TOKEN] * 3][:3]
            written = (opened.text, pattern.kind, closed.text) == ("(", "text", ")")
            if not written or len(pattern.text) > LONGEST_PATTERN or "{" in pattern.text:
                raise InvalidRequest(
                    "matches takes a pattern that is written out, such as x.matches('^5[0-9]+'): without {},"
                    f" and at most {LONGEST_PATTERN} characters long.",
                    "when",
                )
            classes = pattern.text.count("\\") + pattern.text.count("(?")
            spent += A_PATTERN_NS + A_CLASS_NS * classes + A_CHARACTER_NS * len(pattern.text)
    return spent
