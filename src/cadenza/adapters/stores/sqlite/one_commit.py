"""A coroutine that goes on in another thread from its first write on, so that it is one transaction."""

from collections.abc import Generator
from contextvars import Context
from functools import partial
from types import coroutine
from typing import Any, Generic, NamedTuple, TypeVar

Answer = TypeVar("Answer")
Steps = Generator[Any, Any, Answer]
_FIRST_WRITE = object()


class Ended(NamedTuple, Generic[Answer]):
    """What a coroutine returned."""

    answer: Answer


@coroutine
def before_first_write() -> Generator[object, None, None]:
    """Called by a coroutine that is about to write: it goes on where a transaction is open."""
    yield _FIRST_WRITE


@coroutine
def run_until_first_write(
    steps: Steps[Answer], context: Context
) -> Generator[Any, Any, Ended[Answer] | None]:
    """Run a coroutine in the event loop until it is about to write: then None. Or to its end.

    The context is the coroutine's own, wherever it goes on: what it sets there it can reset.
    """
    resume = partial(next, steps)
    while True:
        try:
            step = context.run(resume)
        except StopIteration as ended:
            return Ended(ended.value)
        if step is _FIRST_WRITE:
            return None
        try:
            yield step
        except BaseException as problem:  # noqa: BLE001 - The coroutine gets it, where it waits.
            resume = partial(steps.throw, problem)
        else:
            resume = partial(next, steps)


def run_to_end(steps: Steps[Answer]) -> Answer:
    """Run a coroutine that waits for nothing, without an event loop."""
    try:
        next(steps)
    except StopIteration as ended:
        answer: Answer = ended.value
        return answer
    raise RuntimeError("a transaction may await its connection and nothing else")
