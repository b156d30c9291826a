"""What calendars are compiled from: holidays by the library of that name, events by `icalendar`."""

from collections.abc import Iterable
from datetime import date

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.local_time import Span
from cadenza.domain.scheduling.calendars.compile import Horizon
from cadenza.domain.scheduling.calendars.definition import HolidaySource


class LibrarySources:
    """Holidays and events by libraries; they are loaded with the first calendar that needs them."""

    def holidays(self, source: HolidaySource, years: Iterable[int]) -> list[date]:
        """Public holidays, with the days that stand in for those on weekends where a country has them."""
        import holidays  # noqa: PLC0415 - Most processes never need it.

        _refuse_unknown(source, holidays.list_supported_countries())
        found = holidays.country_holidays(source.country, subdiv=source.subdivision, years=years)
        return sorted(found)

    def ics(self, text: str, timezone: str, over: Horizon) -> list[Span]:
        from cadenza.adapters.calendars.ics_events import spans_of_events  # noqa: PLC0415 - As above.

        return spans_of_events(text, timezone, over)


def _refuse_unknown(source: HolidaySource, countries: dict[str, list[str]]) -> None:
    if source.country not in countries:
        raise InvalidRequest(
            f"The holidays of the country {source.country} are not known; write its days as dates.", "country"
        )
    parts = countries[source.country]
    if source.subdivision is None or source.subdivision in parts:
        return
    mend = f"take one of {', '.join(parts)}" if parts else "leave subdivision out"
    raise InvalidRequest(
        f"{source.country} has no part {source.subdivision} with holidays of its own; {mend}.", "subdivision"
    )
