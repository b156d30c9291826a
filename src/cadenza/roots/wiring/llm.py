"""The LLM planner, from settings."""

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from cadenza.operations.operation import AnyOperation
from cadenza.operations.scheduling.tools import pause_until, propose_interval, propose_next_time
from cadenza.ports.planning import Planner
from cadenza.ports.scheduling import RunStore
from cadenza.roots.settings import Settings
from cadenza.roots.wiring.extras import LLM, missing

if TYPE_CHECKING:  # Its library takes seconds to import.
    from cadenza.adapters.planners.llm.client import LlmLimits, ToolSchema

STEERING: tuple[AnyOperation, ...] = (propose_interval, propose_next_time, pause_until)


def llm_planner(settings: Settings, store: RunStore) -> Planner | None:
    """The planner, if a model is named.

    Unavailable if the extra is not installed, InvalidRequest if the model cannot be used.
    """
    if settings.llm_model is None:
        return None
    try:
        from cadenza.adapters.planners.llm.model import open_model
        from cadenza.adapters.planners.llm.planner import LlmPlanner
    except ModuleNotFoundError:
        raise missing(LLM) from None
    return LlmPlanner(
        open_model(settings.llm_model, settings.llm_base_url),
        store=store,
        steering=steering_tool_schemas(),
        limits=limits(settings),
        pause=timedelta(milliseconds=settings.llm_pause_ms),
    )


def limits(settings: Settings) -> "LlmLimits":
    """The limits of one analysis, or of one turn of an agent."""
    from cadenza.adapters.planners.llm.client import LlmLimits

    return LlmLimits(
        steps=settings.llm_steps,
        input_tokens=settings.llm_input_tokens,
        output_tokens=settings.llm_output_tokens,
        timeout_s=settings.llm_timeout_ms / 1_000,
    )


def steering_tool_schemas() -> "Sequence[ToolSchema]":
    """The three steering tools as every surface shows them, without the endpoint's id."""
    from cadenza.adapters.planners.llm.client import ToolSchema

    return [ToolSchema(one.name, one.description, _without_id(one.schema)) for one in STEERING]


def _without_id(schema: dict[str, Any]) -> dict[str, Any]:
    properties = {name: field for name, field in schema["properties"].items() if name != "endpoint_id"}
    required = [name for name in schema["required"] if name != "endpoint_id"]
    return schema | {"properties": properties, "required": required}
