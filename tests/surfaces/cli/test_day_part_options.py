"""Day parts on the command line."""

from typing import Any

import pytest

from cadenza.domain.errors import InvalidRequest
from cadenza.surfaces.cli.argument_parsing import cadence, day_parts

EVERY_MINUTE, EVERY_15M = ({"kind": "every", "interval_ms": minutes * 60_000} for minutes in (1, 15))
LINE = {"kind": "cron", "expression": "*/5 * * * *", "timezone": "Europe/Berlin"}


def parts(otherwise: dict[str, Any], **cadences: dict[str, Any]) -> dict[str, Any]:
    made = [{"calendar": name, "cadence": one} for name, one in cadences.items()]
    return {"kind": "day-parts", "parts": made, "otherwise": otherwise}


BOTH = parts(EVERY_15M, work=EVERY_MINUTE, night=LINE)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("1m", EVERY_MINUTE),
        ("cron */5 * * * * in Europe/Berlin", LINE),
        ("cron @hourly", {"kind": "cron", "expression": "@hourly"}),
    ],
)
def test_a_span_is_an_interval_and_a_text_after_cron_is_a_line(written: str, meant: dict[str, Any]) -> None:
    assert cadence("--otherwise", written) == meant


@pytest.mark.parametrize(
    ("given", "otherwise", "before", "after"),
    [
        (["work=1m"], "15m", {}, parts(EVERY_15M, work=EVERY_MINUTE)),
        (["work=1m"], None, EVERY_15M, parts(EVERY_15M, work=EVERY_MINUTE)),
        (["night=15m"], None, BOTH, parts(EVERY_15M, work=EVERY_MINUTE, night=EVERY_15M)),
        (["work=none"], None, BOTH, parts(EVERY_15M, night=LINE)),
        (["work=none", "night=none"], None, BOTH, EVERY_15M),
        ([], "1m", BOTH, parts(EVERY_MINUTE, work=EVERY_MINUTE, night=LINE)),
        ([], None, BOTH, None),
    ],
)
def test_parts_are_laid_over_the_baseline_that_was_there(
    given: list[str], otherwise: str | None, before: dict[str, Any], after: dict[str, Any] | None
) -> None:
    assert day_parts(given, otherwise, before) == after


@pytest.mark.parametrize(
    ("given", "otherwise", "before", "problem"),
    [
        (["work=1m"], None, {}, "--day-part needs --otherwise"),
        (["work=1m"], None, {"kind": "once", "at": "2030-01-01"}, "--day-part needs --otherwise"),
        ([], "1m", EVERY_15M, "--otherwise needs --day-part"),
        (["work"], "1m", {}, "--day-part takes NAME=VALUE"),
        (["work=often"], "1m", {}, "--day-part must be a span"),
    ],
)
def test_day_parts_that_are_not_whole_are_refused(
    given: list[str], otherwise: str | None, before: dict[str, Any], problem: str
) -> None:
    with pytest.raises(InvalidRequest, match=problem):
        day_parts(given, otherwise, before)
