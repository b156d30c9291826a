"""The options by which an endpoint or a schedule keeps to calendars, and the change that they ask for."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from cyclopts import Group, Parameter

from cadenza.surfaces.cli.argument_parsing import NONE, later
from cadenza.surfaces.cli.written_words import Fills

CALENDARS = Group("Calendars", sort_key=-1.5)
GONE = frozenset({"", NONE})


OnlyDuring = Annotated[
    str | None,
    Parameter(
        help="The id of a calendar: it runs only while that is open; none removes it.", group=CALENDARS
    ),
    Fills("calendar.only_during"),
]
NeverDuring = Annotated[
    str | None,
    Parameter(
        help="The id of a calendar: it does not run while that is open; none removes it.", group=CALENDARS
    ),
    Fills("calendar.never_during"),
]


def _option(text: str) -> Parameter:
    return Parameter(help=text, group=CALENDARS)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class CalendarOptions:
    """When it may run; what is left out stays as it was."""

    only_during: OnlyDuring = None
    never_during: NeverDuring = None
    when_closed: Annotated[
        Literal["skip", "run-at-end"] | None,
        _option("Whether a run is skipped while its calendars are closed, or runs when they open."),
        Fills("calendar.when_closed"),
    ] = None
    starts_at: Annotated[
        str | None,
        _option("No run before this time, or this duration from now; none removes it."),
        Fills("calendar.starts_at"),
    ] = None
    ends_at: Annotated[
        str | None,
        _option("No run at this time or later; none removes it."),
        Fills("calendar.ends_at"),
    ] = None


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class JobCalendarOptions:
    """When the endpoints of a job may run; what is left out stays as it was."""

    only_during: OnlyDuring = None
    never_during: NeverDuring = None


NO_CALENDARS = CalendarOptions()
NO_JOB_CALENDARS = JobCalendarOptions()


def job_calendar_change(options: JobCalendarOptions) -> dict[str, Any]:
    """The field `calendar` of a request about a job; nothing without options."""
    return _change({"only_during": options.only_during, "never_during": options.never_during})


def calendar_change(options: CalendarOptions, now: Callable[[], datetime]) -> dict[str, Any]:
    """The field `calendar` of a request, with what the options change; nothing without options."""
    moments = {"starts_at": ("--starts-at", options.starts_at), "ends_at": ("--ends-at", options.ends_at)}
    given: dict[str, Any] = {
        "only_during": options.only_during,
        "never_during": options.never_during,
        "when_closed": options.when_closed,
    }
    for name, (option, word) in moments.items():
        given[name] = word if word is None or word in GONE else later(option, word, now)
    return _change(given)


def _change(given: dict[str, Any]) -> dict[str, Any]:
    change = {name: None if word in GONE else word for name, word in given.items() if word is not None}
    return {"calendar": change} if change else {}
