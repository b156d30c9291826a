"""Calls of tools that must be refused, each with the field at fault."""

import math
from typing import Any, NamedTuple

TEN_MEGABYTES = "x" * 10_000_000


class InvalidCall(NamedTuple):
    """A call that must be refused, and where the fault lies."""

    tool: Any
    arguments: Any
    field: str | None


NO_WHOLE_NUMBERS = [True, False, 0.5, 1.5, "1000", "", None, [], {}, math.nan, math.inf, -math.inf]
OUT_OF_RANGE = [-1, -(10**30), 10**30, 10 * 366 * 86_400_000 + 1]
NO_TTLS = [
    1e-300,
    True,
    False,
    "60",
    [],
    {},
    math.nan,
    math.inf,
    -math.inf,
    -1,
    -0.5,
    0,
    0.0,
    10**30,
    1e300,
    527_041,
]
NO_MOMENTS = [
    "",
    "soon",
    "2025",
    "2025-01-02",
    "2025-01-02T00:00:00",
    "2025-13-01T00:00:00Z",
    "2025-02-30T00:00:00Z",
    "2025-01-02T25:00:00Z",
    "2025-01-02T00:00:00+25:00",
    "+292278994-08-17T07:12:55Z",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-14:00",
    "9999-12-31T23:59:59Z",
    "9999-01-01T00:00:01Z",
    "10000-01-01T00:00:00Z",
    "\ud800",
    "\x00",
    "\uff12\uff10\uff12\uff15-01-02T00:00:00Z",
    TEN_MEGABYTES,
    1_735_689_600,
    1.5,
    True,
    [],
    {},
]
PASSED = [
    "0001-01-01T00:00:00Z",
    "1970-01-01T00:00:00Z",
    "2024-12-31T23:59:59.999999Z",
    "2025-01-01T00:59:59+01:00",
]
NO_REASONS = [TEN_MEGABYTES, "x" * 2_001, 7, True, ["because"], {"why": "because"}, b"because"]
NO_ARGUMENTS = [None, [], [("intervalMs", 1_000)], "intervalMs", 7, TEN_MEGABYTES, {"intervalMs"}]

VALID: dict[str, dict[str, Any]] = {
    "propose_interval": {"intervalMs": 1_000},
    "propose_next_time": {"nextRunInMs": 1_000},
    "pause_until": {"untilIso": "2025-01-02T00:00:00Z"},
}


def _intervals() -> list[InvalidCall]:
    bad = [*NO_WHOLE_NUMBERS, *OUT_OF_RANGE, 0]
    return [
        *(InvalidCall("propose_interval", {"intervalMs": value}, "intervalMs") for value in bad),
        *(
            InvalidCall("propose_interval", {"intervalMs": 1_000, "ttlMinutes": ttl}, "ttlMinutes")
            for ttl in NO_TTLS
        ),
        InvalidCall("propose_interval", {}, "intervalMs"),
        InvalidCall("propose_interval", {"ttlMinutes": 5, "reason": "surge"}, "intervalMs"),
    ]


def _next_times() -> list[InvalidCall]:
    tool, at = "propose_next_time", "2025-01-01T00:10:00Z"
    spans = [value for value in (*NO_WHOLE_NUMBERS, *OUT_OF_RANGE) if value is not None]
    return [
        *(InvalidCall(tool, {"nextRunInMs": value}, "nextRunInMs") for value in spans),
        *(InvalidCall(tool, {"nextRunAtIso": value}, "nextRunAtIso") for value in NO_MOMENTS),
        *(InvalidCall(tool, {"nextRunInMs": 0, "ttlMinutes": ttl}, "ttlMinutes") for ttl in NO_TTLS),
        InvalidCall(tool, {}, "nextRunInMs"),
        InvalidCall(tool, {"nextRunInMs": None, "nextRunAtIso": None}, "nextRunInMs"),
        InvalidCall(tool, {"nextRunInMs": 1_000, "nextRunAtIso": at}, "nextRunInMs"),
        InvalidCall(tool, {"nextRunInMs": 600_000, "ttlMinutes": 9.99}, "ttlMinutes"),
        InvalidCall(tool, {"nextRunInMs": 600_000, "ttlMinutes": 10}, "ttlMinutes"),
        InvalidCall(tool, {"nextRunAtIso": at, "ttlMinutes": 10}, "ttlMinutes"),
        InvalidCall(tool, {"nextRunInMs": 86_400_000, "ttlMinutes": 30}, "ttlMinutes"),
    ]


def _pauses() -> list[InvalidCall]:
    now = "2025-01-01T00:00:00Z"
    return [
        *(
            InvalidCall("pause_until", {"untilIso": value}, "untilIso")
            for value in (*NO_MOMENTS, *PASSED, now)
        ),
        InvalidCall("pause_until", {}, "untilIso"),
        InvalidCall("pause_until", {"reason": "maintenance"}, "untilIso"),
    ]


def _any_tool(tool: str) -> list[InvalidCall]:
    valid, strange = VALID[tool], ("extra", "interval_ms", "IntervalMs", "", TEN_MEGABYTES)
    return [
        *(InvalidCall(tool, valid | {"reason": reason}, "reason") for reason in NO_REASONS),
        *(InvalidCall(tool, valid | {name: 1}, name[:100]) for name in strange),
        *(InvalidCall(tool, arguments, None) for arguments in NO_ARGUMENTS),
        InvalidCall(tool, valid | {7: 1}, "7"),
    ]


REFUSED = [
    *_intervals(),
    *_next_times(),
    *_pauses(),
    *(refused for tool in VALID for refused in _any_tool(tool)),
    *(
        InvalidCall(tool, {}, "tool")
        for tool in ("", "drop_table", "Propose_interval", TEN_MEGABYTES, None, 7, ["pause_until"])
    ),
]


def label(refused: InvalidCall) -> str:
    """A short name for a case."""
    return f"{str(refused.tool)[:20]}-{str(refused.arguments).encode('unicode_escape').decode()[:60]}"
