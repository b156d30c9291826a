"""Writing to standard output, wherever it leads and whoever still reads it."""

import os
import sys
from collections.abc import Mapping
from typing import Any

from cadenza.domain.errors import Unavailable


def write(text: str) -> None:
    """Write a text; a reader who has left misses the rest, and that is no failure."""
    if sys.stdout is None:
        raise Unavailable("Standard output is closed.")
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # What is still buffered would complain when the program ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as problem:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise Unavailable(f"Standard output cannot be written: {problem.strerror}.") from None


def write_json(document: Mapping[str, Any]) -> None:
    """Write one JSON document."""
    import orjson

    write(orjson.dumps(document, option=orjson.OPT_INDENT_2).decode() + "\n")
