"""What every sentence about a wrong input obeys, whichever surface says it."""

import re

RULES = {
    "no text of a library": re.compile(
        r"input should|should (be|have|match)|value error|field required|extra inputs|not permitted|"
        r"valid (string|integer|boolean|dictionary|list|number|date)|instance of|greater than|less than|"
        r"discriminator|pydantic|NoneType|unable to|overload|unexpected (token|character)|unused tokens|"
        r"<class|<EOF>|traceback",
        re.IGNORECASE,
    ),
    "no name of a class": re.compile(r"[a-z](Shape|Words|View|Command)\b"),
    "no regular expression": re.compile(r"\\[xdws]|\[\^|\[[A-Za-z0-9]-|\(\?|\$$"),
    "no number without separators": re.compile(r"(?<!ISO )(?<![\w:.+-])\d{4,}(?![\w-])"),
    "a long span in a unit that people use, too": re.compile(r"of (milli)?seconds [^(]*\d,\d{3}[^(]*$"),
    "one sentence": re.compile(r"[.?!]\s+[A-Z]|[^.?]$|\n"),
    "something to go by": re.compile(r"a JSON value|something else"),
    "not too long": re.compile(r".{500}"),
}


def broken_rules(sentence: str) -> list[str]:
    """The rules that a sentence breaks."""
    return [rule for rule, broken in RULES.items() if broken.search(sentence)]
