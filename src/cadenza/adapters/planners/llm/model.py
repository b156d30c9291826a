"""Opens a model by its name, retries its requests, and turns its errors into messages."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import (
    AgentRunError,
    ModelAPIError,
    ModelConnectionError,
    ModelHTTPError,
    ModelRateLimitError,
    ModelServerError,
    ModelUnavailableError,
    UserError,
)
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters, infer_model
from pydantic_ai.providers import Provider, infer_provider, infer_provider_class
from pydantic_ai.settings import ModelSettings

from cadenza.domain.errors import InvalidRequest, Unavailable
from cadenza.domain.validation import quoted

TRANSIENT = (ModelRateLimitError, ModelUnavailableError, ModelServerError, ModelConnectionError)
FIRST_DELAY_S, LONGEST_DELAY_S = 1.0, 30.0
KEY = re.compile(r"\b[A-Z][A-Z0-9_]*_(?:KEY|TOKEN)\b")

Sleep = Callable[[float], Awaitable[None]]


class ModelFailed(Exception):
    """An exchange with a model failed; the message says why."""


def open_model(name: str, base_url: str | None = None) -> Model:
    """The model with this name, as `provider:model`; its key comes from the environment.

    InvalidRequest if there is no such provider or no key, Unavailable if its library is missing.
    """

    def provider(kind: str) -> Provider[Any]:
        if base_url is None:
            return infer_provider(kind)
        made: Callable[..., Provider[Any]] = infer_provider_class(kind)
        return made(base_url=base_url)

    try:
        return infer_model(name, provider)
    except ImportError:
        raise Unavailable(
            f"CADENZA_LLM_MODEL names {quoted(name)}, whose library is not installed."
        ) from None
    except TypeError:
        raise InvalidRequest(
            f"CADENZA_LLM_BASE_URL does not go with {quoted(name)}.", "llm_base_url"
        ) from None
    except (UserError, ValueError) as problem:
        raise InvalidRequest(_unusable_model(name, str(problem)), "llm_model") from None


def _unusable_model(name: str, reason: str) -> str:
    """Why a model cannot be used; a missing key is named."""
    key = KEY.search(reason)
    if key is not None:
        return f"CADENZA_LLM_MODEL names {quoted(name)}, whose key is missing: set {key[0]}."
    return f"CADENZA_LLM_MODEL cannot be used: {' '.join(reason.split()).removesuffix('.')}."


class ModelClient:
    """Sends requests to a model; transient errors are retried until a deadline."""

    def __init__(self, model: Model, *, attempts: int, sleep: Sleep = asyncio.sleep) -> None:
        self._model = model
        self._attempts = attempts
        self._sleep = sleep

    async def ask(
        self,
        messages: Sequence[ModelMessage],
        *,
        parameters: ModelRequestParameters,
        most_tokens: int,
        until: float,
    ) -> ModelResponse:
        """The model's response; ModelFailed if there is none by the deadline."""
        # Only this layer retries: with the library's own retries, waits would multiply.
        settings = ModelSettings(max_tokens=most_tokens, max_retries=0)
        try:
            async with asyncio.timeout_at(until):
                return await self._with_retries(
                    lambda: model_request(
                        self._model, messages, model_settings=settings, model_request_parameters=parameters
                    ),
                    until,
                )
        except TimeoutError:
            raise ModelFailed("The model did not answer in time.") from None
        except (AgentRunError, UserError) as problem:
            raise ModelFailed(error_text(problem)) from None

    async def _with_retries(
        self, request: Callable[[], Awaitable[ModelResponse]], until: float
    ) -> ModelResponse:
        for attempt in range(1, self._attempts):
            try:
                return await request()
            except TRANSIENT as problem:
                delay_s = _retry_delay_s(problem, attempt)
                if asyncio.get_running_loop().time() + delay_s >= until:
                    raise
                await self._sleep(delay_s)
        return await request()


def error_text(problem: AgentRunError | UserError) -> str:
    """An error as text, without the provider's message, which may contain anything."""
    match problem:
        case ModelHTTPError():
            return f"The provider answered {problem.status_code}."
        case ModelConnectionError():
            return "The provider cannot be reached."
        case ModelAPIError():
            return "The provider refused the request."
        case _:
            return f"The provider's answer makes no sense ({type(problem).__name__})."


def _retry_delay_s(problem: ModelAPIError, attempt: int) -> float:
    """As long as the provider asked for; otherwise exponential backoff."""
    if problem.retry_after is not None:
        return max(problem.retry_after, 0.0)
    return float(min(FIRST_DELAY_S * 2 ** (attempt - 1), LONGEST_DELAY_S))
