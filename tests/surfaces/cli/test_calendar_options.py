"""Calendars of endpoints and schedules on the command line: options, and rules in words."""

from datetime import UTC, datetime
from typing import Any

import pytest
from tests.surfaces.cli.cli_fixtures import CliRunner

from cadenza.domain.errors import InvalidRequest
from cadenza.surfaces.cli.calendar_options import CalendarOptions, calendar_change
from cadenza.surfaces.cli.output.formatting import calendar_words

NOTHING = dict.fromkeys(("only_during", "never_during", "starts_at", "ends_at")) | {"when_closed": "skip"}


def now() -> datetime:
    return datetime(2030, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("options", "change"),
    [
        ({}, {}),
        ({"only_during": "work"}, {"only_during": "work"}),
        ({"only_during": "none", "never_during": ""}, {"only_during": None, "never_during": None}),
        ({"when_closed": "run-at-end"}, {"when_closed": "run-at-end"}),
        ({"starts_at": "2d", "ends_at": "none"}, {"starts_at": "2030-01-03T00:00:00Z", "ends_at": None}),
        ({"ends_at": "2030-06-01T12:00:00+02:00"}, {"ends_at": "2030-06-01T10:00:00Z"}),
    ],
)
def test_options_change_what_they_name(options: dict[str, Any], change: dict[str, Any]) -> None:
    assert calendar_change(CalendarOptions(**options), now) == ({"calendar": change} if change else {})


def test_a_moment_that_cannot_be_read_is_refused_by_its_option() -> None:
    with pytest.raises(InvalidRequest, match="--ends-at must be a duration such as 2h, or a time"):
        calendar_change(CalendarOptions(ends_at="soon"), now)


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        (None, None),
        ({"only_during": "work"}, "only during work; skipped while closed"),
        (
            {"only_during": "work", "never_during": "maintenance", "when_closed": "run-at-end"},
            "only during work and never during maintenance; run when open again",
        ),
        (
            {"starts_at": "2030-01-01T00:00:00Z", "ends_at": "2030-02-01T00:00:00Z"},
            "from 2030-01-01 00:00:00Z; until 2030-02-01 00:00:00Z",
        ),
    ],
)
def test_rules_are_shown_in_words(shape: dict[str, Any] | None, words: str | None) -> None:
    assert calendar_words(None if shape is None else NOTHING | shape) == words


def test_a_job_names_its_calendars_and_its_card_shows_them(local: CliRunner) -> None:
    for id_, hours in (("work", "mon-fri 08:00-18:00"), ("night", "mon-sun 20:00-22:00")):
        local.ok("calendars", "put", id_, "--weekly", hours)
    created = local.ok("jobs", "create", "--name", "Shop", "--id", "shop", "--only-during", "work")
    assert "only during work" in created
    changed = local.ok("jobs", "update", "shop", "--never-during", "night")
    assert "only during work and never during night" in changed
    assert "only during work" in local.ok("jobs", "update", "shop", "--name", "Shops")
    assert "only during" not in local.ok("jobs", "update", "shop", "--only-during", "none")
    cleared = local.json("jobs", "update", "shop", "--never-during", "none")
    assert cleared["calendar"] is None
    assert "no calendar other" in local.refused("jobs", "update", "shop", "--only-during", "other")[1]
