"""A port that counts its calls and, where a test says so, does something before or after they take effect."""

from collections import Counter
from collections.abc import Awaitable, Callable
from inspect import iscoroutinefunction
from typing import Any

from cadenza.ports.store import Store

Hook = Callable[[], Awaitable[Any]]


class CallRecorder:
    """Wraps a port: counts its calls, and runs hooks before and after them."""

    def __init__(self, port: Any) -> None:
        self.port = port
        self.calls: Counter[str] = Counter()
        self.before: dict[str, Hook] = {}
        self.after: dict[str, Hook] = {}

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.port, name)
        if isinstance(self.port, Store):
            return self._part(method)
        if not iscoroutinefunction(method):
            return method

        async def call(*arguments: Any, **named: Any) -> Any:
            self.calls[name] += 1
            await self._hook(self.before, name)
            answer = await method(*arguments, **named)
            await self._hook(self.after, name)
            return answer

        return call

    def fail(self, name: str, problem: BaseException) -> None:
        """From now on, calls of this method raise and change nothing."""

        async def problematic() -> None:
            raise problem

        self.before[name] = problematic

    def restore(self, name: str) -> None:
        """From now on, calls of this method go through again."""
        del self.before[name]

    def _part(self, small_store: Any) -> "CallRecorder":
        """A small store of a bundle, whose calls are counted and disturbed together with the others'."""
        part = CallRecorder(small_store)
        part.calls, part.before, part.after = self.calls, self.before, self.after
        return part

    async def _hook(self, hooks: dict[str, Hook], name: str) -> None:
        if name in hooks:
            await hooks[name]()


def once(hook: Hook) -> Hook:
    """A hook that acts the first time and then lets everything pass."""
    left = [hook]

    async def first_time() -> None:
        if left:
            await left.pop()()

    return first_time


class LostWakeups:
    """Wake-ups that never arrive."""

    def __init__(self, never: Hook) -> None:
        self.wait = never
