"""Sittings as rows, and back."""

from typing import Any

import orjson

from cadenza.adapters.stores.sql.rows import Read, Row, document, storable
from cadenza.domain.planning.analysis import Analysis, Tokens, ToolCall, Trigger
from cadenza.domain.scheduling.run import Run

ANALYSIS = (
    "tenant_id",
    "endpoint_id",
    "id",
    "job_id",
    "planner",
    "trigger",
    "began_at",
    "duration_ms",
    "reasoning",
    "calls",
    "input_tokens",
    "output_tokens",
    "look_again_at",
    "shadow",
    "error",
)
COLUMNS = ", ".join(f'"{column}"' for column in ANALYSIS)
WITHOUT_RESPONSE = Run._fields[:-1]
"""What the feed tells of a run: its response may be large, and who feeds on it reads it only if need be."""


def write_analysis(analysis: Analysis) -> tuple[Any, ...]:
    """The columns `ANALYSIS`."""
    return (
        analysis.tenant_id,
        analysis.endpoint_id,
        analysis.id,
        analysis.job_id,
        analysis.planner,
        analysis.trigger.value,
        analysis.began_at,
        analysis.duration_ms,
        storable(analysis.reasoning),
        document([_written(call) for call in analysis.calls]) if analysis.calls else None,
        *analysis.tokens,
        analysis.look_again_at,
        analysis.shadow,
        storable(analysis.error),
    )


def read_analysis(row: Row, read: Read) -> Analysis:
    """The sitting of a row selected as `ANALYSIS`."""
    tenant_id, endpoint_id, id_, job_id, planner, trigger, began_at, duration_ms = row[:8]
    reasoning, calls, input_tokens, output_tokens, look_again_at, shadow, error = row[8:]
    return Analysis(
        id=id_,
        tenant_id=tenant_id,
        job_id=job_id,
        endpoint_id=endpoint_id,
        planner=planner,
        trigger=Trigger(trigger),
        began_at=read(began_at),
        duration_ms=duration_ms,
        reasoning=reasoning,
        calls=() if calls is None else tuple(ToolCall(**call) for call in orjson.loads(calls)),
        tokens=Tokens(input_tokens, output_tokens),
        look_again_at=read(look_again_at),
        shadow=bool(shadow),
        error=error,
    )


def _written(call: ToolCall) -> dict[str, Any]:
    """A call as JSON; arguments that JSON cannot say are kept as text, so that they cost no other sitting."""
    words = call._asdict() | {name: storable(getattr(call, name)) for name in ("tool", "result", "error")}
    try:
        orjson.dumps(call.arguments)
    except TypeError:
        words["arguments"] = {"text": storable(str(call.arguments))}
    return words
