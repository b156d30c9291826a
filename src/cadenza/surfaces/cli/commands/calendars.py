"""`cadenza calendars`: times in which things run, or never do."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from cyclopts import Parameter

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.scheduling.calendars.short_forms import (
    DATES_FORM,
    HOURS_FORM,
    dates_in,
    holidays_in,
    hours_in,
)
from cadenza.surfaces.cli.argument_parsing import document, file_text, whole_number
from cadenza.surfaces.cli.connection import AS_CONFIGURED, CliOptions
from cadenza.surfaces.cli.derived_commands import DerivedCommand
from cadenza.surfaces.cli.operation_command import Commands, example
from cadenza.surfaces.cli.parameters import ACalendar, File, Name, OnlyNew, present
from cadenza.surfaces.cli.written_words import Fills

LONGEST_ICS = 256 * 1024
Zone = Annotated[str | None, Parameter(help="The IANA zone of its hours; UTC if left out.")]
PARTS = ("weekly", "holidays", "dates", "ics")


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class PartOptions:
    """When a calendar is open, and when it is closed all the same; each option may be repeated."""

    weekly: Annotated[tuple[str, ...], Parameter(help='Hours: "mon-fri 08:00-18:00".'), Fills("weekly")] = ()
    holidays: Annotated[
        tuple[str, ...], Parameter(help="Public holidays: DE, or DE-BY."), Fills("holidays")
    ] = ()
    dates: Annotated[
        tuple[str, ...], Parameter(help="Days: 2027-01-02, or 2027-01-02..2027-01-05."), Fills("dates")
    ] = ()
    ics: Annotated[
        str | None,
        Parameter(allow_leading_hyphen=True, help="An ICS file, or - for standard input."),
        Fills("ics"),
    ] = None
    except_weekly: Annotated[
        tuple[str, ...], Parameter(help="Hours in which it is closed."), Fills("except_during.weekly")
    ] = ()
    except_holidays: Annotated[
        tuple[str, ...],
        Parameter(help="Public holidays on which it is closed."),
        Fills("except_during.holidays"),
    ] = ()
    except_dates: Annotated[
        tuple[str, ...], Parameter(help="Days on which it is closed."), Fills("except_during.dates")
    ] = ()
    except_ics: Annotated[
        str | None,
        Parameter(allow_leading_hyphen=True, help="An ICS file of times in which it is closed."),
        Fills("except_during.ics"),
    ] = None

    def fields(self) -> dict[str, Any]:
        """The fields of the operation; what is not given is left out."""
        exceptions = _parts("--except-", *(getattr(self, f"except_{name}") for name in PARTS))
        opened = _parts("--", *(getattr(self, name) for name in PARTS))
        return {**opened, **({"except_during": exceptions} if exceptions else {})}


NO_PARTS = PartOptions()


class Calendars(Commands):
    """Times in which things run, or never do."""

    list_ = DerivedCommand("list_calendars")
    show = DerivedCommand("get_calendar", "work")
    uses = DerivedCommand("list_calendar_uses", "work")

    @example(
        'work --timezone Europe/Berlin --weekly "mon-fri 08:00-18:00" --except-holidays DE',
        operation="put_calendar",
    )
    def put(
        self,
        calendar: ACalendar,
        /,
        *,
        name: Name = None,
        timezone: Annotated[
            str | None, Parameter(help="The IANA zone of its hours; UTC if left out.")
        ] = None,
        parts: PartOptions = NO_PARTS,
        file: File = None,
        only_new: OnlyNew = False,
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """Write a calendar, in place of the one before; what names it is planned by it from then on."""
        given = {} if file is None else document("--file", file)
        given |= present(name=name, timezone=timezone) | parts.fields()
        return self.ask(connection, "put_calendar", {**given, "calendar_id": calendar, "only_new": only_new})

    delete = DerivedCommand("delete_calendar", "work")

    @example("work --year 2027", operation="preview_calendar")
    def preview(
        self,
        calendar: ACalendar,
        /,
        *,
        year: Annotated[int | None, Parameter(converter=whole_number, help="This year if left out.")] = None,
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """Show a year of a calendar: its open days, the clock changes of its zone, and what would run."""
        return self.ask(connection, "preview_calendar", {"calendar_id": calendar, **present(year=year)})


def _parts(
    prefix: str, weekly: Sequence[str], holidays: Sequence[str], dates: Sequence[str], ics: str | None
) -> dict[str, Any]:
    parts: dict[str, Any] = {
        "weekly": [_hours(f"{prefix}weekly", word) for word in weekly],
        "holidays": [holidays_in(word) for word in holidays],
        "dates": [_dates(f"{prefix}dates", word) for word in dates],
    }
    if ics is not None:
        parts["ics"] = file_text(f"{prefix}ics", ics, longest=LONGEST_ICS)
    return {name: value for name, value in parts.items() if value}


def _hours(option: str, word: str) -> dict[str, Any]:
    found = hours_in(word)
    if found is None:
        raise InvalidRequest(f"{option} must be such as {HOURS_FORM}.", option)
    return found


def _dates(option: str, word: str) -> dict[str, Any]:
    found = dates_in(word)
    if found is None:
        raise InvalidRequest(f"{option} must be such as {DATES_FORM}.", option)
    return found
