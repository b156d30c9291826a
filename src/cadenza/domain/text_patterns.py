"""The forms of texts from outside: as patterns for programs, and in words for people."""

import unicodedata

WITHOUT_CONTROL = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f]*$"
ONE_LINE = r"^[^\x00-\x1f\x7f]*[^\x00-\x20\x7f][^\x00-\x1f\x7f]*$"
AN_ID = r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$"
A_RUN_ID = r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,191}$"
"""A requested run that waits is called by its slot and its endpoint, whose id may be long."""
A_SECRET_NAME = r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$"  # noqa: S105 - the form of a name
A_LABEL = r"^[^=\x00-\x1f\x7f]+=[^\x00-\x1f\x7f]*$"
A_URL = r"^https?://[^\s/?#]+"
AN_IDEMPOTENCY_KEY = r"^[\x21-\x7e]{1,255}$"
A_TIME_OF_DAY = r"^([01][0-9]|2[0-3]):[0-5][0-9]$"
A_CLOSING_TIME = r"^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$"
A_COUNTRY = r"^[A-Z]{2}$"
A_SUBDIVISION = r"^[A-Za-z0-9 .'-]{1,40}$"
A_ZONE = r"^[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+){0,2}$"
"""Of an IANA name; whether there is such a zone, only the time zone database says."""
A_REFERENCE = r"^(env|secret):[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$"
IN_WORDS = {
    WITHOUT_CONTROL: ("a text", " and no control characters"),
    ONE_LINE: ("one line of text", ", and not blank"),
    AN_ID: (
        "1 to 128 letters, digits, dots, colons, hyphens and underscores, the first a letter or digit",
        "",
    ),
    A_RUN_ID: (
        "1 to 192 letters, digits, dots, colons, hyphens and underscores, the first a letter or digit",
        "",
    ),
    A_SECRET_NAME: (
        "1 to 128 letters, digits, dots, hyphens and underscores, the first no dot or hyphen",
        "",
    ),
    A_LABEL: ("a label", ", such as team=web"),
    A_URL: ("a URL", ", such as https://example.com/health"),
    AN_IDEMPOTENCY_KEY: ("1 to 255 visible ASCII characters without spaces", ""),
    A_TIME_OF_DAY: ("a time of day", ", such as 22:00"),
    A_CLOSING_TIME: ("a time of day from 00:00 to 24:00", ", such as 18:00"),
    A_COUNTRY: ("two capital letters", ", such as DE"),
    A_SUBDIVISION: ("the code of a part of the country", ", such as BY"),
    A_ZONE: ("the name of a time zone", ", such as Europe/Berlin"),
    A_REFERENCE: ("env:NAME or secret:NAME", ""),
}
"""What stands before the length of a text, and what behind it."""
FORMATS_IN_WORDS = {
    "date-time": "an ISO 8601 moment such as 2030-01-31T12:00:00Z",
    "date": "a date such as 2030-01-31",
}
"""The formats of JSON schemas."""
HARMFUL = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
"""Categories of characters that steer a terminal, reorder text or cannot be seen."""
JOINERS = "\u200c\u200d"
"""Joiners shape letters and hide nothing, so they are allowed."""


def visible(text: str, *, lines: bool = True) -> str:
    """A text from outside for terminals and logs: control characters escaped as in JSON, unless line ends."""
    if text.isprintable():
        return text
    shown = "".join(map(_visible, text))
    return shown if lines else shown.replace("\n", "\\n")


def _visible(character: str) -> str:
    harmless = character in JOINERS or character == "\n" or unicodedata.category(character) not in HARMFUL
    if harmless:
        return character
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
