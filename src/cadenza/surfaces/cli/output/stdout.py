"""Writing to standard output, wherever it leads and whoever still reads it."""

import os
import sys
from collections.abc import Mapping
from typing import Any

from cadenza.domain.errors import Unavailable


def write(text: str) -> bool:
    """Write a text. A reader who has left misses the rest, and that is no failure; was it still there?"""
    if sys.stdout is None:
        raise Unavailable("Standard output is closed.")
    try:
        sys.stdout.write(text if _writable(text) else _plainer(text))
        sys.stdout.flush()
    except BrokenPipeError:
        # What is still buffered would complain when the program ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return False
    except OSError as problem:
        raise lost(problem) from None
    return True


def lost(problem: OSError) -> Unavailable:
    """What to say when the output takes nothing more; what is left of it is let go."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return Unavailable(f"Standard output cannot be written: {problem.strerror}.")


def write_json(document: Mapping[str, Any]) -> None:
    """Write one JSON document."""
    import json

    text = json.dumps(document, ensure_ascii=False, indent=2)
    write((text if _writable(text) else json.dumps(document, indent=2)) + "\n")


def _writable(text: str) -> bool:
    """Does the output, if there is one, know all of these characters?"""
    if sys.stdout is None:
        return True
    try:
        text.encode(sys.stdout.encoding or "ascii", sys.stdout.errors or "strict")
    except UnicodeError:
        return False
    return True


def _plainer(text: str) -> str:
    encoding = sys.stdout.encoding or "ascii"
    return text.encode(encoding, "backslashreplace").decode(encoding)
