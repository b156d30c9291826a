"""The words and signs of an expression, and where its loops are."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

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
