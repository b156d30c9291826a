"""Day parts as stores keep them: their calendars stand in the endpoint's document with all their spans."""

from tests.scheduling.day_parts.day_part_fixtures import a_calendar, every
from tests.scheduling.scheduling_fixtures import an_endpoint

from cadenza.adapters.stores.sql.scheduling.definition import read_definition, write_definition
from cadenza.domain.scheduling.baseline import Cron, DayPart, DayParts

WORK, NIGHT = a_calendar("work", (10, 70), (80, 90)), a_calendar("night", (200, 300))


def test_day_parts_come_back_with_the_spans_of_their_calendars() -> None:
    baseline = DayParts((DayPart(WORK, every(1)), DayPart(NIGHT, Cron("0 * * * *", "Asia/Tokyo"))), every(15))
    read = read_definition(write_definition(an_endpoint(baseline=baseline)))["baseline"]
    assert read == baseline
    assert [one.boundaries for one in read.calendars] == [WORK.boundaries, NIGHT.boundaries]
    in_force = [one.open_times.boundaries for one in baseline.in_turn]
    assert [one.open_times.boundaries for one in read.in_turn] == in_force
