"""Labels: names with values that an owner puts on endpoints, to find and steer them together."""

import re
from collections.abc import Mapping
from typing import Any

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.validation import quoted

MOST_LABELS = 32
LABEL_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?")
LABEL_VALUE = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9._:/@-]{0,61}[A-Za-z0-9])?)?")


def checked_labels(labels: Any) -> dict[str, str]:
    """Labels as they are kept; names and values are short words without spaces, a value may be empty."""
    if not isinstance(labels, Mapping) or len(labels) > MOST_LABELS:
        raise InvalidRequest(f"labels must be at most {MOST_LABELS} names with their values.", "labels")
    for name, value in labels.items():
        if not isinstance(name, str) or not LABEL_NAME.fullmatch(name):
            raise InvalidRequest(f"{quoted(name)} is not the name of a label.", "labels")
        if not isinstance(value, str) or not LABEL_VALUE.fullmatch(value):
            raise InvalidRequest(f"{quoted(value)} is not the value of a label.", "labels")
    return dict(labels)


def carries(labels: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    """Are all the wanted labels there, with these values?"""
    return all(labels.get(name) == value for name, value in wanted.items())
