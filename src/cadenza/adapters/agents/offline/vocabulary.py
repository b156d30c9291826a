"""Numbers, weekdays and ordinals as people write them, and the error for unclear requests."""

import re


class UnclearRequest(Exception):
    """A request that cannot be carried out as it is; its text is a question to the user."""

    def __init__(self, question: str) -> None:
        super().__init__(question)
        self.question = question


SMALL = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
NUMBERS = {word: number for number, word in enumerate(SMALL, 1)} | {
    "a": 1,
    "an": 1,
    "fifteen": 15,
    "twenty": 20,
    "thirty": 30,
    "forty": 40,
    "forty-five": 45,
    "fifty": 50,
    "sixty": 60,
    "ninety": 90,
}
NUMBER = rf"(?:\d{{1,6}}|{'|'.join(sorted(NUMBERS, key=len, reverse=True))})"

WEEKDAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
"""In the order that cron counts them."""
SHORT_WEEKDAY = r"sun|mon|tues?|wed|thu(?:rs?)?|fri|sat"
WEEKDAY = rf"(?:{'|'.join(WEEKDAYS)}|(?:{SHORT_WEEKDAY})\b\.?)"

ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]
NTH = {word: number for number, word in enumerate(ORDINALS, 1)}
ORDINAL = rf"(?:\d{{1,2}}(?:st|nd|rd|th)|{'|'.join(ORDINALS)})"
"""With its ending, or as a word: a bare number may be an hour."""


def a_number(text: str) -> int:
    """`20`, `twenty` and `a`, as a number."""
    return int(text) if text.isdigit() else NUMBERS[text]


def an_ordinal(text: str) -> int:
    """`1st` and `first`, as a number."""
    return NTH[text] if text in NTH else int(re.sub(r"\D", "", text))


def a_weekday(text: str) -> int:
    """`mon`, `monday` and `Monday.`, as cron counts them: Sunday is 0."""
    return next(number for number, name in enumerate(WEEKDAYS) if name.startswith(text[:3]))
