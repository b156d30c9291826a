"""The windows in which rates are counted: ten seconds each, numbered since 1970."""

from datetime import datetime

WINDOW_S = 10
WINDOWS_A_MINUTE = 60 // WINDOW_S
BEHIND = 6


def window_of(moment: datetime) -> int:
    """The number of the window that a moment lies in."""
    return int(moment.timestamp() // WINDOW_S)


def seconds_left(moment: datetime) -> float:
    """How long the window of a moment goes on."""
    return WINDOW_S - moment.timestamp() % WINDOW_S


def oldest_kept(window: int) -> int:
    """The earliest window that is of use in this one: the clocks of other machines may be behind."""
    return window - BEHIND
