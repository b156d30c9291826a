"""Exit codes, one for each kind of error."""

from enum import IntEnum

from cadenza.domain.errors import (
    CadenzaError,
    Conflict,
    InvalidRequest,
    NotAllowed,
    NotFound,
    Unavailable,
)


class Exit(IntEnum):
    """How a command ended."""

    DONE = 0
    FAILED_CHECK = 1
    WRONG_USE = 2
    NOT_FOUND = 3
    CONFLICT = 4
    NOT_ALLOWED = 5
    UNAVAILABLE = 6
    INTERRUPTED = 130


CODES: dict[type[CadenzaError], Exit] = {
    InvalidRequest: Exit.WRONG_USE,
    NotFound: Exit.NOT_FOUND,
    Conflict: Exit.CONFLICT,
    NotAllowed: Exit.NOT_ALLOWED,
    Unavailable: Exit.UNAVAILABLE,
}


def exit_code(error: CadenzaError) -> Exit:
    """The exit code of an error, by the nearest class in the table."""
    for kind in type(error).__mro__:
        if kind in CODES:
            return CODES[kind]
    return Exit.UNAVAILABLE
