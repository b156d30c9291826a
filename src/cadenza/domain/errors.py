"""What can go wrong, by what the caller can do about it.

CadenzaError
├── InvalidRequest   correct the request
├── NotFound         there is no such thing, or it is not yours
├── Conflict         it is not in a state that allows this
├── NotAllowed       ask for more rights
│   └── LimitReached make room, or ask for a higher limit
└── Unavailable      try again later
    ├── TooOften     wait for as long as it says
    └── NotWritable  make room, or let the database take changes again
"""

from collections.abc import Sequence
from typing import NamedTuple


class CadenzaError(Exception):
    """Anything that a caller can act on; its text is one sentence for a person."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


MOST_FAULTS = 10
"""More are not told at once: these are enough to mend a request."""


class Fault(NamedTuple):
    """A field that cannot be taken as it is, and why."""

    field: str
    message: str

    @property
    def sentence(self) -> str:
        """The message, with the whole path of the field."""
        if self.field in self.message:
            return self.message
        name = self.field.rsplit(".", 1)[-1]
        rest = self.message.removeprefix(f"{name} ")
        return f"{self.field}: {self.message}" if rest == self.message else f"{self.field} {rest}"


class InvalidRequest(CadenzaError):
    """The request cannot be taken as it is; `field` names the part at fault, `faults` all of them."""

    def __init__(self, message: str, field: str | None = None, faults: Sequence[Fault] = ()) -> None:
        super().__init__(message)
        self.field = field
        self.faults = tuple(faults[:MOST_FAULTS]) or (() if field is None else (Fault(field, message),))


class NotFound(CadenzaError):
    """There is no such thing for this caller."""


class Conflict(CadenzaError):
    """The thing is not in a state that allows this."""


class NotAllowed(CadenzaError):
    """The caller may not do this."""


class LimitReached(NotAllowed):
    """The tenant or the user has as much as they may have."""


class Unavailable(CadenzaError):
    """Something this needs does not answer at the moment."""


class TooOften(Unavailable):
    """It was asked for too often; `retry_after_s` says in how many seconds it may be again."""

    def __init__(self, message: str, retry_after_s: int) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class NotWritable(Unavailable):
    """The database may answer reads, but takes no changes: its disk is full or fails, or it is read only."""
