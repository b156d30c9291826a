"""Writing to standard output, also to closed pipes, full disks and narrow encodings."""

import os
import sys
from collections.abc import Mapping
from typing import Any

from cadenza.domain.errors import Unavailable
from cadenza.domain.text_patterns import visible


def write(text: str) -> bool:
    """Write a text; False if the reader has closed the pipe, which is no failure."""
    if sys.stdout is None:
        raise Unavailable("Standard output is closed.")
    try:
        sys.stdout.write(text if _writable(text) else _escaped(text))
        sys.stdout.flush()
    except BrokenPipeError:
        # What is still buffered would complain when the program ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return False
    except OSError as problem:
        raise unwritable(problem) from None
    return True


def unwritable(problem: OSError) -> Unavailable:
    """The error for output that cannot be written; what is still buffered is discarded."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return Unavailable(f"Standard output cannot be written: {problem.strerror}.")


def write_json(document: Mapping[str, Any]) -> None:
    """Write one JSON document."""
    import json

    text = visible(json.dumps(document, ensure_ascii=False, indent=2))
    write((text if _writable(text) else json.dumps(document, indent=2)) + "\n")


def _writable(text: str) -> bool:
    """Can the output's encoding represent the text?"""
    if sys.stdout is None:
        return True
    try:
        text.encode(sys.stdout.encoding or "ascii", sys.stdout.errors or "strict")
    except UnicodeError:
        return False
    return True


def _escaped(text: str) -> str:
    encoding = sys.stdout.encoding or "ascii"
    return text.encode(encoding, "backslashreplace").decode(encoding)
