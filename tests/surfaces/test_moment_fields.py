"""Moments on the wire: words, never numbers, and inside the calendar."""

import json
from datetime import UTC, datetime
from io import StringIO

import pytest
from pydantic import TypeAdapter, ValidationError

from cadenza.adapters.telemetry.log import StructuredLog
from cadenza.domain.agents.delivery import Delivery, Subtitle
from cadenza.domain.validation import iso
from cadenza.operations.fields import Listed, Moment
from cadenza.surfaces.websocket import frames


class PageOfMoments(Listed[datetime]):
    """What operations answer, with moments in it."""


NOW = datetime(2030, 1, 31, 12, tzinfo=UTC)
MOMENT: TypeAdapter[datetime] = TypeAdapter(Moment)


@pytest.mark.parametrize("text", ["2030-01-31T12:00:00Z", "2030-01-31T13:00:00+01:00", "2030-01-31 12:00Z"])
def test_a_moment_is_read_and_turned_to_utc(text: str) -> None:
    moment = MOMENT.validate_python(text)
    assert moment == datetime(2030, 1, 31, 12, tzinfo=UTC)
    assert moment.tzinfo is UTC


@pytest.mark.parametrize(
    "wrong",
    [
        0,
        1_700_000_000,
        1.5,
        True,
        None,
        "",
        "0",
        "1700000000",
        "2030-01-31",
        "2030-01-31T12:00:00",
        "tomorrow",
    ],
)
def test_what_could_be_anything_is_no_moment(wrong: object) -> None:
    with pytest.raises(ValidationError):
        MOMENT.validate_python(wrong)


@pytest.mark.parametrize("text", ["9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+12:00"])
def test_a_moment_that_is_beyond_the_calendar_in_utc_is_refused(text: str) -> None:
    with pytest.raises(ValidationError, match="beyond the calendar"):
        MOMENT.validate_python(text)


def test_its_schema_says_what_it_is() -> None:
    assert MOMENT.json_schema() == {"type": "string", "format": "date-time"}


@pytest.mark.parametrize("moment", [NOW, NOW.replace(microsecond=250_000), NOW.replace(microsecond=1)])
def test_every_surface_writes_a_moment_alike(moment: datetime) -> None:
    view = PageOfMoments(items=[moment], next_cursor=None)
    assert view.model_dump(mode="json")["items"] == [iso(moment)]
    assert json.loads(view.model_dump_json())["items"] == [iso(moment)]
    message = Delivery("i.1", "north", "ada", 1, "helper", Subtitle("x"), moment)
    assert json.loads(frames.delivered(message))["at"] == iso(moment)
    lines = StringIO()
    StructuredLog(stream=lines, as_json=True).info("an event", at=moment)
    assert json.loads(lines.getvalue())["at"] == iso(moment)
